"""What pages ask of robots (X-Robots-Tag, meta robots, rel, links that nobody sees), and what comes of it."""

from collections.abc import Callable
from typing import Any

import pytest

from app.admin import crawls
from app.crawl.state.worker import Kit
from app.policy.lifecycle import UrlState
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Hit, Site, Web, html
from tests.hostile.traps import HONEYPOT
from tests.store.rows import one, sql, url

WORDS = "words that make a text of some length, " * 10


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


def tag(value: str, *links: str, **rest: Any) -> Answer:
    """A document that says this in its header."""
    return html(*links, headers={"X-Robots-Tag": value}, **rest)


def meta(value: str, *links: str, name: str = "robots", **rest: Any) -> Answer:
    return html(*links, head=f"<meta name='{name}' content='{value}'>", **rest)


def pages(kit: Kit) -> list[str]:
    """Paths of what is kept."""
    rows = sql(kit.engine, "SELECT url FROM pages ORDER BY url")
    return ["/" + row["url"].split("/", 3)[3] for row in rows]


def refusals(kit: Kit) -> dict[str, str]:
    """{path: reason}."""
    rows = sql(kit.engine, "SELECT url, reason FROM suppressions")
    return {"/" + row["url"].split("/", 3)[3]: row["reason"] for row in rows}


def again(kit: Kit, name: str = "c") -> None:
    crawls.go_round(kit.engine, name)
    run(kit)


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
    kit: Kit, site: Site, answer: Answer, record: str | None, kept: bool, followed: bool, text: bool
) -> None:
    site.pages |= {"/": answer, "/a": html()}
    start(kit, site.url())
    run(kit)
    found = url(kit.engine, site.url())
    assert (found["state"], found["outcome"], found["directives"]) == ("resting", "page", record)
    assert found["cause"] == (None if kept else "kept out of pages: noindex")
    assert ("/" in pages(kit)) is kept
    assert ("/a" in site.pages_asked) is followed
    assert refusals(kit) == ({} if followed else {"/a": "nofollow"})
    rows = sql(kit.engine, "SELECT title, main_text, directives FROM pages WHERE url = :u", u=site.url())
    assert [(row["main_text"] is not None, row["directives"]) for row in rows] == ([(text, record)] if kept else [])


def test_noarchive_keeps_the_title_and_how_the_page_is_judged(kit: Kit, site: Site) -> None:
    site.pages |= {"/": meta("noarchive", "/a", text=WORDS, title="T"), "/a": html(text=WORDS, title="other")}
    start(kit, site.url())
    run(kit)
    (row,) = sql(kit.engine, "SELECT title, main_text, text_sha256 FROM pages WHERE url = :u", u=site.url())
    assert (row["title"], row["main_text"]) == ("T", None)
    assert row["text_sha256"] == url(kit.engine, site.url())["text_sha256"]


def test_the_log_and_the_counts_are_as_for_any_page(kit: Kit, site: Site) -> None:
    site.pages |= {"/": tag("noindex", "/a"), "/a": html()}
    start(kit, site.url())
    run(kit)
    assert one(kit.engine, "SELECT pages FROM v_crawl_progress") == 2
    assert one(kit.engine, "SELECT outcome FROM fetches WHERE url = :u", u=site.url()) == "page"


def test_several_fields_are_not_one(kit: Kit, site: Site) -> None:
    """A user agent in the first one is not the second one's: "otherbot: noarchive" and "noindex"."""

    class Twice(dict[str, str]):
        def items(self) -> Any:
            return [("Content-Type", "text/html"), ("X-Robots-Tag", "otherbot: x"), ("X-Robots-Tag", "noindex")]

    site.pages["/"] = Answer(headers=Twice(), body=b"<p>x")
    start(kit, site.url())
    run(kit)
    assert (url(kit.engine, site.url())["directives"], pages(kit)) == ("noindex", [])


def test_plain_text_is_told_by_its_header(kit: Kit, site: Site) -> None:
    site.pages["/"] = Answer(headers={"Content-Type": "text/plain", "X-Robots-Tag": "noindex"}, body=b"plain")
    start(kit, site.url())
    run(kit)
    assert pages(kit) == []


def test_texts_that_nobody_keeps_are_judged_all_the_same(make: Callable[..., Kit], site: Site) -> None:
    kit = make(keep_text=False)
    site.pages |= {"/": meta("noindex, nofollow", "/a")}
    start(kit, site.url())
    run(kit)
    found = url(kit.engine, site.url())
    assert (found["directives"], found["cause"]) == ("nofollow, noindex", "kept out of pages: noindex")
    assert refusals(kit) == {"/a": "nofollow"}


