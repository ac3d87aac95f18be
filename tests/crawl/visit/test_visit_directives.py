"""What pages ask of robots (X-Robots-Tag, meta robots, rel), kept when they are first read."""

from collections.abc import Callable
from typing import Any

import pytest

from app.crawl.state.worker import Worker
from app.policy.lifecycle import UrlState
from tests.crawl.loop import run, start
from tests.crawl.visit.directives import WORDS, meta, pages, refusals, tag
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import one, sql, url


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


# --- a page's word, once --------------------------------------------------------------------------------------------

# what the page says → on record, is it kept, are its links followed, is its text kept
SAID = [
    (html("/a", text=WORDS), None, True, True, True),
    (tag("noindex", "/a", text=WORDS), "noindex", False, True, False),
    (meta("noindex", "/a", text=WORDS), "noindex", False, True, False),
    (meta("NOINDEX, Follow", "/a", text=WORDS), "follow, noindex", False, True, False),
    (meta("noindex", "/a", name="Tiptoe", text=WORDS), "noindex", False, True, False),
    (meta("noindex", "/a", name="otherbot", text=WORDS), None, True, True, True),
    (tag("otherbot: noindex", "/a", text=WORDS), None, True, True, True),
    (tag("tiptoe: nofollow", "/a", text=WORDS), "nofollow", True, False, True),
    (tag("nofollow", "/a", text=WORDS), "nofollow", True, False, True),
    (meta("none", "/a", text=WORDS), "none", False, False, False),
    (tag("noarchive", "/a", text=WORDS), "noarchive", True, True, False),
    (
        meta("noarchive", "/a", text=WORDS, headers={"X-Robots-Tag": "nofollow"}),
        "noarchive, nofollow",
        True,
        False,
        False,
    ),
    (tag("unavailable_after: 2001-01-01", "/a", text=WORDS), "unavailable_after: 2001-01-01", False, True, False),
    (tag("unavailable_after: 2999-01-01", "/a", text=WORDS), "unavailable_after: 2999-01-01", True, True, True),
    (tag("max-snippet: 20, nosnippet", "/a", text=WORDS), "max-snippet: 20, nosnippet", True, True, True),
]


@pytest.mark.parametrize(("answer", "record", "kept", "followed", "text"), SAID)
def test_a_page_decides_about_itself(
    worker: Worker, site: Site, answer: Answer, record: str | None, kept: bool, followed: bool, text: bool
) -> None:
    site.pages |= {"/": answer, "/a": html()}
    start(worker, site.url())
    run(worker)
    found = url(worker.engine, site.url())
    assert (found["state"], found["outcome"], found["directives"]) == ("resting", "page", record)
    assert found["cause"] == (None if kept else "kept out of pages: noindex")
    assert ("/" in pages(worker)) is kept
    assert ("/a" in site.pages_asked) is followed
    assert refusals(worker) == ({} if followed else {"/a": "nofollow"})
    rows = sql(worker.engine, "SELECT title, main_text, directives FROM pages WHERE url = :u", u=site.url())
    assert [(row["main_text"] is not None, row["directives"]) for row in rows] == ([(text, record)] if kept else [])


def test_noarchive_keeps_the_title_and_how_the_page_is_judged(worker: Worker, site: Site) -> None:
    site.pages |= {"/": meta("noarchive", "/a", text=WORDS, title="T"), "/a": html(text=WORDS, title="other")}
    start(worker, site.url())
    run(worker)
    (row,) = sql(worker.engine, "SELECT title, main_text, text_sha256 FROM pages WHERE url = :u", u=site.url())
    assert (row["title"], row["main_text"]) == ("T", None)
    assert row["text_sha256"] == url(worker.engine, site.url())["text_sha256"]


def test_the_log_and_the_counts_are_as_for_any_page(worker: Worker, site: Site) -> None:
    site.pages |= {"/": tag("noindex", "/a"), "/a": html()}
    start(worker, site.url())
    run(worker)
    assert one(worker.engine, "SELECT pages FROM v_crawl_progress") == 2
    assert one(worker.engine, "SELECT outcome FROM fetches WHERE url = :u", u=site.url()) == "page"


def test_several_fields_are_not_one(worker: Worker, site: Site) -> None:
    """A user agent in the first one is not the second one's: "otherbot: noarchive" and "noindex"."""

    class Twice(dict[str, str]):
        def items(self) -> Any:
            return [("Content-Type", "text/html"), ("X-Robots-Tag", "otherbot: x"), ("X-Robots-Tag", "noindex")]

    site.pages["/"] = Answer(headers=Twice(), body=b"<p>x")
    start(worker, site.url())
    run(worker)
    assert (url(worker.engine, site.url())["directives"], pages(worker)) == ("noindex", [])


def test_plain_text_is_told_by_its_header(worker: Worker, site: Site) -> None:
    site.pages["/"] = Answer(headers={"Content-Type": "text/plain", "X-Robots-Tag": "noindex"}, body=b"plain")
    start(worker, site.url())
    run(worker)
    assert pages(worker) == []


def test_texts_that_nobody_keeps_are_judged_all_the_same(make: Callable[..., Worker], site: Site) -> None:
    worker = make(keep_text=False)
    site.pages |= {"/": meta("noindex, nofollow", "/a")}
    start(worker, site.url())
    run(worker)
    found = url(worker.engine, site.url())
    assert (found["directives"], found["cause"]) == ("nofollow, noindex", "kept out of pages: noindex")
    assert refusals(worker) == {"/a": "nofollow"}


def test_a_page_that_says_nofollow_still_has_its_home(worker: Worker, site: Site) -> None:
    """rel=canonical names the page itself: without it the document would be lost."""
    site.pages |= {"/": html("/a", head="<meta name=robots content=nofollow><link rel=canonical href=/home>")}
    site.pages["/home"] = html()
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/home"]
    assert url(worker.engine, site.url())["state"] == UrlState.ALIAS
