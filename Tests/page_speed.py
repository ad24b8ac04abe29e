"""How quickly the monitor's page shows a large fleet in a real Chromium: page_speed.py URL DEVICES. Prints one JSON line
a figure, as posture-bench does; status 1 where a target is missed."""
import json
import sys
import time
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

url, devices, runs = sys.argv[1], int(sys.argv[2]), 7

# Runs before the page's own script: notes when the table has rows and the count of all devices stands there.
watch = r"""
const look = () => {
  const all = document.querySelector("#counts button");
  if (window.shownAt || !all || !document.querySelector(".row")) return;
  // People read 10,000.
  if (!all.textContent.replace(/\D/g, "").includes("%d")) return;
  window.shownAt = performance.now();
};
new MutationObserver(look).observe(document, {childList: true, subtree: true, characterData: true});
""" % devices

options = webdriver.ChromeOptions()
for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"):
    options.add_argument(argument)
shown, sizes = [], []
for _ in range(runs):
    # A new browser each time: nothing is in its cache.
    page = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    try:
        page.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": watch})
        page.get(url)
        end = time.time() + 30
        while not page.execute_script("return window.shownAt") and time.time() < end:
            time.sleep(0.05)
        shown.append(page.execute_script("return window.shownAt || 30000") / 1000)
        sizes.append(page.execute_script(
            "return performance.getEntries().reduce((sum, entry) => sum + (entry.transferSize || 0), 0)") / 1000)
    finally:
        page.quit()

met = True
for metric, unit, values, target in (("until the table stands", "s", shown, 1), ("transferred", "kB", sizes, 300)):
    values.sort()
    median = values[len(values) // 2]
    met = met and median < target
    print(json.dumps({
        "bench": "page", "metric": f"{devices} devices: {metric}", "unit": unit, "median": round(median, 3),
        "p99": round(values[-1], 3), "runs": runs, "floor": None, "ratio": None, "target": f"< {target}",
        "met": median < target}))
sys.exit(0 if met else 1)
