"""From where on dispatch looks: dead versions of before are passed over, and no host is for good."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, text

from app.beat import claim
from app.beat.claim import WHOLE_MOST_S, WHOLE_S, ScanWindow
from app.config import Settings, load
from app.store import clocks, db
from app.store.host_rows import Offer
from tests.store.rows import make_host, sql

SETTINGS: Settings = load(_env_file=None, queues=4)
CHURN = 40
GIVE_BACK = "UPDATE hosts SET state = 'idle', lease_token = NULL, lease_until = NULL"


class Clock:
    """Monotonic seconds that the test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def marks(clock: Clock) -> ScanWindow:
    return ScanWindow(clock=clock)


def dispatch(engine: Engine, marks: ScanWindow | None, settings: Settings = SETTINGS) -> list[Offer]:
    offers: list[Offer] = []
    claim.dispatch(engine, settings, offers.extend, random.Random(1), marks)
    return offers


def due(engine: Engine, age_s: float, queue: str = "host-00") -> int:
    host_id = make_host(engine, queue=queue)
    sql(
        engine, "UPDATE hosts SET next_fetch_at = now() - make_interval(secs => :s) WHERE id = :id", s=age_s, id=host_id
    )
    return host_id


@pytest.mark.parametrize(
    ("age_s", "queue", "found"),
    [
        (0.0, "host-00", True),
        (3.0, "host-00", True),  # committed late
        (60.0, "host-00", False),  # very late
        (60.0, "host-01", True),  # of this queue nothing is known
    ],
)
def test_it_looks_from_what_it_claimed_last(
    engine: Engine, marks: ScanWindow, age_s: float, queue: str, found: bool
) -> None:
    assert len([due(engine, 9.0), due(engine, 0.0)]) == len(dispatch(engine, marks))
    host_id = due(engine, age_s, queue)
    assert [offer.host_id for offer in dispatch(engine, marks)] == [host_id] * found
    assert [offer.host_id for offer in dispatch(engine, None)] == [host_id] * (not found)


def test_a_look_at_the_whole_finds_who_was_missed(engine: Engine, marks: ScanWindow, clock: Clock) -> None:
    due(engine, 0.0)
    dispatch(engine, marks)
    missed = due(engine, 3_600.0)
    clock.now += WHOLE_S - 0.001
    assert dispatch(engine, marks) == []
    clock.now += 0.001
    assert [offer.host_id for offer in dispatch(engine, marks)] == [missed]
    due(engine, 3_600.0)
    clock.now += WHOLE_S - 0.001
    assert len(dispatch(engine, marks)) == 1, "the mark lies as far back as what it brought"


def test_looks_at_the_whole_take_a_twentieth_of_the_time(marks: ScanWindow, clock: Clock) -> None:
    for took_s, waits_s in ((0.3, WHOLE_S), (0.3, 6.0), (0.3, 6.0), (9.0, 6.0), (9.0, WHOLE_MOST_S)):
        began, since = marks.begin()
        assert since == {}
        clock.now += took_s
        marks.end(began, [])
        assert marks.whole_at == pytest.approx(clock.now + waits_s)
        clock.now = marks.whole_at


def test_one_look_that_a_lock_held_up_does_not_put_off_the_next(marks: ScanWindow, clock: Clock) -> None:
    for took_s in (0.01, 9.0, 0.01):
        began, _ = marks.begin()
        clock.now += took_s
        marks.end(began, [])
        assert marks.whole_at == clock.now + WHOLE_S
        clock.now = marks.whole_at


def test_the_oldest_stay_first_while_there_are_more_than_offers(engine: Engine, marks: ScanWindow) -> None:
    """A backlog: the mark does not pass over those that there was no room for."""
    hosts = [due(engine, age_s) for age_s in (500.0, 400.0, 300.0, 200.0, 100.0)]
    settings = load(_env_file=None, queues=1, offers_max=4)  # one a queue and time
    found = []
    for _ in hosts:
        found += [offer.host_id for offer in dispatch(engine, marks, settings)]
        sql(engine, f"{GIVE_BACK}, next_fetch_at = NULL WHERE state = 'offered'")
    assert found == hosts


@contextmanager
def long_transaction(engine: Engine) -> Iterator[None]:
    """Somebody else's: it keeps every version that was there."""
    url = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, options="-c idle_in_transaction_session_timeout=0") as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT count(*) FROM hosts")
        yield


def test_a_long_transaction_does_not_lengthen_the_look(make_database: Callable[[], str]) -> None:
    """64 hosts visited once a minute, up to now; none of their row versions can go away."""
    engine = db.connect(make_database())
    sql(engine, "ALTER TABLE hosts SET (autovacuum_enabled = false)")
    for _ in range(64):
        due(engine, CHURN * 60.0)
    settings, marks = load(_env_file=None, queues=1, offers_max=256), ScanWindow()
    with long_transaction(engine):
        before = looked_at(engine, marks)
        for minute in range(1, CHURN + 1):
            assert len(dispatch(engine, marks, settings)) == 64
            sql(
                engine,
                f"{GIVE_BACK}, next_fetch_at = now() + make_interval(mins => :minute - :churn)",
                minute=minute,
                churn=CHURN,
            )
        with_marks, without = looked_at(engine, marks), looked_at(engine, ScanWindow())
    assert without > 10 * before
    assert with_marks < without / 5
    engine.dispose()


def looked_at(engine: Engine, marks: ScanWindow) -> int:
    """Buffers that the look for due hosts reads, rolled back."""
    values = {
        "queues": ["host-00"],
        "capacity": [100],
        "since": [marks.since.get("host-00")],
        "n": 100,
        "ahead_s": 0.0,
        "offer_s": 10.0,
        "isolate": 50,
        **clocks.steady(),
    }
    explain = text(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {db.queries('hosts')['claim_due'].text}")
    with engine.connect() as connection:
        (explained,) = connection.execute(explain, values).scalar_one()
        connection.rollback()
    return sum(_scans(explained["Plan"]))


def _scans(node: dict[str, Any]) -> Iterator[int]:
    if node.get("Index Name") == "hosts_due":
        yield int(node["Shared Hit Blocks"]) + int(node["Shared Read Blocks"])
    for child in node.get("Plans", []):
        yield from _scans(child)
