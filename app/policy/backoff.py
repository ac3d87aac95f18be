"""Exponential back-off: how long a host or a URL rests after a failure (promise P8).

`outcome` decides which of them rests.
"""

from random import Random

_MAX_DOUBLINGS = 64  # 2 ** 64 times any base is beyond every cap, and still far from a float's overflow


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
    return float(min(base_s * 2 ** min(times - 1, _MAX_DOUBLINGS), max_s))
