"""Pages in a browser: what can be seen on a desk and on a telephone, by day and by night, alone and without scripts."""

from tests.needs import needs

needs("selenium")

import base64
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pages import QUESTIONS, decide, evil_result, page_of
from selenium import webdriver
from selenium.common.exceptions import WebDriverException

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --disable-dev-shm-usage"
)
DESK, PHONE, SMALL = 1100, 375, 320
SIZES = """
const found = [];
for (const e of document.querySelectorAll('body *')) {
  const box = e.getBoundingClientRect();
  const outside = box.width > 1 && (box.right > innerWidth + 1 || box.left < -1);
  if (outside && !e.closest('thead')) found.push(e.tagName + ' ' + e.textContent.slice(0, 40));  // heads are clipped
}
return [document.documentElement.scrollWidth, found];
"""
CONTRAST = """
const channels = text => (text.match(/[\\d.]+/g) || []).map(Number);
const linear = x => x <= 10 ? x / 3294.6 : ((x / 255 + 0.055) / 1.055) ** 2.4;
const light = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
const paper = e => { for (; e; e = e.parentElement) { const c = channels(getComputedStyle(e).backgroundColor);
  if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
let worst = [99, ''], seen = 0;
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const e = walk.currentNode.parentElement;
  if (!walk.currentNode.textContent.trim() || e.getBoundingClientRect().width < 2) continue;
  seen += 1;
  const [a, b] = [light(channels(getComputedStyle(e).color)), light(paper(e))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < worst[0]) worst = [ratio, walk.currentNode.textContent.slice(0, 40)];
}
return [worst, seen, light(paper(document.body))];
"""


def programs() -> tuple[str, str]:
    """Chromium and its driver, or a skip that says what to install; where everything is checked they must be there."""
    browser, driver = next(filter(None, map(shutil.which, NAMES)), None), shutil.which("chromedriver")
    if browser and driver:
        return browser, driver
    told = (
        f"no {'chromedriver' if browser else 'Chromium'}: the pages are not looked at in a browser; to run these "
        "tests, install chromium and chromedriver (on Debian and Ubuntu: apt-get install chromium chromium-driver)"
    )
    if os.environ.get("CI") or os.environ.get("VENMAS_NEED_BROWSER"):
        pytest.fail(told)
    pytest.skip(told)


@contextmanager
def started(scripts: bool = True) -> Iterator[Any]:
    """A browser with an empty profile."""
    options = webdriver.ChromeOptions()
    options.binary_location, driver = programs()
    for flag in FLAGS.split():
        options.add_argument(flag)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options.add_argument(f"--user-data-dir={profile}")
        options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
        if not scripts:
            options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
        made = webdriver.Chrome(options, webdriver.ChromeService(driver))
        try:
            yield made
        finally:
            made.quit()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started() as made:
        yield made


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    for name in QUESTIONS:
        page_of(decide(folder, name))
    hostile = decide(folder, "violated").rename(folder / "hostile.json")
    hostile.write_text(json.dumps(evil_result(json.loads(hostile.read_text()))))
    page_of(hostile)
    page_of(decide(folder, "violated"))
    return {path.stem: path for path in folder.glob("*.html")}


def show(browser: Any, page: Path, width: int = DESK, scheme: str = "light", media: str = "screen") -> None:
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    browser.get(page.as_uri())


def seen(browser: Any, selector: str) -> str:
    return " ".join(e.text for e in browser.find_elements("css selector", selector))


def picture(browser: Any) -> bytes:
    return printed(browser, "Page.captureScreenshot", {"captureBeyondViewport": True})


