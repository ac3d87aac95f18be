"""How long a host is left alone between two requests: the delay in force.

Decides the base delay (SPEC P2): an operator's override, else robots.txt's Crawl-delay, else the default; and over all
of them the emergency floor. Does not decide back-off (`backoff`) nor who waits (`app.crawl.visit`).
"""

from collections.abc import Iterable


def delay_in_force_s(
    *,
    operator_s: float | None,
    robots_s: float | None,
    default_s: float,
    robots_max_s: float,
    floor_s: float | None,
) -> float:
    """Seconds from the end of a request to the start of the next.

    robots_s is the Crawl-delay as read, capped here at robots_max_s; 0.5 is 0.5 and 0 is 0. floor_s holds for every
    host, whatever else says.
    """
    if operator_s is not None:
        base = operator_s
    elif robots_s is not None:
        base = min(robots_s, robots_max_s)
    else:
        base = default_s
    return max(base, floor_s or 0.0)


def slowest(delays_s: Iterable[float | None]) -> float | None:
    """One pace for a host of several origins: the slowest that any of them asks for; None when none asks."""
    return max((delay for delay in delays_s if delay is not None), default=None)
