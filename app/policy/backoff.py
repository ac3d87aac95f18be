"""Exponential back-off: how long a host or a URL rests after a failure (promise P8).

`outcome` decides which of them rests.

The circuit breaker: closes a host that fails again and again for an hour, then for two … (promise P6).

It closes after so many server errors or missing answers in a row, all URLs of the host together. After the rest one
request goes out, the probe: a good answer opens the host again, a bad one closes it for twice as long. Source: M.
Nygard, "Release It!".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from app.policy.pace import NO_ANSWER


def host_rest_s(failures: int, *, base_s: float, max_s: float) -> float:
    """Seconds a host rests after so many failures of its own in a row: base, 2 base, 4 base … at most max.

    0 for no failure. No jitter: a host has one visitor, so nothing can come back in step.
    """
    if failures < 1:
        return 0.0
    return _doubled(base_s, failures, max_s)


def url_retry_s(attempt: int, rng: Random, *, base_s: float = 1.0, max_s: float = 60.0) -> float:
    """Seconds until a URL that failed by itself is tried again, after its `attempt`-th try (from 1).

    Uniform between a floor of base / 2 and base × 2^(attempt - 1), at most max. That is full jitter (AWS
    Architecture Blog, "Exponential Backoff And Jitter", 2015) but for the floor: 0 would be no rest at all.
    """
    ceiling = _doubled(base_s, max(attempt, 1), max_s)
    return rng.uniform(min(base_s / 2, ceiling), ceiling)


def _doubled(base_s: float, times: int, max_s: float) -> float:
    # 2 ** 64 times any base is beyond every cap, and still far from a float's overflow.
    return float(min(base_s * 2 ** min(times - 1, 64), max_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerRules:
    """failures: in a row that close it.   base_s, max_s: its first and its longest rest."""

    failures: int = 10
    base_s: float = 3_600.0
    max_s: float = 86_400.0


def failures_in_a_row(statuses: Sequence[int]) -> int:
    """5xx and missing answers up to now, newest last."""
    count = 0
    for status in reversed(statuses):
        if status != NO_ANSWER and status < 500:
            break
        count += 1
    return count


def is_probing(statuses: Sequence[int], rules: BreakerRules) -> bool:
    """The next request is the only one until it is answered well."""
    return failures_in_a_row(statuses) >= rules.failures


def trips_after(trips: int, statuses: Sequence[int], rules: BreakerRules) -> int:
    """Times in a row that the breaker has closed, after the newest result; 0 after an answer that is no failure."""
    if is_probing(statuses, rules):
        return trips + 1
    return 0 if statuses and failures_in_a_row(statuses) == 0 else trips


def rest_s(trips: int, rules: BreakerRules) -> float:
    """Seconds that the host is closed for: base, 2 base, 4 base … at most max; 0 for no trip."""
    return host_rest_s(trips, base_s=rules.base_s, max_s=rules.max_s)