def printed(browser: Any, command: str, options: dict[str, bool]) -> bytes:
    """A picture or a document; a browser that is not ready on a busy machine ("0 width") is asked again."""
    end = time.monotonic() + 20
    while True:
        try:
            return base64.b64decode(browser.execute_cdp_cmd(command, options)["data"])
        except WebDriverException:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def test_the_verdict_is_what_one_sees_first(browser: Any, pages: dict[str, Path]) -> None:
    for name, verdict in (("satisfied", "✓ satisfied"), ("violated", "✗ violated"), ("unknown", "? unknown")):
        show(browser, pages[name], PHONE)
        heading = browser.find_element("css selector", "#verdict")
        assert heading.text == verdict
        assert heading.rect["y"] + heading.rect["height"] < 400
        assert verdict.split()[1] in browser.title


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_the_trace_is_on_the_page(width: int, browser: Any, pages: dict[str, Path]) -> None:
    show(browser, pages["violated"], width)
    stored = json.loads(pages["violated"].with_suffix(".json").read_text())
    rows = browser.find_elements("xpath", "//table[caption='The run']/tbody/tr")
    assert len(rows) == len(stored["witness"]["steps"]) == 4
    for row, step in zip(rows, stored["witness"]["steps"], strict=True):
        for value in (f"{step['state']['h']['float']:.6g}", step["state"]["adv"]["label"], step["branch"] or ""):
            assert value in row.text
    margins = {m["margin"]["exact"] for m in stored["witness"]["steps"][3]["atoms"]}
    assert margins and all(margin in seen(browser, "table") for margin in margins)
    show(browser, pages["tree"], width)
    assert "slip left (to state" in seen(browser, "table")


@pytest.mark.parametrize("width", [PHONE, SMALL])
def test_nothing_scrolls_sideways_on_a_telephone(width: int, browser: Any, pages: dict[str, Path]) -> None:
    for name, page in pages.items():
        show(browser, page, width)
        wide, outside = browser.execute_script(SIZES)
        assert (wide, outside) == (width, []), name


def test_pictures_are_seen(browser: Any, pages: dict[str, Path]) -> None:
    for name, count in (("violated", 1), ("tree", 2)):
        show(browser, pages[name], PHONE)
        found = browser.find_elements("css selector", "img")
        assert len(found) >= count
        assert all(browser.execute_script("return arguments[0].naturalWidth", image) > 100 for image in found)


def test_dark_is_dark_and_everything_can_be_read(browser: Any, pages: dict[str, Path]) -> None:
    for name, page in pages.items():
        papers = {}
        for scheme, media in (("light", "screen"), ("dark", "screen"), ("dark", "print")):
            show(browser, page, DESK, scheme, media)
            (worst, where), texts, papers[scheme, media] = browser.execute_script(CONTRAST)
            assert texts > 50
            assert worst >= 4.5, (name, scheme, media, where)  # WCAG 2, level AA
        assert papers["light", "screen"] > 0.9 and papers["dark", "print"] > 0.9
        assert papers["dark", "screen"] < 0.05


def test_nothing_is_asked_of_others(browser: Any, pages: dict[str, Path]) -> None:
    for page in pages.values():
        browser.get_log("performance")
        show(browser, page)
        events = [json.loads(e["message"])["message"] for e in browser.get_log("performance")]
        asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        assert page.as_uri() in asked
        assert all(url == page.as_uri() or url.startswith("data:image/svg+xml") for url in asked)


def test_pages_need_no_scripts_and_run_none(browser: Any, pages: dict[str, Path], tmp_path: Path) -> None:
    pictures = {}
    browser.get_log("browser")
    for name, page in pages.items():
        show(browser, page)
        assert browser.execute_script("return [window.pwned === undefined, document.scripts.length]") == [True, 0], name
        pictures[name] = picture(browser)
    assert [line for line in browser.get_log("browser") if line["level"] == "SEVERE"] == []
    proof = tmp_path / "proof.html"
    proof.write_text("<title>off</title><script>document.title = 'on'</script>")
    with started(scripts=False) as plain:
        show(plain, proof)
        assert plain.title == "off"
        for name, page in pages.items():
            show(plain, page)
            assert picture(plain) == pictures[name], name


def test_pages_can_be_printed(browser: Any, pages: dict[str, Path]) -> None:
    show(browser, pages["violated"])
    document = printed(browser, "Page.printToPDF", {"printBackground": False})
    assert document.startswith(b"%PDF") and len(document) > 20_000
