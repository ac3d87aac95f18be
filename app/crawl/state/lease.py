"""A visit's lease of its host, and the clock that its moments are told by."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID


@dataclass(slots=True, kw_only=True, weakref_slot=True)
class Lease:
    """A visit's lease of its host. Made by the take-up; settles, and requests that need it to last longer, extend it.

    host_id, host  the host, and its name
    visit_id       its row in `visits`
    token          of every write of the visit: the fence
    taken_at       the database's time of the take-up;   anchor: the monotonic second at which its answer arrived
    lineage        since when, at the take-up, the rows have been in their present database (app.store.lineage)
    ends           monotonic second; counted from sending the query that set it
    monotonic      the process's clock
    steps          of the clocks that the process had seen when the lease was last confirmed
    behind_s       the least by which the anchor came after `taken_at`, as far as is known
    """

    host_id: int
    host: str
    visit_id: int
    token: UUID
    taken_at: datetime
    anchor: float
    lineage: datetime | None
    ends: float
    monotonic: Callable[[], float]
    steps: int = 0
    behind_s: float = 0.0

    def now(self) -> float:
        return self.monotonic()

    def renew(self, sent: float, lease_s: float) -> None:
        """Note that it was extended by a query that was sent at this monotonic second."""
        self.ends = sent + lease_s

    def tie(self, latest: float) -> None:
        """Note the latest monotonic second that `taken_at` can be, by what is known now.

        It shows at least so much of what was lost between take-up and anchor; the most holds for the whole visit.
        """
        self.behind_s = max(self.behind_s, self.anchor - latest)

    def left_s(self) -> float:
        """Seconds until it ends."""
        return self.ends - self.monotonic()

    def database_time(self, moment: float) -> datetime:
        """The database's time at a monotonic moment, as in the fetch log: never ahead of it."""
        return self.taken_at + timedelta(seconds=moment - self.anchor + self.behind_s)
