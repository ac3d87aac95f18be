"""Who waits leaves its seat at the interpreter: for the start, a name, the answer; and it computes in one."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from sqlalchemy import event

from app.crawl.request.slots import NAME_S
from app.crawl.state.worker import Worker
from app.features.archive.keep import ARCHIVE
from app.model import Whereabouts
from app.runtime.memory_gate import BYTES_PER_BYTE, SMALL_BYTES, MemoryGate
from app.runtime.seats import Seats
from tests.crawl.ahead import Ahead, ahead
from tests.crawl.archiving import Archiving
from tests.crawl.loop import run, start
from tests.crawl.page.test_sitemaps import urlset
from tests.crawl.web import Web, html
from tests.store.statements import statements

Seen = list[tuple[str, bool]]


def noting(seen: Seen, worker: Worker, what: str, act: Callable[..., Any]) -> Callable[..., Any]:
    """The function; whether the thread that calls it has a seat is noted."""

    def noted(*args: Any, **kwargs: Any) -> Any:
        seen.append((what, worker.stays.seats.has_one))
        return act(*args, **kwargs)

    return noted


class NotedSeats(Seats):
    """Seats whose takings are noted."""

    def __init__(self, seen: Seen) -> None:
        super().__init__()
        self._seen = seen

    def _take(self) -> None:
        self._seen.append(("take", self.has_one))
        super()._take()


class NotedGate(MemoryGate):
    """Room for one document, which another has; it leaves when it is waited for. The waits and readings are noted."""

    def __init__(self, seen: Seen, seats: Seats) -> None:
        super().__init__(most_bytes=2 * BYTES_PER_BYTE * SMALL_BYTES)
        self._seen, self._seats = seen, seats
        self._other = super().reading(b"x" * SMALL_BYTES, may_wait=lambda: True)
        self._other.__enter__()

    @contextmanager
    def reading(
        self,
        body: bytes,
        *,
        may_wait: Callable[[], bool],
        waits: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Iterator[bool]:
        def asked() -> bool:
            self._seen.append(("room", self._seats.has_one))
            self._other.__exit__(None, None, None)
            return may_wait()

        with super().reading(body, may_wait=asked, waits=waits) as has_room:
            self._seen.append(("read", self._seats.has_one))
            yield has_room


class NotedClock(Ahead):
    """A clock whose waits are noted."""

    def __init__(self, seen: Seen, seats: Seats) -> None:
        super().__init__()
        self._seen, self._seats = seen, seats

    def wait(self, timeout: float | None = None) -> bool:
        self._seen.append(("start", self._seats.has_one))
        return super().wait(timeout)


class Instead:
    """Something else, but for what is given."""

    def __init__(self, other: object, **given: object) -> None:
        self._other = other
        vars(self).update(given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._other, name)


def test_a_visit_computes_in_its_seat_and_leaves_it_while_it_waits(make: Callable[..., Worker], web: Web) -> None:
    site, seen = web.site(), Seen()
    site.pages |= {"/": html("/1"), "/1": html(text="The other.")}
    made, seats = make(default_delay_s=0.2, linger_s=1.0, address_gap_s=0.01), NotedSeats(seen)
    made = replace(
        made,
        stays=replace(made.stays, seats=seats),
        reading=replace(made.reading, memory_gate=NotedGate(seen, seats)),
    )
    worker = ahead(made, NotedClock(seen, seats))
    send, where = worker.send, worker.where
    assert where is not None
    worker = replace(worker, send=noting(seen, worker, "send", send), where=noting(seen, worker, "where", where))
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


def test_a_seat_is_left_while_a_document_waits_for_room_in_memory(make: Callable[..., Worker], web: Web) -> None:
    site, seen, worker = web.site(), Seen(), make()
    site.pages["/"] = html(text="x" * SMALL_BYTES)
    worker = replace(worker, reading=replace(worker.reading, memory_gate=NotedGate(seen, worker.stays.seats)))
    start(worker, site.url())
    with worker.stays.seats.taken():
        run(worker)
    assert seen == [("room", False), ("read", True)]


def test_a_seat_is_left_while_the_archive_is_synced(archiving: Archiving, web: Web) -> None:
    site, seen, worker = web.site(), Seen(), archiving.worker
    site.pages["/"] = html()
    keeper = Instead(archiving.keeper, sync=noting(seen, worker, "sync", archiving.keeper.sync))
    worker = replace(worker, resources={ARCHIVE: keeper})
    start(worker, site.url())
    with worker.stays.seats.taken():
        run(worker)
        assert worker.stays.seats.has_one
    assert set(seen) == {("sync", False)}


def test_a_seat_is_left_while_a_chunk_of_a_sitemap_is_written(worker: Worker, web: Web) -> None:
    """And it is taken again after the commit: who waits for it holds no locks."""
    site, seen = web.site(), Seen()
    site.robots = f"User-agent: *\nAllow: /\nSitemap: {site.url('/map.xml')}\n"
    site.pages |= {"/": html(), "/1": html(), "/map.xml": urlset(site.url("/1"))}
    seats = NotedSeats(seen)
    worker = replace(worker, stays=replace(worker.stays, seats=seats))
    start(worker, site.url(), sitemaps="declared")
    event.listen(worker.engine, "commit", lambda _: seen.append(("commit", seats.has_one)))

    def note(statement: str) -> None:
        for what, begins in (("note", "INSERT INTO sitemaps"), ("chunk", "INSERT INTO urls (")):
            if statement.startswith(begins):
                seen.append((what, seats.has_one))

    with seats.taken(), statements(worker.engine, note):
        run(worker)
    chunk = seen.index(("chunk", False))
    assert seen[chunk + 1 : chunk + 3] == [("commit", False), ("take", False)]
    assert [has_one for what, has_one in seen if what == "note"] == [False, False]
