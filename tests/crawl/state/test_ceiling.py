"""The ceiling in lots: no start twice, none before its moment, and a fleet that asks for little is not kept waiting."""

import random
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import pytest
from sqlalchemy import Connection, Engine

from app.crawl.state.lots import LOT_S, Ceiling
from app.store import budgets, db
from app.store.budgets import Budget, BudgetKind, StartTerms
from tests.store.rows import Aside, one, sql

PER_S = 1_000.0
LOT = int(PER_S * LOT_S)
AHEAD = "SELECT CAST(extract(epoch FROM next_at - clock_timestamp()) AS double precision) FROM budgets"
LONG_S = 100.0
SLOW = Budget(BudgetKind.ALL, "all", 10.0)


def draw(tx: Connection, n: int, *, horizon_s: float = LONG_S, returned: int = 0) -> float:
    """Draw starts of a ceiling of one in ten seconds. Returns the seconds until the first."""
    terms = StartTerms(0, ready_in_s=0.0, horizon_s=horizon_s, has_ticket=True, starts=n, returned=returned)
    return budgets.reserve(tx, (SLOW,), terms).wait_s


class Clock:
    """A process's. It stands still unless a test moves it."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def draws(engine: Engine, kept: Ceiling, clock: Clock, steps: Sequence[float]) -> int:
    """How often the row was written while starts were taken, with so much time between."""
    count = "SELECT CAST(CAST(xmin AS text) AS bigint) FROM budgets"
    found, before = 0, one(engine, count) if sql(engine, "SELECT 1 FROM budgets") else None
    for step in steps:
        clock.now += step
        kept.take(engine, horizon_s=LONG_S)
        now = one(engine, count)
        found += now != before
        before = now
    return found


def test_starts_of_processes_are_a_gap_apart(engine: Engine) -> None:
    """By the database's clock, which stands still for all here: each process reckons from the answer."""
    with db.transaction(engine) as tx:
        first = draw(tx, 1)
        then = [draw(tx, n) for n in (3, 2, 1)]
        late = draw(tx, 1, horizon_s=60.0)
    assert first == pytest.approx(0, abs=0.5)
    assert then == pytest.approx([10, 40, 60], abs=0.5)
    assert late == pytest.approx(70, abs=0.5), "and none was drawn"
    assert one(engine, AHEAD) == pytest.approx(70, abs=0.5)


@pytest.mark.parametrize(("returned", "ahead"), [(0, 60), (3, 30), (9, 10)])
def test_what_was_not_used_is_returned_but_not_what_has_gone_by(engine: Engine, returned: int, ahead: float) -> None:
    with db.transaction(engine) as tx:
        draw(tx, 5)
        draw(tx, 1, returned=returned)
    assert one(engine, AHEAD) == pytest.approx(ahead, abs=0.5)


def test_a_busy_process_draws_ever_larger_lots(engine: Engine) -> None:
    clock = Clock()
    kept = Ceiling(PER_S, clock)
    assert draws(engine, kept, clock, [0.0] * (2 * LOT)) <= 10


def test_no_lot_is_longer_than_its_time(engine: Engine) -> None:
    clock = Clock()
    kept = Ceiling(20.0, clock)
    waits = [kept.take(engine, horizon_s=LONG_S) for _ in range(9)]  # one start, then two a lot
    steps = [later - sooner for sooner, later in zip(waits[1::2], waits[2::2], strict=True)]
    assert steps == pytest.approx([1 / 20] * 4), "Postgres' clock goes on between lots"
    assert draws(engine, kept, clock, [0.0] * 10) == 5, "two starts fit into a lot"


def test_starts_of_a_lot_have_their_moments(engine: Engine) -> None:
    clock = Clock()
    kept = Ceiling(PER_S, clock)
    for _ in range(3 * LOT):
        kept.take(engine, horizon_s=LONG_S)
    waits = [kept.take(engine, horizon_s=LONG_S) for _ in range(10)]
    steps = [later - sooner for sooner, later in pairwise(waits)]
    assert min(steps) >= 1 / PER_S - 1e-9


def test_a_process_that_asks_for_little_takes_little(engine: Engine) -> None:
    """A start in each LOT_S: whatever it drew before, others find the schedule free."""
    clock = Clock()
    kept = Ceiling(PER_S, clock)
    draws(engine, kept, clock, [0.0] * (2 * LOT))
    draws(engine, kept, clock, [1.1 * LOT_S] * 5)
    before = one(engine, "SELECT next_at FROM budgets")
    draws(engine, kept, clock, [1.1 * LOT_S])
    taken = one(
        engine,
        "SELECT extract(epoch FROM next_at - greatest(CAST(:b AS timestamptz), clock_timestamp())) FROM budgets",
        b=before,
    )
    assert float(taken) < LOT / PER_S / 4


def test_nothing_is_taken_beyond_the_horizon(engine: Engine) -> None:
    clock = Clock()
    kept = Ceiling(1.0, clock)
    assert kept.take(engine, horizon_s=0.5) == pytest.approx(0, abs=0.1)
    assert kept.take(engine, horizon_s=0.5) == pytest.approx(1, abs=0.1)
    assert one(engine, AHEAD) == pytest.approx(1, abs=0.3)


def test_a_fleet_starts_no_more_than_its_ceiling_allows(engine: Engine) -> None:
    """Four processes of four threads as fast as they can: moments by one clock, and never too many between two of
    them."""
    kept = [Ceiling(PER_S) for _ in range(4)]
    starts: list[float] = []

    def work(each: Ceiling) -> None:
        for _ in range(60 + random.Random(1).randrange(3)):
            wait_s = each.take(engine, horizon_s=LONG_S)
            starts.append(each._monotonic() + wait_s)

    for aside in [Aside(partial(work, each)) for each in kept for _ in range(4)]:
        aside.outcome()
    ordered = sorted(starts)
    for n in (50, 200, 500):
        spans = [later - sooner for sooner, later in zip(ordered, ordered[n:], strict=False)]
        assert min(spans) >= n / PER_S - 2 * LOT_S
