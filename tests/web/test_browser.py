"""A real browser uses the dashboard: its scripts run under the policy, and nothing is fetched from elsewhere.

Skipped where Chromium is not installed (Debian and Ubuntu: `chromium`).
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser as Chromium

from tests.crawl.web import Site
from tests.web.chromium import Seen, launched, needs_chromium, opened
from tests.web.served import Browser

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with launched() as browser:
        yield browser


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


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize(("path", "place"), PAGES)
def test_a_page_fits_and_fetches_nothing_from_elsewhere(
    browser: Browser, site: Site, chromium: Chromium, path: str, place: str, width: int
) -> None:
    seen = Seen()
    page = opened(chromium, seen, width=width, dark=width == 390)
    page.goto(browser.url + path.format(host=site.host, url=site.url("/")))
    page.locator(place).first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"
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
