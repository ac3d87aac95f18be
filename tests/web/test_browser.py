"""A real browser uses the dashboard: its scripts run under the policy, and nothing is fetched from elsewhere.

Skipped where Chromium is not installed (Debian and Ubuntu: `chromium`).
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import BrowserContext, Page, sync_playwright

from tests.crawl.web import Site
from tests.web.served import Browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


@dataclass
class Seen:
    """What a context's console said, and what it asked for."""

    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> None:
        context.on("console", lambda each: self.said.append(each.text) if each.type in {"error", "warning"} else None)
        context.on("weberror", lambda each: self.said.append(str(each.error)))
        context.on("request", lambda each: self.asked.append(each.url))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with sync_playwright() as driver:
        launched = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )  # tests may run as root
        yield launched
        launched.close()


def opened(chromium: Chromium, seen: Seen, *, width: int = 1440, dark: bool = False) -> Page:
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
    )
    seen.watch(context)
    return context.new_page()


FITS = "document.documentElement.scrollWidth <= innerWidth"
# path, a place that scripts or the stream have filled
PAGES = [
    ("/", "[data-requests] tr"),
    ("/", ".u-wrap canvas"),
    ("/crawl?name=docs", "#counted table"),
    ("/host?name={host}", "svg.timeline rect.took"),
    ("/url?u={url}", "h1"),
    ("/proof?host={host}", "[data-print]"),
    ("/act/crawl.make", "textarea"),
]


@pytest.mark.parametrize(("path", "place"), PAGES)
def test_a_page_fits_and_fetches_nothing_from_elsewhere(
    browser: Browser, site: Site, chromium: Chromium, path: str, place: str
) -> None:
    """On a phone in the dark, and then in a wide window by day: what is drawn anew is drawn by the same page."""
    seen = Seen()
    page = opened(chromium, seen, width=390, dark=True)
    page.goto(browser.url + path.format(host=site.host, url=site.url("/")))
    page.locator(place).first.wait_for()
    assert page.evaluate(FITS), "it scrolls sideways on a phone"
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.locator(place).first.wait_for()
    assert page.evaluate(FITS), "it scrolls sideways in a wide window"
    assert seen.said == []
    assert [url for url in seen.asked if not url.startswith(browser.url)] == []
    page.context.close()


def test_hosts_are_filtered_without_a_reload(browser: Browser, chromium: Chromium) -> None:
    seen = Seen()
    page = opened(chromium, seen)
    page.goto(f"{browser.url}/hosts")
    page.evaluate("window.isTheSamePage = true")
    page.select_option("select[name=waits_for]", "paused")
    page.locator("#list .empty").wait_for()
    assert "waits_for=paused" in page.url
    assert page.evaluate("window.isTheSamePage")
    assert seen.said == []
    page.context.close()


def test_an_order_is_given_by_keyboard(browser: Browser, site: Site, chromium: Chromium) -> None:
    page = opened(chromium, Seen())
    page.goto(f"{browser.url}/act/host.slow?subject={site.host}")
    page.focus("input[name=delay]")
    page.keyboard.type("9")
    page.keyboard.press("Enter")
    page.wait_for_url("**/host?name=**")
    assert "a delay of 9 s" in page.inner_text(".note.good")
    page.context.close()


def test_two_tabs_share_one_stream(browser: Browser, chromium: Chromium) -> None:
    seen = Seen()
    first = opened(chromium, seen)
    second = first.context.new_page()
    for page in (first, second):
        page.goto(f"{browser.url}/")
        page.locator("[data-requests] tr").first.wait_for()
    assert seen.asked.count(f"{browser.url}/stream") == 1
    first.close()
    second.wait_for_event("request", lambda each: each.url.endswith("/stream"))
    second.context.close()
