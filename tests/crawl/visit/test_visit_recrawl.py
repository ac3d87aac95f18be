"""Going round again: validators, what counts as changed, and what an alias stays."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from app.admin import crawls
from app.beat.promote import promote
from app.crawl.state.worker import Worker
from app.features.export.export import export_rows
from app.features.export.plan import ExportWish
from app.store import crawls as crawl_rows
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Hit, Web, html, redirect
from tests.store.rows import one, sql, url

DAY_S = 86_400.0
WEEK = 7 * DAY_S


def again(worker: Worker, *, after_s: float = 0.0) -> None:
    """A new round, as if so much time had passed."""
    sql(worker.engine, "UPDATE urls SET fetched_at = fetched_at - make_interval(secs => :s)", s=after_s)
    crawls.go_round(worker.engine, "c")
    run(worker)


def interval(worker: Worker, text: str) -> float:
    return float(url(worker.engine, text)["interval_s"])


def test_a_second_round_is_304_without_a_body(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {
        "/": html("/a", headers={"ETag": '"one"'}),
        "/a": html("/b", headers={"ETag": '"two"'}),
        "/b": html(),
    }
    start(worker, site.url())
    run(worker)
    assert interval(worker, site.url()) == pytest.approx(DAY_S, rel=0.01), "it is a front page"
    assert interval(worker, site.url("/a")) == pytest.approx(WEEK, rel=0.01)
    first = len(site.log)
    again(worker, after_s=WEEK)
    second = {hit.path: hit for hit in site.log[first:]}
    assert {path: hit.status for path, hit in second.items()} == {"/": 304, "/a": 304, "/b": 200}
    assert second["/"].headers["If-None-Match"] == '"one"'
    assert (second["/"].body_bytes, second["/b"].headers["If-None-Match"]) == (0, None)
    logged = sql(worker.engine, "SELECT outcome, wire_bytes, conditional FROM fetches WHERE status = 304")
    assert logged == [{"outcome": "unchanged", "wire_bytes": 0, "conditional": True}] * 2
    assert min(interval(worker, site.url(path)) for path in ("/a", "/b")) > 1.2 * WEEK
    assert sql(worker.engine, "SELECT DISTINCT reason FROM fetches WHERE status = 304") == [{"reason": "recrawl"}]


def test_last_modified_is_sent_back_as_it_came(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html(headers={"Last-Modified": "Tue, 01 Jul 2025 10:00:00 GMT"})
    start(worker, site.url())
    run(worker)
    again(worker)
    assert site.log[-1].headers["If-Modified-Since"] == "Tue, 01 Jul 2025 10:00:00 GMT"


def test_a_changed_page_comes_back_sooner_and_its_new_links_are_followed(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/a", text="before"), "/a": html(), "/b": html()}
    start(worker, site.url())
    run(worker)
    site.pages["/"] = html("/a", "/b", text="after")
    again(worker, after_s=DAY_S)
    assert interval(worker, site.url()) < 0.7 * DAY_S
    assert site.pages_asked.count("/b") == 1
    (row,) = sql(
        worker.engine,
        "SELECT changed_at = fetched_at AS now, first_fetched_at < fetched_at AS later FROM pages WHERE url = :u",
        u=site.url(),
    )
    assert row == {"now": True, "later": True}


def test_a_change_of_markup_alone_is_no_change(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html(text="the same words")
    start(worker, site.url())
    run(worker)
    site.pages["/"] = html(text="the same words", head="<!-- 2026 --><meta name=x content=y>")
    again(worker, after_s=DAY_S)
    assert interval(worker, site.url()) > 1.2 * DAY_S


# rounds, days between them → days of the interval
@pytest.mark.parametrize(("rounds", "days", "grown"), [(1, 1, 1.27), (2, 1, 1.44), (12, 9_000, 43)])
def test_the_interval_grows_within_bounds(worker: Worker, web: Web, rounds: int, days: float, grown: float) -> None:
    site = web.site()
    site.pages["/"] = html(headers={"ETag": '"same"'})
    start(worker, site.url())
    run(worker)
    for _ in range(rounds):
        again(worker, after_s=days * DAY_S)
    assert interval(worker, site.url()) == pytest.approx(grown * DAY_S, rel=0.1)


def test_a_round_starts_the_counts_anew_and_the_log_goes_on(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/a"), "/a": html()}
    start(worker, site.url())
    run(worker)
    again(worker)
    (row,) = sql(worker.engine, "SELECT round, pages, fetches FROM v_crawl_progress")
    assert row == {"round": 2, "pages": 2, "fetches": 2}
    assert one(worker.engine, "SELECT count(*) FROM fetches WHERE kind = 'page'") == 4


def test_a_crawl_that_keeps_fresh_fetches_what_is_due_by_itself(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/a", headers={"ETag": '"e"'}), "/a": html()}
    start(worker, site.url(), keep_fresh=True)
    go(worker)
    sql(worker.engine, "UPDATE urls SET due_at = now() WHERE url = :u", u=site.url())
    assert promote(worker.engine) == 1
    go(worker)
    assert Counter(site.pages_asked) == {"/": 2, "/a": 1}
    assert one(worker.engine, "SELECT state FROM crawls") == "active"


def test_an_alias_by_redirect_is_looked_at_again_in_a_round(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": redirect("/new"), "/new": html()}
    start(worker, site.url())
    run(worker)
    site.pages["/"] = html(text="a page of its own now")
    again(worker)
    found = url(worker.engine, site.url())
    assert (found["state"], found["alias_of"]) == ("resting", None)


@pytest.mark.parametrize(
    ("validators", "batch"),
    [
        (True, 1),
        (True, 50),
        (False, 1),
        pytest.param(
            False,
            50,
        ),
    ],
)
@pytest.mark.parametrize("rounds", [1, 2])
def test_a_document_keeps_one_home_round_after_round(
    make: Callable[..., Worker], web: Web, rounds: int, validators: bool, batch: int
) -> None:
    worker = make(settle_urls=batch)
    site = web.site()
    twin = html("/x", text="the very same " * 20, headers={"ETag": '"twin"'} if validators else {})
    site.pages |= {"/": html("/1", "/2"), "/1": twin, "/2": twin, "/x": html()}
    start(worker, site.url())
    run(worker)
    before = sql(worker.engine, "SELECT url, state, alias_of FROM urls ORDER BY url")
    for _ in range(rounds):
        again(worker)
    after = sql(worker.engine, "SELECT url, state, alias_of FROM urls ORDER BY url")
    assert [row["state"] for row in after].count("alias") == 1
    assert after == before


def test_a_twin_that_changed_is_a_document_of_its_own_again(worker: Worker, web: Web) -> None:
    site = web.site()
    twin = html(text="the very same " * 20)
    site.pages |= {"/": html("/1", "/2"), "/1": twin, "/2": twin}
    start(worker, site.url())
    run(worker)
    (alias,) = sql(worker.engine, "SELECT url FROM urls WHERE state = 'alias'")
    path = "/" + alias["url"].rsplit("/", 1)[1]
    site.pages[path] = html("/new", text="something else " * 20)
    site.pages["/new"] = html()
    again(worker)
    assert url(worker.engine, alias["url"])["state"] == "resting"
    assert "/new" in site.pages_asked


def test_a_gone_page_that_returns_is_a_page_again(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/x"), "/x": Answer(status=410)}
    start(worker, site.url())
    run(worker)
    site.pages["/x"] = html("/y")
    again(worker)
    assert url(worker.engine, site.url("/x"))["state"] == "resting"
    assert "/y" in site.pages_asked


def exported(worker: Worker, folder: Path, **wish: Any) -> dict[str, tuple[str, bool]]:
    """By path: state, and whether there is a `gone_at`."""
    place = folder / "pages.jsonl"
    export_rows(worker.engine, worker.settings, ExportWish(what="pages", crawl="c", to=str(place), **wish))
    rows = map(json.loads, place.read_text().splitlines())
    return {urlsplit(row["url"]).path: (row["state"], row["gone_at"] is not None) for row in rows}


def test_what_is_gone_is_said_and_left_out_of_exports(worker: Worker, web: Web, tmp_path: Path) -> None:
    """A page that failed in another way is still there; one that is gone says since when, until it returns."""
    site = web.site()
    site.pages |= {"/": html("/x", "/y", "/z"), **{path: html(text=path * 30) for path in ("/x", "/y", "/z")}}
    start(worker, site.url())
    run(worker)
    began = sql(worker.engine, "SELECT clock_timestamp() AS at")[0]["at"]
    there = ("done", False)
    site.pages |= {"/x": Answer(status=410), "/y": Answer(status=404), "/z": Answer(status=403)}
    again(worker)
    assert exported(worker, tmp_path) == {"/": there, "/y": there, "/z": there}
    again(worker)
    since = url(worker.engine, site.url("/y"))["gone_at"]
    assert exported(worker, tmp_path) == {"/": there, "/z": there}
    assert exported(worker, tmp_path, where=("state=gone",)) == {"/x": ("gone", True), "/y": ("gone", True)}
    assert exported(worker, tmp_path, since=began)["/x"] == ("gone", True), "an increment has a tombstone"
    again(worker)
    assert url(worker.engine, site.url("/y"))["gone_at"] == since, "it was looked at again, and is gone since then"
    site.pages["/y"] = html(text="back")
    again(worker)
    assert exported(worker, tmp_path)["/y"] == there


def test_a_page_that_moved_is_gone_from_its_url_and_at_home_at_the_other(
    worker: Worker, web: Web, tmp_path: Path
) -> None:
    """For good at once, for now when the next round says so too; until it is a page again."""
    site, there = web.site(), ("done", False)
    site.pages |= {"/": html("/x", "/y", "/z"), **{path: html(text=path * 30) for path in ("/x", "/y")}}
    site.pages["/z"] = redirect("/y", 301)
    start(worker, site.url())
    run(worker)
    site.pages |= {"/x": redirect("/new/x", 301), "/y": redirect("/new/y", 302), "/new/y": html(text="Sign in.")}
    site.pages["/new/x"] = html(text="/x" * 30)
    again(worker)
    assert exported(worker, tmp_path) == {"/": there, "/y": there, "/new/x": there, "/new/y": there}
    assert url(worker.engine, site.url("/new/x"))["alias_of"] is None, "the text is at home there, not a copy"
    assert url(worker.engine, site.url("/z"))["gone_at"] is None, "it never was a page"
    again(worker)
    assert exported(worker, tmp_path) == {"/": there, "/new/x": there, "/new/y": there}
    assert exported(worker, tmp_path, where=("state=gone",)) == {"/x": ("gone", True), "/y": ("gone", True)}
    site.pages["/y"] = html(text="back")
    again(worker)
    assert exported(worker, tmp_path)["/y"] == there


def test_a_page_that_moves_to_one_of_the_same_settle_is_at_home_there(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/x", "/new/x"), "/x": html(text="x" * 30), "/new/x": html(text="Soon.")}
    start(worker, site.url())
    run(worker)
    began = sql(worker.engine, "SELECT clock_timestamp() AS at")[0]["at"]
    site.pages |= {"/new/x": site.pages["/x"], "/x": redirect("/new/x", 308)}
    again(worker)
    assert (url(worker.engine, site.url("/x"))["state"], url(worker.engine, site.url("/new/x"))["state"]) == (
        "alias",
        "resting",
    )
    assert sql(worker.engine, "SELECT count(*) AS n FROM duplicates")[0]["n"] == 0
    with worker.engine.connect() as tx:
        assert crawl_rows.brought(tx, 1, since=began).gone == 1


def test_a_round_with_the_worker_that_knows_every_key_misses_nothing(make: Callable[..., Worker], web: Web) -> None:
    """Known keys say that a row is there, not that it needs no fetch."""
    worker = make()
    site = web.site()
    site.pages |= {"/": html(*(f"/{number}" for number in range(9))), **{f"/{number}": html() for number in range(9)}}
    start(worker, site.url())
    run(worker)
    again(worker)
    assert Counter(site.pages_asked) == dict.fromkeys(site.pages, 2)


def test_validators_of_a_page_that_is_now_an_error_are_kept(worker: Worker, web: Web) -> None:
    site = web.site()
    page = html(headers={"ETag": '"e"'})
    answers: list[Answer] = [page, Answer(status=404), page]
    asked: list[str | None] = []

    def one_by_one(hit: Hit) -> Answer:
        asked.append(hit.headers["If-None-Match"])
        return answers.pop(0)

    site.pages["/"] = one_by_one
    start(worker, site.url())
    run(worker)
    again(worker)
    again(worker)
    assert asked == [None, '"e"', '"e"']
    assert url(worker.engine, site.url())["outcome"] == "unchanged"


@pytest.mark.parametrize(("chars", "is_sent"), [(1_024, True), (1_025, False), (20_000, False)])
def test_a_validator_that_servers_would_refuse_is_not_sent(worker: Worker, web: Web, chars: int, is_sent: bool) -> None:
    """Nor are 60 kB of header kept with each request, which a site could fill a disk with."""
    site = web.site()
    etag = '"' + "e" * (chars - 2) + '"'
    headers = {"ETag": etag, "Location": "/" + "l" * chars, "Content-Type": "text/html; x=" + "t" * chars}
    asked: list[str | None] = []

    def note(hit: Hit) -> Answer:
        asked.append(hit.headers["If-None-Match"])
        return html(headers=headers)

    site.pages["/"] = note
    start(worker, site.url())
    run(worker)
    again(worker)
    assert asked == [None, etag if is_sent else None]
    kept = sql(worker.engine, "SELECT etag, location, content_type FROM fetches WHERE kind = 'page'")
    assert all(len(value or "") <= 2_083 for row in kept for value in row.values())
    assert len(url(worker.engine, site.url())["etag"] or "") <= 1_024
    assert one(worker.engine, "SELECT max(length(content_type)) FROM pages") <= 2_083
