"""Who waits leaves its seat at the interpreter: for the start, a name, the answer; and it computes in one."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event

from app.crawl.page import isolation
from app.crawl.request.slots import NAME_S
from app.crawl.state.worker import Worker
from app.model import Whereabouts
from app.parse.html.html import read
from app.runtime.memory_gate import SMALL_BYTES, MemoryGate
from app.runtime.seats import Seats
from app.store import sitemaps
from tests.crawl.ahead import ahead
from tests.crawl.archiving import Archiving
from tests.crawl.loop import run, start
from tests.crawl.page.test_sitemaps import urlset
from tests.crawl.web import Web, html

Seen = list[tuple[str, bool]]


def noting(seen: Seen, worker: Worker, what: str, act: Callable[..., Any]) -> Callable[..., Any]:
    """The function; whether the thread that calls it has a seat is noted."""

    def noted(*args: Any, **kwargs: Any) -> Any:
        seen.append((what, worker.stays.seats.has_one))
        return act(*args, **kwargs)

    return noted


def test_a_visit_computes_in_its_seat_and_leaves_it_while_it_waits(
    make: Callable[..., Worker], web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, seen = web.site(), Seen()
    site.pages |= {"/": html("/1"), "/1": html(text="The other.")}
    worker = ahead(make(default_delay_s=0.2, linger_s=1.0, address_gap_s=0.01))
    send, where = worker.send, worker.where
    assert where is not None
    worker = replace(worker, send=noting(seen, worker, "send", send), where=noting(seen, worker, "where", where))
    monkeypatch.setattr(worker.stopping, "wait", noting(seen, worker, "start", worker.stopping.wait))
    monkeypatch.setattr(Seats, "_take", noting(seen, worker, "take", vars(Seats)["_take"]))
    monkeypatch.setattr(isolation, "read_html", noting(seen, worker, "read", read))
    start(worker, site.url())
    with worker.stays.seats.taken():
        run(worker)
        assert worker.stays.seats.has_one
    assert set(seen) == {("send", False), ("where", True), ("start", False), ("take", False), ("read", True)}
    after_start = {after for (what, _), (after, _) in itertools.pairwise(seen) if what == "start"}
    assert after_start == {"send"}, "no seat is waited for between a start and its request"


def test_a_seat_is_left_for_a_name_that_has_to_be_looked_up(make: Callable[..., Worker], web: Web) -> None:
    site, asked, was_looked_up = web.site(), list[tuple[float, bool]](), False
    worker = make(address_gap_s=0.01)
    sender_where = worker.where
    assert sender_where is not None

    def where(url: str, prefer: str | None, timeout_s: float) -> Whereabouts:
        nonlocal was_looked_up
        asked.append((timeout_s, worker.stays.seats.has_one))
        was_looked_up |= timeout_s > 0
        return sender_where(url, prefer, timeout_s) if was_looked_up else Whereabouts(addresses=(), dns_ms=0.0)

    worker = replace(worker, where=where)
    start(worker, site.url())
    with worker.stays.seats.taken():
        run(worker)
    assert asked[:2] == [(0.0, True), (NAME_S, False)]
    assert set(asked[2:]) == {(0.0, True)}, "and none for one that is remembered"
    assert "/" in site.paths


def test_a_seat_is_left_while_a_document_waits_for_room_in_memory(
    make: Callable[..., Worker], web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, seen, worker = web.site(), Seen(), make()
    site.pages["/"] = html(text="x" * SMALL_BYTES)
    monkeypatch.setattr(MemoryGate, "_has_entered", lambda *_: False)
    monkeypatch.setattr(MemoryGate, "_enter", noting(seen, worker, "room", vars(MemoryGate)["_enter"]))
    monkeypatch.setattr(isolation, "read_html", noting(seen, worker, "read", read))
    start(worker, site.url())
    with worker.stays.seats.taken():
        run(worker)
    assert seen == [("room", False), ("read", True)]


def test_a_seat_is_left_while_the_archive_is_synced(
    archiving: Archiving, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, seen, worker = web.site(), Seen(), archiving.worker
    site.pages["/"] = html()
    monkeypatch.setattr(archiving.keeper, "sync", noting(seen, worker, "sync", archiving.keeper.sync))
    start(worker, site.url())
    with worker.stays.seats.taken():
        run(worker)
        assert worker.stays.seats.has_one
    assert set(seen) == {("sync", False)}


def test_a_seat_is_left_while_a_chunk_of_a_sitemap_is_written(
    worker: Worker, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it is taken again after the commit: who waits for it holds no locks."""
    site, seen = web.site(), Seen()
    site.robots = f"User-agent: *\nAllow: /\nSitemap: {site.url('/map.xml')}\n"
    site.pages |= {"/": html(), "/1": html(), "/map.xml": urlset(site.url("/1"))}
    monkeypatch.setattr(sitemaps, "claim", noting(seen, worker, "chunk", sitemaps.claim))
    monkeypatch.setattr(sitemaps, "note", noting(seen, worker, "note", sitemaps.note))
    monkeypatch.setattr(Seats, "_take", noting(seen, worker, "take", vars(Seats)["_take"]))
    start(worker, site.url(), sitemaps="declared")
    event.listen(worker.engine, "commit", lambda _: seen.append(("commit", worker.stays.seats.has_one)))
    with worker.stays.seats.taken():
        run(worker)
    chunk = seen.index(("chunk", False))
    assert seen[chunk + 1 : chunk + 3] == [("commit", False), ("take", False)]
    assert [has_one for what, has_one in seen if what == "note"] == [False, False]
