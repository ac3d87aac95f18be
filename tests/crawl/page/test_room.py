"""A large document waits for room in memory, and its visit keeps its lease meanwhile."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

import pytest

from app.crawl.page import isolation
from app.crawl.state import visit as state_visit
from app.crawl.state.lease import LEASE_MARGIN_S, Lease
from app.crawl.state.worker import Worker
from app.errors import LeaseLost, ServiceError
from app.model import Page
from app.parse.html.html import read
from app.runtime.memory_gate import BYTES_PER_BYTE, SMALL_BYTES, MemoryGate
from tests.crawl.loop import run, start
from tests.crawl.web import Web, html
from tests.store.rows import sql

OTHERS = b"x" * SMALL_BYTES
ROOM_FOR_ONE = 2 * BYTES_PER_BYTE * SMALL_BYTES  # with its markup, not for two


class Rooms:
    """A worker whose room is taken, and what happens until its document is read. Little is left of its lease when it
    waits, and the others leave the room when it may.

    answers    whether it may, and seconds that are left of its lease then
    was_taken  whether the room was taken when it was read, once for each reading
    """

    def __init__(self, worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
        gate, others = MemoryGate(most_bytes=ROOM_FOR_ONE), ExitStack()
        others.enter_context(gate.reading(OTHERS, may_wait=lambda: True))
        self.worker = replace(worker, reading=replace(worker.reading, memory_gate=gate))
        self.answers: list[tuple[bool, float]] = []
        self.was_taken: list[bool] = []
        self.is_taken = True
        may_wait = isolation.may_wait_for_room

        def asked(worker: Worker, lease: Lease, until: float) -> bool:
            lease.ends = lease.now() + LEASE_MARGIN_S
            answer = may_wait(worker, lease, until)
            self.answers.append((answer, lease.left_s()))
            if answer:
                others.close()
                self.is_taken = False
            return answer

        def reads(*args: object, **options: object) -> Page:
            self.was_taken.append(self.is_taken)
            return read(*args, **options)  # type: ignore[arg-type]  # as it was called

        monkeypatch.setattr(isolation, "may_wait_for_room", asked)
        monkeypatch.setattr(isolation, "read_html", reads)


@pytest.fixture
def rooms(make: Callable[..., Worker], web: Web, monkeypatch: pytest.MonkeyPatch) -> Rooms:
    site, found = web.site(), Rooms(make(), monkeypatch)
    site.pages["/"] = html(text="x" * SMALL_BYTES)
    start(found.worker, site.url())
    return found


def test_its_lease_is_extended_while_it_waits(rooms: Rooms) -> None:
    run(rooms.worker)
    ((may_wait, left_s),) = rooms.answers
    assert may_wait
    assert left_s > LEASE_MARGIN_S + 1
    assert rooms.was_taken == [False]


@pytest.mark.parametrize("error", [LeaseLost("the host"), ServiceError("Postgres", "start it")])
def test_it_is_read_at_once_where_its_lease_cannot_be_kept(
    rooms: Rooms, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def extend(worker: Worker, lease: Lease) -> None:
        raise error

    asked = isolation.may_wait_for_room

    def fails(worker: Worker, lease: Lease, until: float) -> bool:
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(state_visit, "extend", extend)
            return asked(worker, lease, until)

    monkeypatch.setattr(isolation, "may_wait_for_room", fails)
    run(rooms.worker)
    ((may_wait, _),) = rooms.answers
    assert not may_wait
    assert rooms.was_taken == [True]


def test_it_waits_no_longer_than_a_request_may_take(rooms: Rooms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "ROOM_PATIENCE_S", 0.0)
    run(rooms.worker)
    assert [may_wait for may_wait, _ in rooms.answers] == [False]
    assert rooms.was_taken == [True]


def test_one_that_is_too_large_for_the_room_is_read_apart(
    make: Callable[..., Worker], web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would make the worker grow by more than the room, for good."""
    here: list[int] = []

    def reads(body: bytes, **options: object) -> Page:
        here.append(len(body))
        return read(body, **options)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(isolation, "read_html", reads)
    made, site = make(), web.site()
    worker = replace(made, reading=replace(made.reading, memory_gate=MemoryGate(most_bytes=ROOM_FOR_ONE)))
    site.pages |= {"/": html("/large", text="small"), "/large": html(text="large " * SMALL_BYTES)}
    start(worker, site.url())
    run(worker)
    kept = {row["url"]: row["chars"] for row in sql(worker.engine, TEXTS)}
    assert kept == {site.url("/"): len("small"), site.url("/large"): len("large " * SMALL_BYTES) - 1}
    assert [size for size in here if size > SMALL_BYTES] == []


TEXTS = "SELECT url, length(main_text) AS chars FROM pages"
