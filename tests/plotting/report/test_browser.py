"""The report in a real browser, without a window and without a network."""

import json
import shutil
import time

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from nppac.plotting.report import write_report

from .runs import write_run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="no chromium and chromedriver are installed, which show the report",
)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield browser
    browser.quit()


@pytest.fixture
def shown(browser, tmp_path):
    """Write a report of what a function put into a directory, and open it."""

    def show(directory=tmp_path / "runs", width=1280):
        write_report([directory], tmp_path / "report.html")
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get_log("browser")
        browser.get_log("performance")
        browser.get((tmp_path / "report.html").as_uri())
        return browser

    return show


@pytest.fixture
def two_methods(tmp_path):
    for seed in range(3):
        write_run(tmp_path / "runs" / f"a{seed}", seed=seed, level=100.0)
        write_run(tmp_path / "runs" / f"b{seed}", method="sac", seed=seed)
        write_run(tmp_path / "runs" / f"c{seed}", task="pen", seed=seed)


def find(browser, query):
    return browser.find_elements(By.CSS_SELECTOR, query)


def requests(browser):
    """Addresses other than files and data that the page asked for."""
    logs = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [log["params"] for log in logs if log["method"] == "Network.requestWillBeSent"]
    urls = [params["request"]["url"] for params in sent]
    return [url for url in urls if not url.startswith(("file:", "data:"))], urls


def test_curves_are_drawn_without_an_error_or_a_request(shown, two_methods):
    browser = shown()
    centres = find(browser, "#task-0 .trace .centre")
    assert len(centres) == 2 * 5  # return, KL, gradient, scale and profile of two methods
    assert all(c.is_displayed() and c.size["width"] > 50 for c in centres[:2])
    assert len(find(browser, "#task-0 .band")) >= 8
    assert browser.get_log("browser") == []
    outside, every = requests(browser)
    assert outside == []
    assert any(url.endswith("report.html") for url in every)
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_a_method_that_is_switched_off_disappears_and_the_axes_follow(shown, two_methods):
    browser = shown()
    chart = find(browser, "#task-0 .chart")[0]

    def displayed(group):
        return find(chart, f".trace[data-group='{group}']")[0].is_displayed()

    def top():
        return max(float(t.text.replace("k", "e3")) for t in find(chart, ".ticks .end"))

    assert displayed(0)
    assert top() == 100
    find(browser, "#task-0 [data-entry='0']")[0].click()
    assert not displayed(0)
    assert displayed(1)
    assert top() == pytest.approx(1, abs=0.3)
    find(browser, "#methods [data-method='nppac']")[0].click()  # off, in every task
    assert not find(browser, "#task-1 .trace")[0].is_displayed()
    find(browser, "#methods [data-method='nppac']")[0].click()
    assert displayed(0)
    assert top() == 100


def test_tasks_and_single_runs_have_switches(shown, two_methods):
    browser = shown()
    find(browser, "#tasks [data-task='0']")[0].click()
    assert not find(browser, "#task-0")[0].is_displayed()
    assert find(browser, "#task-1")[0].is_displayed()
    runs = find(browser, "#task-1 .runs")[0]
    assert runs.is_displayed()
    find(browser, "#task-1 [data-runs]")[0].click()
    assert not runs.is_displayed()


def test_a_table_is_sorted_by_its_headings(shown, two_methods):
    browser = shown()
    table = find(browser, "#task-0 table.sortable")[0]

    def names():
        return [row.text for row in find(table, "tbody th")]

    heading = next(th for th in find(table, "thead th") if th.text.startswith("at end"))
    assert names() == ["nppac", "sac"]
    find(heading, "button")[0].send_keys(Keys.ENTER)  # by keyboard as by pointer
    assert names() == ["sac", "nppac"]
    assert heading.get_attribute("aria-sort") == "ascending"
    find(heading, "button")[0].click()
    assert names() == ["nppac", "sac"]
    assert heading.get_attribute("aria-sort") == "descending"
    assert browser.get_log("browser") == []


