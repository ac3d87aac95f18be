"""A process that lives and does nothing while work is due is told apart from one that is idle, busy, or without its
services."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from app.config import Settings
from app.crawl.state.lease import Lease
from app.crawl.state.setup import make_engine
from app.store import db, hosts
from tests.crawl.loop import make_settings
from tests.store.rows import clean, make_due_host, sql
from workers import watchdog
from workers.watchdog import WorkerProgress, hung_visit, why_end

QUEUES = ("host-00",)


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture
def settings(database_url: str) -> Settings:
    return make_settings(database_url, stall_s=60.0)


def offered_in_vain(engine: Engine, times: int) -> None:
    """A due host of QUEUES, offered so often that nobody took up, and once more."""
    host_id = make_due_host(engine)
    sql(engine, "UPDATE hosts SET queue = 'host-00' WHERE id = :id", id=host_id)
    for _ in range(times + 1):
        with db.transaction(engine) as tx:
            capacity = {"host-00": 10}
            assert hosts.claim_due(tx, capacity=capacity, n=10, ahead_s=0, offer_s=10, isolate=1)
        sql(engine, "UPDATE hosts SET lease_until = lease_until - interval '1 hour', next_fetch_at = now()")


def idle_for(seconds: float) -> WorkerProgress:
    return WorkerProgress(moved=time.monotonic() - seconds)


# offers in vain, idle for so many seconds, queues served, broker answers → ends
ROWS = [
    (3, 61, QUEUES, True, True),
    (3, 30, QUEUES, True, False),  # it has just done something
    (2, 61, QUEUES, True, False),  # a message can be lost
    (3, 61, ("host-01",), True, False),  # not its queues
    (3, 61, QUEUES, False, False),  # another worker would get no messages either
]


@pytest.mark.parametrize(("times", "idle_s", "queues", "broker", "ends"), ROWS)
def test_who_ends(
    engine: Engine, settings: Settings, times: int, idle_s: float, queues: tuple[str, ...], broker: bool, ends: bool
) -> None:
    offered_in_vain(engine, times)
    reason = why_end(engine, queues, idle_for(idle_s), settings, lambda: broker)
    assert (reason is not None) is ends
    assert reason is None or reason.startswith("1 host of its queues was offered 3 times in vain")


def test_the_time_begins_when_the_broker_is_back(engine: Engine, settings: Settings) -> None:
    offered_in_vain(engine, 3)
    state = idle_for(61)
    assert why_end(engine, QUEUES, state, settings, lambda: False) is None
    assert why_end(engine, QUEUES, state, settings, lambda: True) is None
    state.moved -= 61
    assert why_end(engine, QUEUES, state, settings, lambda: True)


def test_taking_up_an_offer_forgets_the_missed_ones(engine: Engine, settings: Settings) -> None:
    offered_in_vain(engine, 3)
    with db.transaction(engine) as tx:
        (offer,) = hosts.claim_due(tx, capacity={"host-00": 1}, n=1, ahead_s=0, offer_s=10, isolate=1)
        assert hosts.take_up(tx, host_id=offer.host_id, token=offer.token, worker="w:1", lease_s=60) is not None
    assert sql(engine, "SELECT offers_missed FROM hosts") == [{"offers_missed": 0}]
    assert why_end(engine, QUEUES, idle_for(100), settings, lambda: True) is None


# single active consumer, somebody serves the queue → the idle worker ends
STANDING_BY = [(True, True, False), (True, False, True), (False, True, True)]


@pytest.mark.parametrize(("is_single", "is_served", "ends"), STANDING_BY)
def test_who_stands_by_does_not_end(
    engine: Engine, settings: Settings, is_single: bool, is_served: bool, ends: bool
) -> None:
    """Offers of a queue are missed because the worker that RabbitMQ chose for it is slow: its stand-in is not to
    blame."""
    if is_served:
        taken_up(engine)
    offered_in_vain(engine, 3)
    settings = settings.model_copy(update={"single_active_consumer": is_single})
    reason = why_end(engine, QUEUES, idle_for(61), settings, lambda: True)
    assert (reason is not None) is ends


def taken_up(engine: Engine) -> None:
    """A visit to another host of QUEUES, just now."""
    host_id = make_due_host(engine, name="b.test")
    sql(engine, "UPDATE hosts SET queue = 'host-00' WHERE id = :id", id=host_id)
    with db.transaction(engine) as tx:
        (offer,) = hosts.claim_due(tx, capacity={"host-00": 1}, n=1, ahead_s=0, offer_s=10, isolate=1)
        assert hosts.take_up(tx, host_id=offer.host_id, token=offer.token, worker="w:2", lease_s=60) is not None


def test_postgres_away_is_not_its_fault(settings: Settings) -> None:
    away = make_engine(settings.model_copy(update={"database_url": "postgresql://nobody@127.0.0.1:1/none"}))
    assert why_end(away, QUEUES, idle_for(100), settings, lambda: True) is None


def test_a_visit_that_outlives_every_lease_ends_its_process(engine: Engine, settings: Settings) -> None:
    longest_s = settings.visit_max_s + settings.request_deadline_s + settings.lease_s + watchdog.GRACE_S
    now = time.monotonic()
    assert hung_visit(WorkerProgress(visits={1: (7, now - longest_s + 1)}), settings, now) is None
    hung = WorkerProgress(visits={1: (6, now), 2: (7, now - longest_s - 1)})
    assert hung_visit(hung, settings, now) == 7
    assert why_end(engine, QUEUES, hung, settings, lambda: True) == "the visit to host 7 has outlived its lease"


def test_a_visit_that_extends_its_lease_is_not_hung(settings: Settings) -> None:
    """Twenty thousand links, on a busy machine: it looks at its lease all the while."""
    longest_s = settings.visit_max_s + settings.request_deadline_s + settings.lease_s + watchdog.GRACE_S
    now = time.monotonic()
    state = WorkerProgress(visits={1: (7, now - 2 * longest_s)})
    extended = Lease(
        host_id=7,
        host="h.test",
        visit_id=1,
        token=uuid4(),
        taken_at=datetime.now(UTC),
        anchor=0.0,
        lineage=None,
        ends=1_000.0,
        monotonic=lambda: 1_000.0,
    )
    assert hung_visit(state, settings, now, {7: extended}) is None
    stuck = replace(extended, monotonic=lambda: 1_000.0 - settings.lease_s + longest_s + 1)
    assert hung_visit(state, settings, now, {7: stuck}) == 7
    assert hung_visit(state, settings, now, {8: extended}) == 7


def test_visiting_is_progress_and_forgotten_when_it_ends_even_by_an_error() -> None:
    watchdog.progress.moved = 0.0

    def visit() -> None:
        with watchdog.visiting(5):
            assert watchdog.progress.visits[threading.get_ident()][0] == 5
            assert watchdog.progress.moved > 0
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        visit()
    assert threading.get_ident() not in watchdog.progress.visits


FROZEN = """
import os, re, time
from workers import watchdog
watchdog.keep_pulse(4.0)
began = time.monotonic()
{}
os.write(1, b"lives")
os._exit(0)
"""


@pytest.mark.faults
@pytest.mark.parametrize(
    # what the main thread does, code
    ("does", "code"),
    [
        ("re.fullmatch('(a|a)*b', 'a' * 64)", 1),  # holds the interpreter's lock
        ("time.sleep(5)", 0),  # a thread that waits for something leaves the others their turn
        ("while time.monotonic() < began + 5: pass", 0),  # and so does one that is busy
    ],
)
def test_a_process_that_stands_still_as_a_whole_is_ended(does: str, code: int) -> None:
    done = subprocess.run([sys.executable, "-c", FROZEN.format(does)], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    assert done.stdout == ("" if code else "lives")
    assert ("fullmatch" in done.stderr) is bool(code), "where each thread was"