def test_a_page_that_says_nofollow_still_has_its_home(kit: Kit, site: Site) -> None:
    """rel=canonical names the page itself: without it the document would be lost."""
    site.pages |= {"/": html("/a", head="<meta name=robots content=nofollow><link rel=canonical href=/home>")}
    site.pages["/home"] = html()
    start(kit, site.url())
    run(kit)
    assert site.pages_asked == ["/", "/home"]
    assert url(kit.engine, site.url())["state"] == UrlState.ALIAS


# --- again ----------------------------------------------------------------------------------------------------------


def test_what_becomes_noindex_goes_and_comes_back_when_it_is_lifted(kit: Kit, site: Site) -> None:
    site.pages["/"] = html(text=WORDS)
    start(kit, site.url())
    run(kit)
    assert pages(kit) == ["/"]
    site.pages["/"] = meta("noindex", text=WORDS)
    again(kit)
    found = url(kit.engine, site.url())
    assert (pages(kit), found["state"], found["cause"]) == ([], "resting", "kept out of pages: noindex")
    assert found["changed_at"] < found["fetched_at"], "the text is the same, and judged to be"
    site.pages["/"] = html(text=WORDS)
    again(kit)
    found = url(kit.engine, site.url())
    assert (pages(kit), found["cause"], found["directives"]) == (["/"], None, None)


def test_a_page_kept_out_changes_like_any_other(kit: Kit, site: Site) -> None:
    site.pages["/"] = meta("noindex", text=WORDS)
    start(kit, site.url())
    run(kit)
    base_s = kit.settings.recrawl_base_s
    assert url(kit.engine, site.url())["interval_s"] == base_s
    again(kit)
    assert url(kit.engine, site.url())["interval_s"] > base_s
    site.pages["/"] = meta("noindex", text="something else")
    again(kit)
    found = url(kit.engine, site.url())
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
    kit: Kit, site: Site, first: dict[str, str], then: dict[str, str], record: str | None, kept: bool, text: bool
) -> None:
    site.pages |= {"/": with_etag(first, then), "/a": html()}
    start(kit, site.url())
    run(kit)
    again(kit)
    found = url(kit.engine, site.url())
    assert (found["outcome"], found["directives"]) == ("unchanged", record)
    assert (found["cause"] is None) is kept
    rows = sql(kit.engine, "SELECT main_text, directives FROM pages WHERE url = :u", u=site.url())
    assert [(row["main_text"] is not None, row["directives"]) for row in rows] == ([(text, record)] if kept else [])


def test_what_is_on_record_outlives_trouble(kit: Kit, site: Site) -> None:
    site.pages["/"] = meta("noindex")
    start(kit, site.url())
    run(kit)
    answers = [Answer(status=500), Answer(status=429), Answer(status=500), meta("noindex")]
    seen = []

    def troubled(_: Hit) -> Answer:
        seen.append(url(kit.engine, site.url()))
        return answers.pop(0)

    site.pages["/"] = troubled
    again(kit)
    assert [(row["directives"], row["cause"]) for row in seen] == [("noindex", "kept out of pages: noindex")] * 4
    assert not answers


def test_after_a_page_has_gone_its_record_says_why(kit: Kit, site: Site) -> None:
    site.pages |= {"/": html("/a"), "/a": meta("noindex")}
    start(kit, site.url())
    run(kit)
    del site.pages["/a"]
    again(kit)
    found = url(kit.engine, site.url("/a"))
    assert (found["outcome"], found["directives"], found["cause"]) == ("not_found", "noindex", None)


# --- duplicates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 50])
def test_a_page_kept_out_is_nobodys_original(make: Callable[..., Kit], site: Site, batch: int) -> None:
    """By a header, so that the bytes are the same."""
    kit = make(settle_urls=batch)
    twin = html(text=WORDS)
    site.pages |= {"/": html("/1", "/2"), "/1": tag("noindex", text=WORDS), "/2": twin}
    start(kit, site.url())
    run(kit)
    assert one(kit.engine, "SELECT count(*) FROM duplicates") == 0
    assert (url(kit.engine, site.url("/2"))["state"], pages(kit)) == ("resting", ["/", "/2"])


