"""A real browser uses the dashboard: its scripts run under the policy, and nothing is fetched from elsewhere.

Skipped where Chromium is not installed (Debian and Ubuntu: `chromium`).
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser as Chromium
from sqlalchemy import Engine

from tests.crawl.web import Site
from tests.store.rows import sql
from tests.web.chromium import Seen, launched, needs_chromium, opened
from tests.web.served import Browser

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with launched() as browser:
        yield browser


FITS = "document.documentElement.scrollWidth <= innerWidth"
CUT_OFF = """[...document.querySelectorAll('.side nav a')].filter(link => {
    const box = link.getBoundingClientRect(), side = document.querySelector('.side').getBoundingClientRect();
    return box.left < 0 || box.right > innerWidth || box.bottom > side.bottom + 1;
}).map(link => link.textContent)"""
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
    page = opened(chromium, seen, browser.entrance, width=390, dark=True)
    page.goto(browser.url + path.format(host=site.host, url=site.url("/")))
    page.locator(place).first.wait_for()
    assert page.evaluate(FITS), "it scrolls sideways on a phone"
    assert page.evaluate(CUT_OFF) == [], "links to pages out of sight"
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.locator(place).first.wait_for()
    assert page.evaluate(FITS), "it scrolls sideways in a wide window"
    assert seen.said == []
    assert [url for url in seen.asked if not url.startswith(browser.url)] == []
    page.context.close()


FIRST_CHANGES = """since => new Promise((resolve, reject) => {
    const heard = [], source = new EventSource(`/changes/stream?crawl=docs&since=${since}`);
    source.addEventListener("change", each => {
        heard.push([each.lastEventId, JSON.parse(each.data).url]);
        if (heard.length == 2) { source.close(); resolve(heard); }
    });
    source.onerror = () => reject(new Error("no stream"));
})"""


def test_a_browsers_own_reader_of_events_follows_the_changes(browser: Browser, site: Site, chromium: Chromium) -> None:
    seen = Seen()
    page = opened(chromium, seen, browser.entrance)
    page.goto(browser.url)
    first, second = page.evaluate(FIRST_CHANGES, "7d")
    assert page.evaluate(FIRST_CHANGES, first[0])[0] == second, "it goes on after the id of an event"
    assert all(url.startswith(site.url("/")) for _, url in (first, second))
    assert seen.said == []
    page.context.close()


def test_hosts_are_filtered_without_a_reload(browser: Browser, chromium: Chromium) -> None:
    seen = Seen()
    page = opened(chromium, seen, browser.entrance)
    page.goto(f"{browser.url}/hosts")
    page.evaluate("window.isTheSamePage = true")
    page.select_option("select[name=waits_for]", "paused")
    page.locator("#list .empty").wait_for()
    assert "waits_for=paused" in page.url
    assert page.evaluate("window.isTheSamePage")
    assert seen.said == []
    page.context.close()


def test_an_order_is_given_by_keyboard(browser: Browser, site: Site, chromium: Chromium) -> None:
    page = opened(chromium, Seen(), browser.entrance)
    page.goto(f"{browser.url}/act/host.slow?subject={site.host}")
    page.focus("input[name=delay]")
    page.keyboard.type("9")
    page.keyboard.press("Enter")
    page.wait_for_url("**/host?name=**")
    assert page.inner_text(".note.good span") == "9 s between requests"
    page.context.close()


def test_two_tabs_share_one_stream(browser: Browser, chromium: Chromium) -> None:
    seen = Seen()
    first = opened(chromium, seen, browser.entrance)
    second = first.context.new_page()
    for page in (first, second):
        page.goto(f"{browser.url}/")
        page.locator("[data-requests] tr").first.wait_for()
    assert seen.asked.count(f"{browser.url}/stream") == 1
    first.close()
    second.wait_for_event("request", lambda each: each.url.endswith("/stream"))
    second.context.close()


OVERDUE = "UPDATE hosts SET next_fetch_at = now() - interval '10 min' WHERE name = :name"


def test_an_open_page_says_what_is_wrong_by_itself(
    browser: Browser, crawled: Engine, site: Site, chromium: Chromium
) -> None:
    """Nobody reloads the page on the wall: that the machinery is well must not stand there when it no longer is."""
    page = opened(chromium, Seen(), browser.entrance)
    page.goto(f"{browser.url}/")
    page.get_by_text("The machinery is well.").wait_for()
    sql(crawled, "UPDATE crawls SET state = 'active', ended_because = NULL, finished_at = NULL WHERE name = 'docs'")
    sql(crawled, OVERDUE, name=site.host)
    page.get_by_text("beat: a host has been due for").wait_for()
    assert not page.get_by_text("The machinery is well.").is_visible()
    sql(
        crawled, "UPDATE crawls SET state = 'finished', ended_because = 'done', finished_at = now() WHERE name = 'docs'"
    )
    page.get_by_text("The machinery is well.").wait_for()
    page.context.close()


def test_charts_show_the_range_that_is_chosen(browser: Browser, chromium: Chromium) -> None:
    """A day is asked for once, not at every second; ten minutes go on by what is live."""
    seen = Seen()
    page = opened(chromium, seen, browser.entrance)
    page.goto(f"{browser.url}/crawl?name=docs")
    page.locator(".u-wrap canvas").first.wait_for()
    with page.expect_response(lambda answer: "range=86400" in answer.url and answer.ok):
        page.locator("[data-range]").select_option("86400")
    with page.expect_response(lambda answer: "range=600" in answer.url and answer.ok):
        page.locator("[data-range]").select_option("600")
    assert [url for url in seen.asked if "range=86400" in url and "crawl=docs" not in url] == []
    assert sum("range=86400" in url for url in seen.asked) == page.locator("[data-chart]").count()
    assert seen.said == []
    page.context.close()


def test_a_page_finds_its_stream_again_after_an_answer_that_was_none(browser: Browser, chromium: Chromium) -> None:
    """A browser gives a stream up for good once a proxy answers 502."""
    page = opened(chromium, Seen(), browser.entrance)
    answers = iter([502, 401])
    page.route(
        "**/stream", lambda route: route.fulfill(status=status) if (status := next(answers, 0)) else route.continue_()
    )
    page.goto(f"{browser.url}/")
    page.locator("#trouble").get_by_text("It tries again by itself.").wait_for()
    page.locator("[data-requests] tr").first.wait_for()
    assert not page.locator("#trouble").is_visible()
    page.context.close()


def test_a_change_joins_the_open_page(browser: Browser, chromium: Chromium, crawled: Engine) -> None:
    """By a stream of events of its own, as a text that is never markup."""
    seen = Seen()
    page = opened(chromium, seen, browser.entrance)
    page.goto(browser.url + "/changes?crawl=docs")
    page.locator("[data-changes] tr").first.wait_for()
    sql(
        crawled,
        """INSERT INTO changes (crawl_id, host_id, key, kind, at, url, why)
           SELECT crawl_id, host_id, key, 'withdrawn', clock_timestamp(), url, '<b>noindex</b>' FROM pages
           WHERE crawl_id = 1 ORDER BY key LIMIT 1""",
    )
    try:
        page.locator("[data-changes] tr", has_text="<b>noindex</b>").wait_for()
        assert seen.said == []
    finally:
        sql(crawled, "DELETE FROM changes WHERE kind = 'withdrawn'")
    page.context.close()
