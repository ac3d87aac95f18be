"""Measures durations on a clock that runs on while the machine sleeps, unlike `time.monotonic` on Linux.

Leases are measured by it: when a laptop's lid opens, a worker knows that its lease is over, as the database does. No
two machines' seconds are compared.
"""

import os
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path

STEP_S = 5.0  # less is no step: a lease's margin is as long (app.crawl.state.lease)
DRIFT = 0.001  # by which two clocks differ in speed at most: NTP corrects one by 500 parts in a million
_ID: int | None = getattr(time, "CLOCK_BOOTTIME", None)
BOOT = Path("/proc/sys/kernel/random/boot_id")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


# Seconds since some moment of this machine's past. No function of ours: a page asks some forty times.
monotonic: Callable[[], float] = time.monotonic if _ID is None else partial(time.clock_gettime, _ID)


@lru_cache(maxsize=1)
def clock_name() -> str:
    """The name of this clock: one for all processes of a machine that read it, until it boots again."""
    with suppress(OSError):
        # A container may have a clock of its own (time_namespaces(7)).
        return f"{BOOT.read_text().strip()}:{os.readlink('/proc/self/ns/time')}"
    return str(uuid.uuid4())


def step_s(passed_s: float, *, least_s: float, most_s: float) -> float:
    """Seconds by which another clock was set, if that is a step; negative: it was set back. Else 0.0.

    passed_s         on that clock
    least_s, most_s  on ours, between the same two moments
    """
    allowed_s = STEP_S + DRIFT * max(least_s, 0.0)
    if passed_s - most_s > allowed_s:
        return passed_s - most_s
    return passed_s - least_s if least_s - passed_s > allowed_s else 0.0
