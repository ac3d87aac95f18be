"""Writes a site's word into every column that the network can fill, by the functions that fill it."""

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, text

from app.features.changes import rows as changes
from app.features.changes import webhooks
from app.features.changes.rows import Cursor, EventPlace
from app.features.changes.webhooks import DueWebhook, NewWebhook
from app.features.links import part as links
from app.features.rights import rows as rights
from app.features.rights import rsl
from app.features.rights.purpose import UNREAD
from app.features.rights.rsl import Content, Licence
from app.features.search import rows as search
from app.model import Capture, Cause, Origin, Rest, RestReason, VisitEnding
from app.model.handler import HandlerSpec
from app.policy.tdm import Signal
from app.store import (
    budgets,
    captures,
    extractions,
    fetches,
    hosts,
    items,
    operator_log,
    pages,
    renders,
    robots,
    segments,
    sitemaps,
    suppressions,
    urls,
    visits,
)
from app.store.budgets import Budget, BudgetKind
from app.store.pages import DroppedPage
from app.store.robots import Fetched
from tests.store.rows import admission, result

NOW = datetime(2026, 11, 23, tzinfo=UTC)


def write(tx: Connection, word: str, host_id: int, crawl_id: int) -> None:
    """The word, in all rows. The crawl keeps its words for searches."""
    page = {"host_id": host_id, "crawl_id": crawl_id, "key": b"k"}
    _host(tx, word, host_id)
    _frontier(tx, word, host_id, crawl_id)
    _robots(tx, word, host_id)
    _page(tx, word, page)
    _render(tx, word, page)
    _log(tx, word, host_id)
    _archive(tx, word, page)
    _extraction(tx, word, page)
    _rights(tx, word, page)
    _order(tx, word)
    _changes(tx, word, host_id, crawl_id)


def _rights(tx: Connection, word: str, page: dict[str, Any]) -> None:
    contents = rsl.as_rows([Content(url=word, server=word, licences=[Licence(permits=[word], payment=word)])])
    rights.keep_licences(tx, [{"url": word, "contents": contents, "problem": word, "status": 200, "at": NOW}])
    said = [
        Signal(source=word, name="search", reserved=True, value=word),
        Signal(source=word, name=UNREAD, reserved=False, value=word),
    ]
    where = {"host_id": page["host_id"], "crawl_id": page["crawl_id"], "url": word}
    rights.keep(tx, [{**where, "key": b"k", "statements": said, "is_confirmed": False}])  # type: ignore[typeddict-item]
    rights.withdraw(tx, [{**where, "key": b"withdrawn", "words": word}])  # type: ignore[typeddict-item]


def _host(tx: Connection, word: str, host_id: int) -> None:
    hosts.ensure(tx, rows=[{"name": f"h{word}", "domain": word, "queue": "host-00"}], delay_s=1.0)
    hosts.block(tx, host_id=host_id, rest_s=1.0, why=Rest(RestReason.OTHER, word))
    budget = Budget(BudgetKind.DOMAIN, word, 1.0)
    budgets.reserve(tx, [budget], budgets.StartTerms(host_id, 0.0, 1.0))
    budgets.refused(tx, budget, because=word, base_s=1.0, max_s=1.0)


def _frontier(tx: Connection, word: str, host_id: int, crawl_id: int) -> None:
    page = admission(
        host_id,
        crawl_id,
        "/border",
        cause=Cause.ROBOTS,
        found_on=word,
        url=f"http://h/{word}",
        linked=word,
        state="refused",
    )
    urls.admit(tx, [page])
    known = admission(host_id, crawl_id)
    told = dict.fromkeys(("etag", "last_modified", "detail", "directives", "opt_out", "alias_of"), word)
    urls.record(tx, [result(known, "resting", due_s=1.0, **told)])
    urls.give_up(tx, host_id=host_id, state="quarantined", cause=Cause.OTHER, detail=word, prefix=word)
    suppressions.note(
        tx,
        [{"crawl_id": crawl_id, "key": b"k", "reason": "scope", "url": word, "detail": word, "found_on": word}],
    )
    sitemaps.note(tx, sitemaps.ReadSitemap(host_id, crawl_id, b"k", word, "urlset", 1, word))


def _robots(tx: Connection, word: str, host_id: int) -> None:
    for is_confirmed in (False, True, False):
        robots.store(tx, [(host_id, Origin("http", "h", 80), _fetched(word, revalidated=is_confirmed))])


def _fetched(word: str, **changes: Any) -> Fetched:
    values: dict[str, Any] = {
        "at": NOW,
        "availability": "available",
        "revalidated": False,
        "status": 200,
        "detail": word,
        "body": b"",
        "etag": word,
        "last_modified": word,
        "fresh_s": 1.0,
        "failures": 0,
        "crawl_delay_raw": word,
        "crawl_delay_s": None,
        "sitemaps": (word, "http://h/s.xml"),
    }
    return Fetched(**values | changes)


