"""FT19 of docs/reliability.md: workers and a beat whose clocks are wrong, and jump."""

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path

import pytest

from tests.faults.fleet import Child
from tests.faults.kit import SLOTS, WARM, MakeRig, Rig
from tests.faults.log_judge import TOLERANCE_S
from tests.faults.pace import at_most_s, quick_or_long
from tests.faults.web import ROOT, Line

pytestmark = pytest.mark.faults

HOUR_S = 3_600.0
JUMP_EVERY_S = 0.7
JUMPS_S = (-HOUR_S, 0.0, HOUR_S)
ASKED_S = 6  # that a site asks to be left alone for, by a date
BUSY = "/page-4.html"
SKEW = Path(__file__).parent / "skew"
Env = dict[str, str]


class Clock:
    """Of a process: wrong by as many seconds as were set last."""

    def __init__(self, file: Path, shift_s: float) -> None:
        self.file = file
        self.set(shift_s)

    def set(self, shift_s: float) -> None:
        draft = self.file.with_suffix(".new")
        draft.write_text(f"{shift_s:+.0f}")
        draft.replace(self.file)


def by_python(clock: Clock) -> Env:
    """What Python tells: `time.time`, `datetime.now`. Works everywhere."""
    return {"PYTHONPATH": os.pathsep.join([str(SKEW), str(ROOT)]), "CLOCK_SHIFT": str(clock.file)}


def by_libfaketime(clock: Clock) -> Env:
    """What the system tells everybody in the process."""
    return {"PYTHONPATH": os.pathsep.join([str(SKEW), str(ROOT)]), **preloaded(clock)}


def preloaded(clock: Clock) -> Env:
    """The same for a process of any language. What it measures stays right."""
    found = sorted(Path("/usr").glob("lib*/**/faketime/libfaketimeMT.so.1"))
    if not found:
        pytest.skip("libfaketime is not installed (Debian and Ubuntu: the package faketime)")
    return {
        "LD_PRELOAD": str(found[0]),
        "FAKETIME_TIMESTAMP_FILE": str(clock.file),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }


@pytest.mark.parametrize("told", [pytest.param(by_python, id="python"), pytest.param(by_libfaketime, id="libfaketime")])
def test_ft19_clocks_are_wrong(make_rig: MakeRig, rng: random.Random, told: Callable[[Clock], Env]) -> None:
    """clocks an hour ahead, an hour behind, and jumping by as much (that of beat too): no lease is stolen, none is
    immortal, no gap is too short, and a date in Retry-After means the same to all."""
    rig = make_rig(pages=quick_or_long(20, 400), workers=0, beats=0, adaptive_level_max=0)
    shifts = {"ahead": HOUR_S, "behind": -HOUR_S, "jumps": 0.0}
    clocks = {name: Clock(rig.folder / f"clock-{name}", shift_s) for name, shift_s in shifts.items()}
    workers = {name: rig.fleet.worker(env=told(clock)) for name, clock in clocks.items()}
    rig.fleet.beat(env=told(clocks["jumps"]))
    jump = Jumping(clocks["jumps"], rng)
    rig.web.hold("/page-9.html", 1.0)
    rig.seed()
    rig.until(lambda: jump() or len(rig.web.lines()) > WARM, "the crawl runs")
    asked_until = int(time.time()) + ASKED_S
    rig.web.rule(BUSY, status=429, headers={"Retry-After": formatdate(asked_until, usegmt=True)})
    rig.until(lambda: jump() or time.time() > asked_until - 1, "the date comes near")
    rig.web.rule(BUSY)
    rig.until(lambda: jump() or flying(rig, workers["behind"]), "the one behind is in mid-fetch")
    early_repeats = twice(rig)
    with rig.fault("kill -9 of a worker whose clock is behind"):
        workers["behind"].kill()
    clocks["jumps"].set(-HOUR_S)
    rig.until_finished()
    again = asked_again(rig)
    rig.figures |= {
        "jumps": len(jump.made),
        "repeats_before_kill": early_repeats,
        "refused": len(again),
        "too_early": sum(line.wall < asked_until - TOLERANCE_S for line in again),
        "after_date_s": round(max((line.wall for line in again), default=0.0) - asked_until, 1),
    }
    rig.judge(kills=1, slots=SLOTS + len(again))  # who was asked to come later is asked for the same page once more
    assert early_repeats == 0
    assert again
    assert rig.figures["too_early"] == 0
    assert rig.figures["after_date_s"] <= at_most_s(rig.pace.recovered_s)


class Jumping:
    """Call it again and again: it sets the clock now and then. Returns nothing, which is false."""

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self._clock, self._rng, self._next = clock, rng, time.monotonic()
        self.made: list[float] = []

    def __call__(self) -> None:
        if time.monotonic() >= self._next:
            self._next += JUMP_EVERY_S
            self.made.append(self._rng.choice([at for at in JUMPS_S if [at] != self.made[-1:]]))
            self._clock.set(self.made[-1])


def flying(rig: Rig, worker: Child) -> bool:
    """It has a request under way."""
    return any(line.worker == worker.name for line in rig.web.in_flight())


def refused(rig: Rig) -> list[Line]:
    return [line for line in rig.web.lines() if line.status == 429]


def twice(rig: Rig) -> int:
    """Pages asked for again though they had been brought."""
    return sum(n - 1 for n in Counter((line.host, line.path) for line in rig.web.lines() if line.brought).values())


def asked_again(rig: Rig) -> list[Line]:
    """Of each host that said 429, the next request."""
    lines = sorted(rig.web.lines(), key=lambda line: line.start)
    return [
        next(other for other in lines if other.host == line.host and other.start > line.start) for line in refused(rig)
    ]