@pytest.mark.parametrize("batch", [1, 50])
def test_what_becomes_noindex_is_nobodys_original_any_more(make: Callable[..., Kit], site: Site, batch: int) -> None:
    kit = make(settle_urls=batch)
    twin = html(text=WORDS)
    site.pages |= {"/": html("/1"), "/1": twin}
    start(kit, site.url())
    run(kit)
    site.pages |= {"/": html("/1", "/2"), "/1": tag("noindex", text=WORDS), "/2": twin}
    again(kit)
    assert one(kit.engine, "SELECT count(*) FROM duplicates") == 0
    assert (url(kit.engine, site.url("/2"))["state"], pages(kit)) == ("resting", ["/", "/2"])


def test_a_duplicate_that_becomes_noindex_is_noted_no_more(kit: Kit, site: Site) -> None:
    site.pages |= {"/": html("/1", "/2"), "/1": html(text=WORDS), "/2": html(text=WORDS, title="other")}
    start(kit, site.url())
    run(kit)
    (noted,) = sql(kit.engine, "SELECT url FROM duplicates")
    site.pages["/" + noted["url"].split("/", 3)[3]] = meta("noindex", text=WORDS)
    again(kit)
    assert one(kit.engine, "SELECT count(*) FROM duplicates") == 0


def test_pages_without_kept_texts_are_compared_all_the_same(kit: Kit, site: Site) -> None:
    site.pages |= {"/": html("/1", "/2"), "/1": meta("noarchive", text=WORDS), "/2": html(text=WORDS)}
    start(kit, site.url())
    run(kit)
    assert [row["kind"] for row in sql(kit.engine, "SELECT kind FROM duplicates")] == ["text"]


# --- links that nobody sees -----------------------------------------------------------------------------------------

HIDDEN = "<p style='display: none'><a href=/trap>x</a></p>"


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (HIDDEN, "hidden"),
        ("<a href=/trap hidden>x</a>", "hidden"),
        ("<a href=/trap aria-hidden=true></a>", "hidden"),
        ("<a href=/trap hidden rel=nofollow>x</a>", "nofollow"),
        ("<a href=/trap rel='ugc NoFollow'>x</a>", "nofollow"),
        ("<iframe hidden src=/trap></iframe>", "hidden"),
    ],
)
def test_a_link_that_no_person_can_see_is_not_followed(kit: Kit, site: Site, head: str, reason: str) -> None:
    site.pages |= {"/": html("/a", text=head), "/a": html(), "/trap": html()}
    start(kit, site.url())
    run(kit)
    assert site.pages_asked == ["/", "/a"]
    assert refusals(kit) == {"/trap": reason}
    assert one(kit.engine, "SELECT found_on FROM suppressions") == site.url()


@pytest.mark.parametrize("first", [True, False])
def test_on_a_page_that_shows_it_too_it_is_followed(kit: Kit, site: Site, first: bool) -> None:
    shown = "<a href=/trap>here</a>"
    site.pages |= {"/": html(text=shown + HIDDEN if first else HIDDEN + shown), "/trap": html()}
    start(kit, site.url())
    run(kit)
    assert site.pages_asked == ["/", "/trap"]
    assert refusals(kit) == {}


@pytest.mark.parametrize("batch", [1, 50])
def test_once_another_page_shows_it_it_is_followed(make: Callable[..., Kit], site: Site, batch: int) -> None:
    kit = make(settle_urls=batch)
    site.pages |= {"/": html("/a", text=HIDDEN), "/a": html("/trap"), "/trap": html("/b"), "/b": html(text=HIDDEN)}
    start(kit, site.url())
    run(kit)
    assert site.pages_asked == ["/", "/a", "/trap", "/b"]
    assert url(kit.engine, site.url("/trap"))["found_on"] == site.url("/a")
    assert refusals(kit) == {"/trap": "hidden"}, "as it was met at first"


def test_a_honeypot_catches_nobody(kit: Kit, site: Site) -> None:
    site.pages |= {"/": Answer(headers={"Content-Type": "text/html"}, body=HONEYPOT.encode())}
    site.pages |= {"/open/1": html(text="1"), "/open/2": html(text="2")}
    start(kit, site.url())
    run(kit)
    assert sorted(site.pages_asked) == ["/", "/open/1", "/open/2"]
    assert {path: reason for path, reason in refusals(kit).items() if reason != "hidden"} == {
        "/trap/nofollow": "nofollow",
        "/trap/several-rels": "nofollow",
    }


def test_hidden_links_that_would_not_be_followed_anyway_keep_their_reason(kit: Kit, web: Web, site: Site) -> None:
    away = web.site()
    links = f"<div hidden><a href={away.url('/x')}>1</a><a href=/x.png>2</a><a href=mailto:a@b.test>3</a></div>"
    site.pages["/"] = html(text=links)
    start(kit, site.url())
    run(kit)
    assert refusals(kit) == {"/x": "scope"}
