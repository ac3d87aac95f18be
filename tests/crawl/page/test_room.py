"""A large document waits for room in memory, and its visit keeps its lease meanwhile."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine

from app.config.settings import LEASE_MARGIN_S
from app.crawl.state.lease import Lease
from app.crawl.state.worker import Worker
from app.model import Page
from app.runtime.memory_gate import BYTES_PER_BYTE, SMALL_BYTES, MemoryGate
from tests.crawl.loop import run, start
from tests.crawl.web import Web, html
from tests.store.rows import one, sql

OTHERS = b"x" * SMALL_BYTES
ROOM_FOR_ONE = 2 * BYTES_PER_BYTE * SMALL_BYTES  # with its markup, not for two


class Crowded(MemoryGate):
    """Its room is taken. Little is left of the lease of a visit when it waits, and the others leave when it may.

    leases     of the worker
    meanwhile  a context around the question whether it may
    answers    whether it may, and seconds that are left of its lease then
    was_taken  whether the room was taken when it was read, once for each reading
    """

    def __init__(self, leases: Mapping[int, Lease], *, patience_s: float = 30.0) -> None:
        super().__init__(most_bytes=ROOM_FOR_ONE, patience_s=patience_s)
        self._leases, self._others = leases, ExitStack()
        self._others.enter_context(super().reading(OTHERS, may_wait=lambda: True))
        self.meanwhile: Callable[[], AbstractContextManager[None]] = nullcontext
        self.answers: list[tuple[bool, float]] = []
        self.was_taken: list[bool] = []
        self._is_taken = True

    @contextmanager
    def reading(
        self,
        body: bytes,
        *,
        may_wait: Callable[[], bool],
        waits: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Iterator[bool]:
        def asked() -> bool:
            (lease,) = self._leases.values()
            lease.ends = lease.now() + LEASE_MARGIN_S
            with self.meanwhile():
                answer = may_wait()
            self.answers.append((answer, lease.left_s()))
            if answer:
                self._others.close()
                self._is_taken = False
            return answer

        with super().reading(body, may_wait=asked, waits=waits) as has_room:
            self.was_taken.append(self._is_taken)
            yield has_room


Crowd = Callable[..., tuple[Worker, Crowded]]


@pytest.fixture
def crowd(make: Callable[..., Worker], web: Web) -> Crowd:
    """A worker whose room is taken, and a page that is too large to be read beside the others."""

    def crowd(**given: float) -> tuple[Worker, Crowded]:
        site, made = web.site(), make()
        gate = Crowded(made.stays.leases, **given)
        worker = replace(made, reading=replace(made.reading, memory_gate=gate))
        site.pages["/"] = html(text="x" * SMALL_BYTES)
        start(worker, site.url())
        return worker, gate

    return crowd


def test_its_lease_is_extended_while_it_waits(crowd: Crowd) -> None:
    worker, gate = crowd()
    run(worker)
    ((may_wait, left_s),) = gate.answers
    assert may_wait
    assert left_s > LEASE_MARGIN_S + 1
    assert gate.was_taken == [False]


@contextmanager
def another_has_the_lease(engine: Engine) -> Iterator[None]:
    token = one(engine, "SELECT lease_token FROM hosts")
    sql(engine, "UPDATE hosts SET lease_token = gen_random_uuid()")
    yield
    sql(engine, "UPDATE hosts SET lease_token = :token", token=token)


@contextmanager
def postgres_refuses(engine: Engine) -> Iterator[None]:
    sql(engine, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$")
    sql(engine, "CREATE TRIGGER refused BEFORE UPDATE ON hosts EXECUTE FUNCTION refuse()")
    try:
        yield
    finally:
        sql(engine, "DROP TRIGGER refused ON hosts")
        sql(engine, "DROP FUNCTION refuse")


@pytest.mark.parametrize("fault", [another_has_the_lease, postgres_refuses])
def test_it_is_read_at_once_where_its_lease_cannot_be_kept(
    crowd: Crowd, fault: Callable[[Engine], AbstractContextManager[None]]
) -> None:
    worker, gate = crowd()
    gate.meanwhile = lambda: fault(worker.engine)
    run(worker)
    ((may_wait, _),) = gate.answers
    assert not may_wait
    assert gate.was_taken == [True]


def test_it_waits_no_longer_than_a_request_may_take(crowd: Crowd) -> None:
    worker, gate = crowd(patience_s=0.0)
    run(worker)
    assert [may_wait for may_wait, _ in gate.answers] == [False]
    assert gate.was_taken == [True]


def test_one_that_is_too_large_for_the_room_is_read_apart(make: Callable[..., Worker], web: Web) -> None:
    """It would make the worker grow by more than the room, for good."""
    made, site, apart = make(), web.site(), list[int]()
    readers = made.reading.readers

    def page(body: bytes, *args: Any, **options: Any) -> Any:
        found = readers.page(body, *args, **options)
        assert isinstance(found, Page)
        apart.append(len(body))
        return found

    noted: Any = SimpleNamespace(page=page, patience_s=readers.patience_s)
    reading = replace(made.reading, memory_gate=MemoryGate(most_bytes=ROOM_FOR_ONE), readers=noted)
    worker = replace(made, reading=reading)
    site.pages |= {"/": html("/large", text="small"), "/large": html(text="large " * SMALL_BYTES)}
    start(worker, site.url())
    run(worker)
    kept = {row["url"]: row["chars"] for row in sql(worker.engine, TEXTS)}
    assert kept == {site.url("/"): len("small"), site.url("/large"): len("large " * SMALL_BYTES) - 1}
    assert [size > SMALL_BYTES for size in apart] == [True]


TEXTS = "SELECT url, length(main_text) AS chars FROM pages"
