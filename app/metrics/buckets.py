"""A histogram's counts: how many values were at most so large. It costs a bisection a value."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

FETCH_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
RENDER_S = (0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 45.0)
SETTLE_S = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


@dataclass(slots=True)
class Buckets:
    """Counts of values by their size. Its owner locks it.   bounds: ascending; counts: one more, beyond the last"""

    bounds: Sequence[float]
    total: float = 0.0
    counts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def cumulated(self) -> list[tuple[str, float]]:
        """(bound, values at most so large), as Prometheus wants them: "+Inf" is the last."""
        found, so_far = [], 0
        for bound, count in zip([*map(str, self.bounds), "+Inf"], self.counts, strict=True):
            so_far += count
            found.append((bound, float(so_far)))
        return found

    def copy(self) -> "Buckets":
        made = Buckets(self.bounds, self.total)
        made.counts = list(self.counts)
        return made
