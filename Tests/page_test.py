"""The monitor's page in a real Chromium: page_test.py small|token|large URL FOLDER. Pictures go to FOLDER. Ends with a message
and status 1 at the first fault."""
import sys
import time
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

part, url, folder = sys.argv[1:4]


def browser(width, height, dark=False):
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},{height}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    page = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    scheme = "dark" if dark else "light"
    page.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    if width < 600:
        # A window has a smallest width; a telephone has not.
        page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 2, "mobile": True})
    return page


def expect(condition, what):
    if not condition:
        print("fault:", what)
        sys.exit(1)


def until(probe, what, seconds=15):
    end = time.time() + seconds
    while time.time() < end:
        try:
            value = probe()
            if value:
                return value
        except Exception:
            pass
        time.sleep(0.05)
    print("fault: waited in vain for", what() if callable(what) else what)
    sys.exit(1)


def all_of(page, selector):
    return page.find_elements(By.CSS_SELECTOR, selector)


def one(page, name):
    return page.find_element(By.ID, name)


def texts(page, selector):
    """At one time: the page paints its rows anew as it likes."""
    return page.execute_script("return [...document.querySelectorAll(arguments[0])].map((n) => n.innerText)", selector)


def click(page, selector, text):
    """The first one with this text in it."""
    return page.execute_script("""
      const node = [...document.querySelectorAll(arguments[0])].find((n) => n.innerText.includes(arguments[1]));
      if (node) node.click();
      return !!node;""", selector, text)


def picture(page, name):
    page.save_screenshot(f"{folder}/{name}.png")