def _page(tx: Connection, word: str, page: dict[str, Any]) -> None:
    row: dict[str, Any] = dict.fromkeys(pages.PageRow.__annotations__, word)
    row |= {**page, "status": 200, "body_sha256": b"b", "published_at": None, "modified_at": None}
    row |= {"published_on": None, "modified_on": None, "data": {word: [word]}, "links_cut": False}
    row |= {"charset": "utf-8", "text_sha256": b"t", "body_bytes": 1, "truncated": False, "links": 0, "depth": 0}
    row |= {"rendered": False, "awaits": False, "changed": False, "reader": 2}
    pages.keep(tx, [row])  # type: ignore[list-item]

    pages.revise(tx, [{**page, "directives": word, "opt_out": word, "noarchive": False}])  # type: ignore[typeddict-item]
    pages.note_duplicates(tx, [{**page, "url": word, "kind": "body", "of_url": word}])
    links.keep(tx, [{**page, "url": word, "links": [{"to": word, "anchor": word, "rel": word}]}])  # type: ignore[typeddict-item]
    indexed = search.index_some(tx, crawl_id=page["crawl_id"], n=10, stemmers={})
    assert indexed.put == 1, "the page has words of its own"


def _render(tx: Connection, word: str, page: dict[str, Any]) -> None:
    """A page that a browser is to open, and how it failed."""
    digest = sha256(b"").digest()
    row = {**page, "url": word, "pattern": "/w", "evidence": {"text": word}, "status": 200}
    queued = row | {"headers": {"link": word}, "body": b"", "body_sha256": digest}
    renders.queue(tx, [queued], ttl_s=0.0)  # type: ignore[list-item]
    ended: dict[str, Any] = dict.fromkeys(renders.RenderEnd.__annotations__)
    ended |= {
        **page,
        "body_sha256": digest,
        "state": "due",
        "attempts": 1,
        "takes": 0,
        "cause": word,
        "refused": {"robots": 1},
    }
    renders.end(tx, [ended])  # type: ignore[list-item]


def _log(tx: Connection, word: str, host_id: int) -> None:
    request: dict[str, Any] = dict.fromkeys(fetches.Fetch.__annotations__)
    request |= dict.fromkeys(
        ("url", "detail", "location", "retry_after", "content_type", "etag", "last_modified"), word
    )
    request |= {"host_id": host_id, "visit_id": 1, "anchor": NOW, "url_key": b"k", "kind": "page", "reason": "new"}
    request |= {"start_s": 0.0, "end_s": 1.0, "delay_s": 1.0, "outcome": "page", "wire_bytes": 0, "body_bytes": 0}
    request |= {"truncated": False, "total_ms": 1.0, "conditional": False, "attempt": 1}
    fetches.log(tx, [request])  # type: ignore[list-item]
    visit_id = tx.execute(
        text("INSERT INTO visits (host_id, token, queue, worker, taken_at) VALUES (1, :t, 'q', 'w', :at) RETURNING id"),
        {"t": UUID(int=1), "at": NOW},
    ).scalar_one()
    visits.close(tx, [{"id": visit_id, "taken_at": NOW, "ending": VisitEnding.RESTS, "detail": word, "fetches": 0}])


def _archive(tx: Connection, word: str, page: dict[str, Any]) -> None:
    row: dict[str, Any] = dict.fromkeys(Capture._fields)
    row |= {**page, "url": word, "content_type": word, "fetched_at": NOW, "kind": "page", "status": 200}
    row |= {"body_bytes": 1, "truncated": False, "segment_id": 1, "at_offset": 0, "length": 1}
    captures.add(tx, [Capture(**row)])
    segments.note_node(
        tx, node="n", place="/archive", free_bytes=1, waiting_bytes=0, stopped_because=word, trouble=word
    )


def _extraction(tx: Connection, word: str, page: dict[str, Any]) -> None:
    due = extractions.DuePage(**page, url=word, capture_id=1, body_sha256=None)
    extractions.due(tx, [due], [HandlerSpec(name="titles")])
    row: dict[str, Any] = {**page, "handler": "titles", "capture_id": 1, "version": 1}
    ending = {**row, "state": "failed", "attempts": 1, "cause": word, "traceback": word, "took_ms": 1.0}
    ending |= {"items": 1, "links": 1, "would_follow": [{"to": word, "anchor": word}], "due_s": None}
    held = extractions.hold(tx, [ending])  # type: ignore[list-item]
    extractions.end(tx, [ending])  # type: ignore[list-item]
    item = {"title": word, word: {"deep": [word, 1]}}
    items.replace(tx, held, [{**row, "n": 0, "url": word, "item": item}])  # type: ignore[typeddict-item]


def _changes(tx: Connection, word: str, host_id: int, crawl_id: int) -> None:
    known = admission(host_id, crawl_id)
    changes.dropped(tx, [DroppedPage(host_id, crawl_id, known["key"], word)])
    begin = Cursor("", EventPlace(0, 0))
    webhook_id = webhooks.add(tx, NewWebhook(crawl_id, "http://h/", "", None, None), begin)
    assert webhook_id is not None
    (made,) = webhooks.listed(tx)
    due = DueWebhook(
        webhook_id, crawl_id, made.crawl, made.url, "", None, None, made.xid, made.at_id, "", 0, made.next_try_at
    )
    webhooks.failed(tx, due, word, rest_s=1.0)


def _order(tx: Connection, word: str) -> None:
    """An order about a host of any name, given by who a proxy says."""
    id = operator_log.begin(tx, who=word, face=word, act=word, subject=word, detail=word)
    operator_log.end(tx, id=id, failed=True, outcome=word)
