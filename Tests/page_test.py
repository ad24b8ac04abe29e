"""The monitor's page in a real Chromium: page_test.py URL FOLDER. Ends with a message and status 1 at the first fault."""
import sys
import time
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

url, folder = sys.argv[1], sys.argv[2]


def browser(width, height, dark=False):
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},{height}"):
        options.add_argument(argument)
    if dark:
        options.add_argument("--force-dark-mode")
        options.add_argument("--blink-settings=preferredColorScheme=0")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


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
        time.sleep(0.1)
    print("fault: waited in vain for", what)
    sys.exit(1)


def check_quiet(page):
    expect("owned" not in page.title, "a device's text was run: the title is " + page.title)
    expect(not page.find_elements(By.CSS_SELECTOR, "#detail script, #detail img, #rows script, #rows img"),
           "a device's text became markup")
    faults = [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"]
    expect(not faults, f"the console says {faults}")


page = browser(1280, 900)
page.get(url + "/")
rows = until(lambda: (lambda r: r if len(r) == 6 else None)(page.find_elements(By.CSS_SELECTOR, ".row")), "six rows")
expect(rows[0].text.startswith("edge-1"), "the worst device is not the first: " + rows[0].text)
until(lambda: page.find_element(By.ID, "link").text == "live", "the live connection")
expect("6" in page.find_element(By.CSS_SELECTOR, "#counts button").text, "the count of all")
until(lambda: "openEntry" in page.find_element(By.ID, "findings").text, "the worst finding")
check_quiet(page)
page.save_screenshot(folder + "/fleet-light.png")

# Keyboard alone: to the search, to the table, into a device and back.
page.find_element(By.TAG_NAME, "body").send_keys("/")
expect(page.switch_to.active_element.get_attribute("id") == "search", "/ does not lead to the search")
page.switch_to.active_element.send_keys("edge-1")
until(lambda: len(page.find_elements(By.CSS_SELECTOR, ".row")) == 1, "the search")
page.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
page.switch_to.active_element.send_keys(Keys.ENTER)
until(lambda: page.find_element(By.ID, "device").get_attribute("open") is not None, "the device")
doors = until(lambda: page.find_elements(By.CSS_SELECTOR, ".doors li"), "its doors")
expect("notRequired" in doors[0].get_attribute("class"), "the open door is not drawn open")
expect("<script>" in doors[0].text, "the device's text is not shown as it is")
expect("nothing needed" in doors[0].text, "what opens the door")
until(lambda: page.find_elements(By.CSS_SELECTOR, ".history tbody tr"), "its history")
check_quiet(page)
page.save_screenshot(folder + "/device-light.png")

# A recheck from the page, and its answer.
before = len(page.find_elements(By.CSS_SELECTOR, ".history tbody tr"))
page.find_element(By.ID, "recheck").click()
until(lambda: "answered" in page.find_element(By.ID, "said").text, "the answer to the recheck")
until(lambda: len(page.find_elements(By.CSS_SELECTOR, ".history tbody tr")) > before, "the new report in the history")
page.switch_to.active_element.send_keys(Keys.ESCAPE)
until(lambda: page.find_element(By.ID, "device").get_attribute("open") is None, "the end of the dialog")
check_quiet(page)

# A filter by state.
search = page.find_element(By.ID, "search")
search.send_keys(Keys.CONTROL, "a")
search.send_keys(Keys.DELETE)
until(lambda: len(page.find_elements(By.CSS_SELECTOR, ".row")) == 6, "all rows again")
[button for button in page.find_elements(By.CSS_SELECTOR, "#counts button") if "pass" in button.text][0].click()
until(lambda: len(page.find_elements(By.CSS_SELECTOR, ".row")) == 5, "the filter")
hosts = page.execute_script(
    "return performance.getEntriesByType('resource').map(e => new URL(e.name).origin)")
expect(set(hosts) == {url}, f"something was fetched from elsewhere: {set(hosts)}")
page.quit()

page = browser(500, 900, dark=True)
page.get(url + "/#/d/edge-1")
until(lambda: page.find_elements(By.CSS_SELECTOR, ".doors li"), "the linked device on a narrow screen")
page.save_screenshot(folder + "/device-narrow-dark.png")
page.find_element(By.ID, "close").click()
until(lambda: page.find_elements(By.CSS_SELECTOR, ".row"), "the rows on a narrow screen")
wide = page.execute_script("return document.documentElement.scrollWidth > document.documentElement.clientWidth")
expect(not wide, "the narrow page scrolls sideways")
check_quiet(page)
page.save_screenshot(folder + "/fleet-narrow-dark.png")
page.quit()
print("the page is good")
