"""Decides when a page is due again (promise V1): the interval grows while it stays the same and shrinks when it
changes.

A plain multiplicative rule, not an estimator of the change rate. What counts as a change (the main text's hash) is
decided where the page is read.
"""

GROWTH = 1.5
SHRINK = 0.5


def next_interval_s(
    previous_s: float | None, *, changed: bool | None, base_s: float, min_s: float, max_s: float
) -> float:
    """Seconds until the next visit of a page, between min_s and max_s.

    previous_s  the interval that just passed; None on the first visit: base_s
    changed     since the visit before; None when that cannot be told: the interval stays
    """
    if previous_s is None:
        interval_s = base_s
    elif changed is None:
        interval_s = previous_s
    else:
        interval_s = previous_s * (SHRINK if changed else GROWTH)
    return float(min(max(interval_s, min_s), max_s))
