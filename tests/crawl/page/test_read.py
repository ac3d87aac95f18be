"""What is kept of a page that was read, and what counts as a change of it."""

from dataclasses import replace

import pytest

from app.admin import crawls
from app.crawl.state.worker import Worker
from app.parse.html.html import READER
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Web, html
from tests.store.rows import one, sql, url

DAY_S = 86_400.0
PROSE = "This sentence is long enough to be read as one by whoever counts the letters in it. " * 8
GERMAN = "Dieser Satz ist auf Deutsch geschrieben, und die Seite sagt nicht, in welcher Sprache sie spricht."
TEASERS = "<div class=related><h3><a href=/{0}>Another story that we wrote {0}</a></h3><p>It is about {0}.</p></div>"


def undeclared(page: Answer) -> Answer:
    """The page without a language of its own."""
    return replace(page, body=page.body.replace(b"<html lang=en>", b"<html>"))


def again(worker: Worker, *, after_s: float) -> None:
    """A new round, as if so much time had passed."""
    sql(worker.engine, "UPDATE urls SET fetched_at = fetched_at - make_interval(secs => :s)", s=after_s)
    crawls.go_round(worker.engine, "c")
    run(worker)


def test_dates_and_the_language_are_kept_with_where_they_come_from(worker: Worker, web: Web) -> None:
    site = web.site()
    head = (
        "<meta property=article:published_time content=2026-03-04T10:00+02:00><time class=updated datetime=2026-03-05>"
    )
    site.pages |= {"/": undeclared(html("/plain", text=GERMAN, head=head)), "/plain": html(text=PROSE)}
    start(worker, site.url())
    run(worker)
    rows = sql(
        worker.engine,
        """SELECT language, language_detected, published_at = '2026-03-04T08:00:00Z' AS published, published_from,
                  modified_at = '2026-03-05T00:00:00Z' AS modified, modified_from FROM pages ORDER BY url""",
    )
    assert [tuple(row.values()) for row in rows] == [
        (None, "de", True, "meta", True, "time"),
        ("en", None, None, None, None, None),
    ]


