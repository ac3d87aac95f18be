"""FT19 of docs/reliability.md: Postgres' clock is set, such as after a sleep of its machine."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.faults.kit import MakeRig
from tests.faults.log_judge import see, short_pairs
from tests.faults.pace import at_most_s, quick_or_long
from tests.faults.servers import OwnPostgres
from tests.faults.test_clock import HOUR_S, Clock, preloaded

pytestmark = pytest.mark.faults


class ReadableClock(Clock):
    """Postgres runs as another user."""

    def set(self, shift_s: float) -> None:
        super().set(shift_s)
        self.file.chmod(0o644)


@pytest.fixture
def clock(reachable_tmp: Path, request: pytest.FixtureRequest) -> Clock:
    folder = reachable_tmp / f"clock {request.node.name}"
    folder.mkdir(mode=0o755)
    return ReadableClock(folder / "clock", 0.0)


@pytest.fixture
def own_postgres(clock: Clock) -> Iterator[OwnPostgres]:
    """The one that the rig runs on, by that clock."""
    with OwnPostgres(clock.file.parent / "home", preloaded(clock)) as server:
        yield server


@pytest.mark.parametrize(
    "steps_s",
    [
        pytest.param((100.0,), id="ahead"),
        pytest.param((-100.0,), id="back"),
        pytest.param((HOUR_S, -HOUR_S, 60.0), id="to and fro"),
        pytest.param((4.5,) * 8, id="by little, again and again"),
    ],
)
def test_ft19_postgres_clock_is_set(make_rig: MakeRig, clock: Clock, steps_s: Sequence[float]) -> None:
    """Postgres' clock is set: no gap is too short, no host has two visitors, no page is brought twice, and nothing
    waits for a clock that was set back."""
    rig = make_rig(hosts=16, pages=quick_or_long(16, 200), delay_s=1.0, workers=3, slots=16)
    rig.web.hold("/page-3.html", 1.0)
    rig.seed()
    shift_s = 0.0
    for n, step_s in enumerate(steps_s, 1):
        rig.until_share(0.7 * n / (len(steps_s) + 1))
        rig.until(lambda: rig.web.in_flight(), "a request is under way")
        shift_s += step_s
        with rig.fault(f"Postgres' clock is set by {step_s:.0f} s"):
            clock.set(shift_s)
    rig.until_finished()
    lines = rig.web.lines()
    seen = see(lines, truth=rig.web.truth, delay_s=rig.pace.delay_s, faults=rig.faults)
    rig.figures |= {
        "requests": seen.requests,
        "missed": seen.missed,
        "repeats": seen.repeats,
        "repeats_allowed": 0,
        "gap_min_s": round(seen.gap_min_s, 3),
        "recovered_s": round(seen.recovered_s, 1),
    }
    fenced = rig.sql("SELECT count(*) AS n FROM fetches WHERE fenced")[0]["n"]
    assert not short_pairs(lines, rig.pace.delay_s, frozenset())
    assert (seen.missed, seen.repeats, seen.concurrent, fenced) == (0, 0, 1, 0)
    assert seen.recovered_s <= at_most_s(rig.pace.recovered_s)
