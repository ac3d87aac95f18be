"""What is known of the database's clock: as much as the quickest exchange of the last seconds tells."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from app.runtime.clock_tie import KEPT_S, UNSURE_S, ClockTie

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def told(
    tie: ClockTie, clock: Clock, *, sent_ms: float, received_ms: float, ahead_s: float = 0.0
) -> tuple[float, float]:
    """The bounds in milliseconds around the true moment: the database's clock reads NOW when ours reads 1,000 s."""
    now = NOW + timedelta(seconds=clock.now - 1_000.0 + ahead_s)
    earliest, latest = tie.moments(now, sent=clock.now - sent_ms / 1000, received=clock.now + received_ms / 1000)
    return round((earliest - clock.now) * 1000, 1), round((latest - clock.now) * 1000, 1)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tie(clock: Clock) -> ClockTie:
    return ClockTie(clock, wall=clock)


def test_one_exchange_bounds_the_moment_by_itself(tie: ClockTie, clock: Clock) -> None:
    assert told(tie, clock, sent_ms=3, received_ms=5) == (-3, 5)


def test_a_slow_answer_is_as_good_as_the_quickest_before_it(tie: ClockTie, clock: Clock) -> None:
    told(tie, clock, sent_ms=1, received_ms=40)
    told(tie, clock, sent_ms=30, received_ms=2)
    clock.now += 1
    assert told(tie, clock, sent_ms=80, received_ms=90) == (-1, 2)


def test_what_was_heard_long_ago_counts_no_more(tie: ClockTie, clock: Clock) -> None:
    told(tie, clock, sent_ms=1, received_ms=1)
    clock.now += KEPT_S + 0.1
    assert told(tie, clock, sent_ms=80, received_ms=90) == (-80, 90)


@pytest.mark.parametrize("ahead_s", [-3_600.0, -0.1, 0.1, 3_600.0])
def test_a_database_whose_clock_was_set_is_believed_at_once(tie: ClockTie, clock: Clock, ahead_s: float) -> None:
    told(tie, clock, sent_ms=1, received_ms=1)
    assert told(tie, clock, sent_ms=20, received_ms=30, ahead_s=ahead_s) == (-20, 30)
    assert told(tie, clock, sent_ms=5, received_ms=90, ahead_s=ahead_s) == (-5, 30)


def test_of_many_exchanges_the_narrowest_of_those_that_count_decide(tie: ClockTie, clock: Clock) -> None:
    rng, heard = random.Random(1), list[tuple[float, int, int]]()
    for _ in range(500):
        clock.now += rng.expovariate(1.0)
        sent_ms, received_ms = rng.randint(1, 100), rng.randint(1, 100)
        heard = [each for each in heard if each[0] >= clock.now - KEPT_S] + [(clock.now, sent_ms, received_ms)]
        found = told(tie, clock, sent_ms=sent_ms, received_ms=received_ms)
        assert found == (-min(sent for _, sent, _ in heard), min(received for _, _, received in heard))


def test_no_more_is_kept_of_many_exchanges_than_may_count_later(tie: ClockTie, clock: Clock) -> None:
    """A busy process hears hundreds a second, and looks at what it keeps at each."""
    for _ in range(1_000):
        told(tie, clock, sent_ms=2, received_ms=3)
    assert (len(tie._leasts), len(tie._mosts)) == (1, 1)  # noqa: SLF001  # no other sign of it but time


@pytest.mark.parametrize(("ahead_s", "steps"), [(-3_600.0, 1), (-4.9, 0), (0.0, 0), (4.9, 0), (5.2, 1), (100.0, 1)])
def test_a_step_of_more_than_a_leases_margin_is_seen_once(
    tie: ClockTie, clock: Clock, ahead_s: float, steps: int
) -> None:
    told(tie, clock, sent_ms=1, received_ms=1)
    told(tie, clock, sent_ms=20, received_ms=30, ahead_s=ahead_s)
    assert tie.is_unsure() == (steps > 0)
    for _ in range(3):
        clock.now += UNSURE_S
        told(tie, clock, sent_ms=20, received_ms=30, ahead_s=ahead_s)
        assert not tie.is_unsure()
    assert tie.steps() == steps


def test_a_step_is_seen_however_long_ago_the_last_exchange_was(tie: ClockTie, clock: Clock) -> None:
    told(tie, clock, sent_ms=1, received_ms=1)
    clock.now += 1_000 * KEPT_S
    told(tie, clock, sent_ms=1, received_ms=1, ahead_s=3_600.0)
    assert tie.steps() == 1


def test_a_slow_exchange_is_no_step(tie: ClockTie, clock: Clock) -> None:
    """Such as that of a process which was stopped in between."""
    told(tie, clock, sent_ms=60_000, received_ms=60_000)
    told(tie, clock, sent_ms=60_000, received_ms=60_000)
    assert tie.steps() == 0


@pytest.mark.parametrize(("by_s", "steps"), [(-100.0, 1), (3.0, 0), (100.0, 1)])
def test_a_step_of_our_own_wall_clock_counts(clock: Clock, by_s: float, steps: int) -> None:
    """A virtual machine that was stopped is set right when it goes on. Its seconds stood still."""
    wall = Clock()
    tie = ClockTie(clock, wall=wall)
    assert tie.steps() == 0
    wall.now += by_s
    assert [tie.steps(), tie.steps()] == [steps, steps]
    assert not tie.is_unsure(), "the database's clock is as it was"