def test_the_language_of_a_page_without_its_text_is_kept(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = undeclared(html(text=GERMAN, headers={"X-Robots-Tag": "noarchive"}))
    start(worker, site.url())
    run(worker)
    assert sql(worker.engine, "SELECT main_text, language, language_detected FROM pages") == [
        {"main_text": None, "language": None, "language_detected": "de"}
    ]


def test_other_teasers_are_no_change(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html(text=PROSE, head=TEASERS.format("one"))
    start(worker, site.url())
    run(worker)
    site.pages["/"] = html(text=PROSE, head=TEASERS.format("two"))
    again(worker, after_s=DAY_S)
    assert float(url(worker.engine, site.url())["interval_s"]) > 1.2 * DAY_S, "a front page's interval has grown"
    assert one(worker.engine, "SELECT main_text FROM pages WHERE url = :u", u=site.url()) == PROSE.strip()


BEFORE_UPGRADE = "UPDATE {} SET text_sha256 = '\\x00' WHERE url = :u"  # an earlier reader found another text


# versions of the earlier reader → what is done with a page whose text is another since
@pytest.mark.parametrize("version", [None, 1])
def test_texts_of_two_versions_of_the_reader_are_not_compared(worker: Worker, web: Web, version: int | None) -> None:
    site = web.site()
    site.pages["/"] = html(text=PROSE)
    start(worker, site.url())
    run(worker)
    for table in ("urls", "pages"):
        sql(worker.engine, BEFORE_UPGRADE.format(table), u=site.url())
    sql(worker.engine, "UPDATE pages SET reader = :v", v=version)
    believed = url(worker.engine, site.url())["change_shape"]
    site.pages["/"] = html(text=PROSE, head="<!-- at 12:01 -->")
    again(worker, after_s=DAY_S)
    row = url(worker.engine, site.url())
    assert row["changed_at"] < row["fetched_at"], "a newer release is no change"
    assert row["change_shape"] == believed, "nor does it say that there is none"
    page = sql(worker.engine, "SELECT reader, changed_at < fetched_at AS stands FROM pages")
    assert page == [{"reader": READER, "stands": True}]
    site.pages["/"] = html(text=PROSE + " And more of it, which nobody has read before.")
    again(worker, after_s=DAY_S)
    assert one(worker.engine, "SELECT changed_at = fetched_at FROM pages"), "from then on texts are compared"


def test_a_page_with_its_validator_has_not_changed_whatever_read_it(worker: Worker, web: Web) -> None:
    site = web.site()
    said = {"Last-Modified": "Sun, 01 Nov 2026 08:00:00 GMT"}
    site.pages["/"] = html(text=PROSE, headers=said)
    start(worker, site.url())
    run(worker)
    sql(worker.engine, BEFORE_UPGRADE.format("urls"), u=site.url())
    sql(worker.engine, "UPDATE pages SET reader = 1")
    site.pages["/"] = html(text=PROSE, head="<!-- answered whole all the same -->", headers=said)
    again(worker, after_s=DAY_S)
    assert float(url(worker.engine, site.url())["interval_s"]) > 1.2 * DAY_S, "a front page's interval has grown"


def test_a_text_of_another_version_is_no_original(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/b", text=PROSE, headers={"ETag": '"a"'}), "/b": html("/b", text=PROSE)}
    start(worker, site.url())
    run(worker)
    assert one(worker.engine, "SELECT count(*) FROM duplicates") == 1
    sql(worker.engine, "UPDATE pages SET reader = 1 WHERE url = :u", u=site.url())
    sql(worker.engine, "DELETE FROM duplicates")
    site.pages["/b"] = html("/b", text=PROSE, head="<!-- c -->")
    again(worker, after_s=DAY_S)
    assert sql(worker.engine, "SELECT url FROM pages WHERE reader = 1") == [{"url": site.url()}], "it was not sent"
    assert sql(worker.engine, "SELECT url, of_url FROM duplicates") == []


def test_the_same_bytes_are_no_change_though_an_earlier_release_read_other_words(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html(text=PROSE)
    start(worker, site.url())
    run(worker)
    for table in ("urls", "pages"):
        sql(worker.engine, f"UPDATE {table} SET text_sha256 = '\\x00' WHERE url = :u", u=site.url())
    again(worker, after_s=DAY_S)
    assert float(url(worker.engine, site.url())["interval_s"]) > 1.2 * DAY_S, "a front page's interval has grown"
    row = sql(
        worker.engine, "SELECT changed_at = first_fetched_at AS kept, fetched_at > changed_at AS later FROM pages"
    )
    assert row == [{"kept": True, "later": True}]
    assert one(worker.engine, "SELECT text_sha256 <> '\\x00' FROM urls WHERE url = :u", u=site.url())


@pytest.mark.parametrize(
    ("before", "after"),
    [("<body style='display:none'>", ""), ("<div id=app hidden>", "</div><p>Loading"), ("<p hidden=until-found>", "")],
)
def test_a_page_that_its_script_shows_is_followed_and_a_trap_in_it_is_not(
    worker: Worker, web: Web, before: str, after: str
) -> None:
    site = web.site()
    body = f"<!doctype html>{before}<p>{PROSE}</p><a href=/a>A</a> <a href=/b>B</a> <a href=/trap hidden>T</a>{after}"
    site.pages |= {"/": Answer(headers={"Content-Type": "text/html"}, body=body.encode())}
    site.pages |= {f"/{name}": html(text=name) for name in ("a", "b", "trap")}
    start(worker, site.url())
    run(worker)
    assert sorted(site.pages_asked) == ["/", "/a", "/b"]
    assert PROSE.strip() in one(worker.engine, "SELECT main_text FROM pages WHERE url = :u", u=site.url())
