"""The row of a candidate: its columns as Postgres has them afterwards."""

from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import Engine

from app.model import RequestKind, Url
from app.policy.candidate import Candidate
from app.policy.lifecycle import UrlEvent
from app.policy.url import Canon
from app.store import caps
from app.store.url_rows import admission
from tests.store.rows import admit, make_crawl, make_host, sql

LINK: dict[str, Any] = {
    "kind": RequestKind.PAGE,
    "lane": 2,
    "score": 0.25,
    "depth": 3,
    "hops": 1,
    "found_on": "http://h.test/",
}
SAME = ("lane", "score", "depth", "hops", "found_on")


def parsed(text: str) -> Url:
    url = Canon().canonicalise(text)
    assert isinstance(url, Url)
    return url


def stored(engine: Engine, url: Url, **columns: Any) -> dict[str, Any]:
    """The row in Postgres, but for what it shares with every other here."""
    crawl_id, host_id = make_crawl(engine), make_host(engine, "h.test")
    admit(engine, admission(Candidate(crawl_id, url, **{**LINK, **columns}), host_id))
    (row,) = sql(engine, "SELECT *, extract(epoch FROM due_at - admitted_at) AS due_s FROM urls")
    assert (row["host_id"], row["crawl_id"], row["key"], row["url"]) == (host_id, crawl_id, url.key, url.text)
    assert {name: row[name] for name in SAME} == {name: LINK[name] for name in SAME}
    return row


# What a candidate has besides | what its row says
@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, {"kind": "page", "state": "queued", "cause": None, "due_s": None, "sitemap_id": None, "linked": None}),
        ({"kind": RequestKind.SITEMAP}, {"kind": "sitemap", "state": "queued"}),
        ({"event": UrlEvent.DISALLOWED}, {"state": "refused", "cause": "robots.txt"}),
        ({"lastmod": "2024-05-01T00:00:00+00:00"}, {"state": "queued"}),
        ({"seen": True}, {"state": "queued"}),  # a matter of the process, not of the row
    ],
)
def test_a_candidate_becomes_a_row(engine: Engine, columns: dict[str, Any], expected: dict[str, Any]) -> None:
    row = stored(engine, parsed("http://h.test/a"), **columns)
    assert {name: row[name] for name in expected} == expected
    assert row["lastmod"] == (datetime.fromisoformat(columns["lastmod"]) if "lastmod" in columns else None)


def test_one_that_is_deferred_is_due_later(engine: Engine) -> None:
    row = stored(engine, parsed("http://h.test/a"), event=UrlEvent.DEFERRED, due_s=3_600.0)
    assert row["state"] == "resting"
    assert round(row["due_s"] / 60) == 60


def test_what_was_linked_is_kept_where_it_is_not_sent(engine: Engine) -> None:
    row = stored(engine, parsed("http://h.test/a?utm_source=x"))
    assert (row["url"], row["linked"]) == ("http://h.test/a", "/a?utm_source=x")


@pytest.mark.parametrize("reopens", [True, False])
def test_only_an_allowed_form_reopens_the_refusal_of_another(engine: Engine, reopens: bool) -> None:
    refused, allowed = parsed("http://h.test/?b=2&a=1"), parsed("http://h.test/?a=1&b=2")
    row = stored(engine, refused, event=UrlEvent.DISALLOWED)
    admit(engine, admission(Candidate(row["crawl_id"], allowed, **LINK, reopens=reopens), row["host_id"]))
    (now,) = sql(engine, "SELECT url, state FROM urls")
    assert now == ({"url": allowed.text, "state": "queued"} if reopens else {"url": refused.text, "state": "refused"})


def test_a_row_gives_way_as_its_candidate_was(engine: Engine) -> None:
    row = stored(engine, parsed("http://h.test/a"))
    with engine.begin() as tx:
        (weak,) = caps.weakest(tx, host_id=row["host_id"], n=1)
    assert (weak.crawl_id, weak.key, weak.found_on, weak.lane) == (row["crawl_id"], row["key"], LINK["found_on"], 2)