def check_quiet(page):
    expect("owned" not in page.title, "a device's text was run: the title is " + page.title)
    expect(not all_of(page, "#detail script, #detail img, #rows script, #rows img"), "a device's text became markup")
    faults = [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"]
    expect(not faults, f"the console says {faults}")


def check_width(page, what):
    wide = page.execute_script("return document.documentElement.scrollWidth > document.documentElement.clientWidth")
    expect(not wide, f"{what} scrolls sideways")


def check_contrast(page, what):
    """Words can be told from the ground: at least 4.5 to 1 (WCAG 2.1, 1.4.3)."""
    poor = page.execute_script("""
      const light = (c) => c.map((v) => v / 255).map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
      const read = (text) => text.match(/[\\d.]+/g).map(Number);
      const ground = (node) => {
        for (; node; node = node.parentElement) {
          const c = read(getComputedStyle(node).backgroundColor);
          if (c.length < 4 || c[3] > 0) return c.slice(0, 3);
        }
        return [255, 255, 255];
      };
      const poor = [];
      for (const node of document.querySelectorAll("body *")) {
        const text = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
        if (!text || !node.getClientRects().length || node.closest(":disabled")) continue;
        const [a, b] = [light(read(getComputedStyle(node).color).slice(0, 3)), light(ground(node))];
        const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        if (ratio < 4.5) poor.push(`${node.textContent.slice(0, 20)} (${node.className}) ${ratio.toFixed(2)}`);
      }
      return poor;""")
    expect(not poor, f"{what}: hard to read: {poor[:5]}")


def origins(page):
    return set(page.execute_script("return performance.getEntriesByType('resource').map(e => new URL(e.name).origin)"))


def small():
    page = browser(1280, 900)
    page.get(url + "/")
    rows = until(lambda: (lambda r: r if len(r) == 6 else None)(texts(page, ".row")), "six rows")
    expect(rows[0].startswith("edge-1"), "the worst device is not the first: " + rows[0])
    expect(all("≥" in row for row in rows), f"nobody saw a verdict change, and yet: {rows}")
    until(lambda: one(page, "link").text == "live", "the live connection")
    asked = page.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
    expect(sum("/api/v1/devices?" in name for name in asked) == 1, f"the rows were asked for more than once: {asked}")
    until(lambda: "6" in texts(page, "#counts button")[0], "the count of all")
    until(lambda: "openEntry" in one(page, "findings").text, "the worst finding")
    expect(len(all_of(page, "#trend rect.pass")) > 250, "the trend of a day")
    expect("First: pass 4, fail 0, other 2." in one(page, "trend").get_attribute("aria-label"),
           "the trend in words: " + one(page, "trend").get_attribute("aria-label"))
    check_quiet(page)
    check_contrast(page, "the fleet in light")
    picture(page, "fleet-light")

    # Keyboard alone: to the search, to the table, into a device and back.
    page.find_element(By.TAG_NAME, "body").send_keys("/")
    expect(page.switch_to.active_element.get_attribute("id") == "search", "/ does not lead to the search")
    page.switch_to.active_element.send_keys("edge-1")
    until(lambda: len(all_of(page, ".row")) == 1, "the search")
    page.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    page.switch_to.active_element.send_keys(Keys.ENTER)
    until(lambda: one(page, "device").get_attribute("open") is not None, "the device")
    door = until(lambda: texts(page, ".doors li"), "its doors")[0]
    until(lambda: texts(page, ".doors li.notRequired"), "the open door drawn open")
    expect("<script>" in door, "the device's text is not shown as it is: " + door)
    expect("nothing needed" in door, "what opens the door: " + door)
    until(lambda: all_of(page, ".history tbody tr"), "its history")
    check_quiet(page)
    check_contrast(page, "a device in light")
    picture(page, "device-light")

    # A recheck from the page, and its answer.
    before = len(all_of(page, ".history tbody tr"))
    # The monitor's own answer comes late, after the device's: that one has to stay.
    page.execute_script("""
      const ask = window.fetch;
      window.fetch = async (...what) => {
        const answer = await ask(...what);
        if (what[1]?.method === "POST") await new Promise((done) => setTimeout(done, 2000));
        return answer;
      };""")
    one(page, "recheck").click()
    said = []
    until(lambda: said.append(one(page, "said").text) or "answered" in said[-1],
          lambda: "the answer to the recheck; it said: " + ", ".join(dict.fromkeys(said)))
    until(lambda: one(page, "recheck").is_enabled(), "the monitor's own answer")
    expect("answered" in one(page, "said").text, "the monitor's answer hides the device's: " + one(page, "said").text)
    until(lambda: len(all_of(page, ".history tbody tr")) > before, "the new report in the history")
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    until(lambda: one(page, "device").get_attribute("open") is None, "the end of the dialog")
    check_quiet(page)

    # A filter by state.
    search = one(page, "search")
    search.send_keys(Keys.CONTROL, "a")
    search.send_keys(Keys.DELETE)
    until(lambda: len(all_of(page, ".row")) == 6, "all rows again")
    until(lambda: click(page, "#counts button", "pass"), "the button of a state")
    until(lambda: len(all_of(page, ".row")) == 4, "the filter")
    expect(origins(page) == {url}, f"something was fetched from elsewhere: {origins(page)}")

    # What was noticed of a device is accepted with a reason, and stays in its history.
    page.get(url + "/#/d/edge-6")
    page.refresh()
    until(lambda: one(page, "acknowledge").is_displayed(), "the offer to acknowledge")
    one(page, "acknowledge").click()
    page.switch_to.active_element.send_keys("the twin was <b>scrapped</b>")
    picture(page, "acknowledge-light")
    page.switch_to.active_element.send_keys(Keys.ENTER)
    until(lambda: not one(page, "acknowledge").is_displayed(), "the end of what was noticed")
    until(lambda: "acknowledged by page: the twin was <b>scrapped</b>" in one(page, "detail").text, "the reason in the history")
    check_quiet(page)
    page.quit()

    page = browser(1280, 900, dark=True)
    page.get(url + "/")
    until(lambda: len(all_of(page, ".row")) == 6, "six rows in the dark")
    check_contrast(page, "the fleet in the dark")
    picture(page, "fleet-dark")
    page.get(url + "/#/d/edge-2")
    page.refresh()
    until(lambda: all_of(page, ".doors li"), "a healthy device in the dark")
    check_contrast(page, "a device in the dark")
    picture(page, "device-dark")
    page.quit()

    page = browser(390, 844, dark=True)
    page.get(url + "/#/d/edge-1")
    until(lambda: all_of(page, ".doors li"), "the linked device on a narrow screen")
    check_width(page, "a device on a narrow screen")
    picture(page, "device-narrow-dark")
    one(page, "close").click()
    until(lambda: all_of(page, ".row"), "the rows on a narrow screen")
    check_width(page, "the narrow page")
    check_quiet(page)
    picture(page, "fleet-narrow-dark")
    page.quit()
    print("the page is good")


def token():
    page = browser(1280, 900)
    page.get(url + "/")
    until(lambda: one(page, "login").get_attribute("open") is not None, "the question for the token")
    one(page, "token").send_keys("wrong", Keys.ENTER)
    time.sleep(0.5)
    until(lambda: one(page, "login").get_attribute("open") is not None, "the same question again")
    picture(page, "login")
    one(page, "token").send_keys("a-token-that-is-long-enough", Keys.ENTER)
    until(lambda: one(page, "link").text == "live", "the live connection")
    expect("token" not in page.current_url, "the token is in the address")
    page.refresh()
    until(lambda: one(page, "link").text == "live", "the live connection after a reload")
    page.quit()


def large():
    page = browser(1280, 900)
    page.execute_cdp_cmd("Network.enable", {})
    start = time.time()
    page.get(url + "/")
    until(lambda: len(all_of(page, ".row")) > 10 and "10,000" in one(page, "total").text, "the table")
    seen = time.time() - start
    paint = page.execute_script("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
    table = page.execute_script("return performance.getEntriesByName('table')[0]?.startTime")
    sent = page.execute_script(
        "return performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
        ".reduce((sum, e) => sum + e.transferSize, 0)")
    print(f"10,000 devices: first paint {paint:.0f} ms, table {table:.0f} ms, seen after {seen:.2f} s, {sent / 1000:.0f} kB")
    expect(sent < 300_000, f"{sent} bytes for a page")
    expect(len(all_of(page, ".row")) < 100, "more rows in the document than in sight")
    picture(page, "large-light")

    # To the end and back, by the keyboard.
    one(page, "sort").send_keys("by name")
    one(page, "scroll").send_keys(Keys.END)
    until(lambda: "edge-10000" in texts(page, ".row")[-1], "the last row")
    one(page, "scroll").send_keys(Keys.HOME)
    until(lambda: "edge-00001" in texts(page, ".row")[0], "the first row")
    # Thousands of rows at once by the wheel: each stop is filled.
    for place in (0.2, 0.9, 0.5):
        page.execute_script("const s = document.getElementById('scroll'); s.scrollTop = s.scrollHeight * arguments[0]", place)
        number = int(10_000 * place)
        until(lambda: any(f"edge-{n:05}" in texts(page, ".row")[0] for n in range(number - 20, number + 20)),
              f"the rows at {place}")
    start = time.time()
    one(page, "search").send_keys("edge-0777")
    until(lambda: one(page, "total").text.startswith("10 "), "ten found")
    print(f"search in 10,000: {time.time() - start:.2f} s with the typing")
    one(page, "search").clear()
    check_quiet(page)
    page.quit()


{"small": small, "token": token, "large": large}[part]()