def test_a_chart_can_be_read_by_arrow_keys(shown, two_methods):
    browser = shown()
    chart = find(browser, "#task-0 .chart")[0]
    chart.send_keys(Keys.ARROW_RIGHT)
    readout = find(chart, "[role=status]")[0]
    assert readout.text.startswith("environment steps 0\n")
    chart.send_keys(Keys.ARROW_RIGHT)
    assert readout.text.startswith("environment steps 10\nnppac: ")
    chart.send_keys(Keys.ESCAPE)
    assert not readout.is_displayed()


def test_everything_that_can_be_focused_or_switched_has_a_name(shown, two_methods):
    browser = shown()
    for details in find(browser, "details > summary"):
        details.click()
    for control in find(browser, "input, button, .chart, .scroll, svg[role=img]"):
        assert control.accessible_name, control.get_attribute("outerHTML")[:200]
    assert len(find(browser, "h1")) == 1
    assert all(find(t, "caption") and find(t, "th[scope=col]") for t in find(browser, "table"))


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_is_wider_than_the_screen(shown, two_methods, width, tmp_path):
    long = {"temperature": 1, "a_setting_of_a_very_long_name": "x" * 300}
    write_run(tmp_path / "runs" / ("long" * 30), agent=long, method="sac")
    browser = shown(width=width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    charts = find(browser, ".chart")
    assert all(0.9 * min(width, 340) < c.size["width"] + 30 <= width + 30 for c in charts)
    assert browser.save_screenshot(str(tmp_path / "page.png"))


def test_a_dark_scheme_and_a_printer_change_the_colours(shown, two_methods):
    browser = shown()
    look = "return getComputedStyle(document.body).backgroundColor"
    for media, features, colour in (
        ("", [{"name": "prefers-color-scheme", "value": "light"}], "rgb(255, 255, 255)"),
        ("", [{"name": "prefers-color-scheme", "value": "dark"}], "rgb(20, 23, 28)"),
        ("print", [{"name": "prefers-color-scheme", "value": "dark"}], "rgb(255, 255, 255)"),
    ):
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"media": media, "features": features}
        )
        assert browser.execute_script(look) == colour
    assert not find(browser, "#tasks")[0].is_displayed()  # no switches on paper
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_no_name_runs_as_code(shown, tmp_path):
    evil = "</script><script>window.hacked = 1</script>"
    image = "<img src=x onerror='window.hacked = 2'>"
    for seed in range(3):
        agent = {image: evil}
        run = tmp_path / "runs" / "<script>" / f"{image.replace('/', '')}{seed}"
        write_run(run, task=evil, method=image, seed=seed, agent=agent)
    browser = shown()
    find(browser, ".chart")[0].send_keys(Keys.ARROW_RIGHT)
    assert "onerror" in find(browser, ".readout")[0].text
    assert browser.execute_script("return window.hacked") is None
    assert find(browser, "img") == []
    assert find(browser, "h2")[0].text == evil
    assert browser.get_log("browser") == []


@pytest.mark.slow
def test_three_hundred_runs_are_shown_within_seconds(shown, tmp_path):
    for i in range(300):
        task, kind, seed = f"task{i % 3}", i // 3 % 10, i // 30
        agent = {"temperature": kind}
        run = tmp_path / "runs" / f"{task}-{kind}-{seed}"
        write_run(run, task=task, seed=seed, agent=agent, level=kind + 1.0, rows=100)
    began = time.process_time()  # other work on the machine does not count
    browser = shown()
    assert len(find(browser, ".trace")) == 3 * 10 * 5
    seconds = time.process_time() - began
    loading = browser.execute_script(
        "const t = performance.getEntriesByType('navigation')[0]; return t.loadEventEnd / 1000"
    )
    size = (tmp_path / "report.html").stat().st_size / 1e6
    print(f"{seconds:.1f} s to write, {loading:.1f} s to load {size:.2f} MB")
    assert loading <= 20
    assert seconds <= 20
    assert size <= 10
    assert browser.get_log("browser") == []
