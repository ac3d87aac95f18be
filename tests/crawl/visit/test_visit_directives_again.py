"""What pages ask of robots when they are fetched again, and which of two alike is kept."""

from collections.abc import Callable

import pytest

from app.admin import crawls
from app.crawl.state.worker import Worker
from tests.crawl.loop import run, start
from tests.crawl.visit.directives import WORDS, meta, pages, tag
from tests.crawl.web import Answer, Hit, Site, Web, html
from tests.store.rows import one, sql, url


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


def again(worker: Worker, name: str = "c") -> None:
    crawls.go_round(worker.engine, name)
    run(worker)


# --- again ----------------------------------------------------------------------------------------------------------


def test_what_becomes_noindex_goes_and_comes_back_when_it_is_lifted(worker: Worker, site: Site) -> None:
    site.pages["/"] = html(text=WORDS)
    start(worker, site.url())
    run(worker)
    assert pages(worker) == ["/"]
    site.pages["/"] = meta("noindex", text=WORDS)
    again(worker)
    found = url(worker.engine, site.url())
    assert (pages(worker), found["state"], found["cause"]) == ([], "resting", "kept out of pages: noindex")
    assert found["changed_at"] < found["fetched_at"], "the text is the same, and judged to be"
    site.pages["/"] = html(text=WORDS)
    again(worker)
    found = url(worker.engine, site.url())
    assert (pages(worker), found["cause"], found["directives"]) == (["/"], None, None)


def a_day_later(worker: Worker) -> None:
    sql(worker.engine, "UPDATE urls SET fetched_at = fetched_at - interval '1 day'")
    again(worker)


def test_a_page_kept_out_changes_like_any_other(worker: Worker, site: Site) -> None:
    site.pages["/"] = meta("noindex", text=WORDS)
    start(worker, site.url())
    run(worker)
    base_s = 86_400.0  # of a front page
    assert url(worker.engine, site.url())["interval_s"] == pytest.approx(base_s, rel=0.01)
    a_day_later(worker)
    assert url(worker.engine, site.url())["interval_s"] > 1.2 * base_s
    site.pages["/"] = meta("noindex", text="something else")
    a_day_later(worker)
    found = url(worker.engine, site.url())
    assert found["interval_s"] < base_s
    assert abs((found["changed_at"] - found["fetched_at"]).total_seconds()) < 0.1  # each reads the clock


def with_etag(headers: dict[str, str], then: dict[str, str]) -> Callable[[Hit], Answer]:
    """The same page always: in full with these headers, and as 304 with those."""

    def page(hit: Hit) -> Answer:
        if hit.headers["If-None-Match"] == '"1"':
            return Answer(status=304, headers={"ETag": '"1"', **then})
        return html("/a", text=WORDS, headers={"ETag": '"1"', **headers})

    return page


# at first, with the 304 → on record, is the page kept, is its text
@pytest.mark.parametrize(
    ("first", "then", "record", "kept", "text"),
    [
        ({}, {}, None, True, True),
        ({"X-Robots-Tag": "noindex"}, {}, "noindex", False, False),  # who says nothing takes nothing back
        ({}, {"X-Robots-Tag": "noindex"}, "noindex", False, False),
        ({"X-Robots-Tag": "nofollow"}, {"X-Robots-Tag": "noarchive"}, "noarchive, nofollow", True, False),
        (
            {"X-Robots-Tag": "max-snippet: 20"},
            {"X-Robots-Tag": "noimageindex"},
            "max-snippet: 20, noimageindex",
            True,
            True,
        ),
    ],
)
def test_a_304_can_only_ask_for_more(
    worker: Worker, site: Site, first: dict[str, str], then: dict[str, str], record: str | None, kept: bool, text: bool
) -> None:
    site.pages |= {"/": with_etag(first, then), "/a": html()}
    start(worker, site.url())
    run(worker)
    again(worker)
    found = url(worker.engine, site.url())
    assert (found["outcome"], found["directives"]) == ("unchanged", record)
    assert (found["cause"] is None) is kept
    rows = sql(worker.engine, "SELECT main_text, directives FROM pages WHERE url = :u", u=site.url())
    assert [(row["main_text"] is not None, row["directives"]) for row in rows] == ([(text, record)] if kept else [])


def test_what_is_on_record_outlives_trouble(worker: Worker, site: Site) -> None:
    site.pages["/"] = meta("noindex")
    start(worker, site.url())
    run(worker)
    answers = [Answer(status=500), Answer(status=429), Answer(status=500), meta("noindex")]
    seen = []

    def troubled(_: Hit) -> Answer:
        seen.append(url(worker.engine, site.url()))
        return answers.pop(0)

    site.pages["/"] = troubled
    again(worker)
    assert [(row["directives"], row["cause"]) for row in seen] == [("noindex", "kept out of pages: noindex")] * 4
    assert not answers


def test_after_a_page_has_gone_its_record_says_why(worker: Worker, site: Site) -> None:
    site.pages |= {"/": html("/a"), "/a": meta("noindex")}
    start(worker, site.url())
    run(worker)
    del site.pages["/a"]
    again(worker)
    found = url(worker.engine, site.url("/a"))
    assert (found["outcome"], found["directives"], found["cause"]) == ("not_found", "noindex", None)


# --- duplicates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 50])
def test_a_page_kept_out_is_nobodys_original(make: Callable[..., Worker], site: Site, batch: int) -> None:
    """By a header, so that the bytes are the same."""
    worker = make(settle_urls=batch)
    twin = html(text=WORDS)
    site.pages |= {"/": html("/1", "/2"), "/1": tag("noindex", text=WORDS), "/2": twin}
    start(worker, site.url())
    run(worker)
    assert one(worker.engine, "SELECT count(*) FROM duplicates") == 0
    assert (url(worker.engine, site.url("/2"))["state"], pages(worker)) == ("resting", ["/", "/2"])


@pytest.mark.parametrize("batch", [1, 50])
def test_what_becomes_noindex_is_nobodys_original_any_more(make: Callable[..., Worker], site: Site, batch: int) -> None:
    worker = make(settle_urls=batch)
    twin = html(text=WORDS)
    site.pages |= {"/": html("/1"), "/1": twin}
    start(worker, site.url())
    run(worker)
    site.pages |= {"/": html("/1", "/2"), "/1": tag("noindex", text=WORDS), "/2": twin}
    again(worker)
    assert one(worker.engine, "SELECT count(*) FROM duplicates") == 0
    assert (url(worker.engine, site.url("/2"))["state"], pages(worker)) == ("resting", ["/", "/2"])


def test_a_duplicate_that_becomes_noindex_is_noted_no_more(worker: Worker, site: Site) -> None:
    site.pages |= {"/": html("/1", "/2"), "/1": html(text=WORDS), "/2": html(text=WORDS, title="other")}
    start(worker, site.url())
    run(worker)
    (noted,) = sql(worker.engine, "SELECT url FROM duplicates")
    site.pages["/" + noted["url"].split("/", 3)[3]] = meta("noindex", text=WORDS)
    again(worker)
    assert one(worker.engine, "SELECT count(*) FROM duplicates") == 0


def test_pages_without_kept_texts_are_compared_all_the_same(worker: Worker, site: Site) -> None:
    site.pages |= {"/": html("/1", "/2"), "/1": meta("noarchive", text=WORDS), "/2": html(text=WORDS)}
    start(worker, site.url())
    run(worker)
    assert [row["kind"] for row in sql(worker.engine, "SELECT kind FROM duplicates")] == ["text"]
