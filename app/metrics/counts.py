"""Counts of a process: its settled requests, visits and dispatches. A settle adds to it once, after its commit.

It counts what is in Postgres then: requests of a batch that was rolled back are not counted, those of a fenced visit
are, as in the log. Nothing is imported for it, and nobody needs to ask for it: only the page that shows it
(`app.metrics.serve`) is off by default.

A histogram's counts: how many values were at most so large. It costs a bisection a value.
"""

import os
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from app.model import Outcome
from app.model.render import RenderRefusal
from app.store.fetches import Fetch

if TYPE_CHECKING:
    from app.store.renders import RenderEnd

GAP_SLACK_S = 0.001  # as v_politeness_audit has it
MEMORY_EVERY_PAGES = 1_000
VISITS_MOST = 20_000  # a visit that crashed never ends: the oldest is forgotten
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
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


class SettledBatch(NamedTuple):
    """A batch whose commit happened.

    pages     documents that it brought, as the crawls count them
    ending    of the visit, None where it goes on
    """

    visit_id: int
    host_id: int
    fetches: Sequence[Fetch]
    pages: int
    ending: str | None


@dataclass(slots=True)
class Counts:
    """A process's counts since its start. Threads share it.

    fetches        by kind and outcome
    failures       requests without a complete answer, by cause
    violations     requests that started too soon after the one before to their host, in the same visit
    fenced         requests of visits that had lost their lease
    mixed_names    connections to names of which some addresses may not be contacted
    visits         that ended, by ending
    renders        by state and ending;   render_requests: by verdict;   render_refused: by reason
    dispatched     hosts offered
    dispatched_at  Unix second of the last dispatch that succeeded, with or without hosts; None: there was none
    """

    fetches: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=lambda: Counter(gap=0, concurrent=0))
    visits: Counter[str] = field(default_factory=Counter)
    # Shown as 0 from the start, so that the first of a kind is a rise.
    renders: Counter[tuple[str, str]] = field(
        default_factory=lambda: Counter(dict.fromkeys((("done", "quiet"), ("failed", "none"), ("due", "none")), 0))
    )
    render_requests: Counter[str] = field(default_factory=lambda: Counter(answered=0, cached=0, refused=0))
    render_refused: Counter[str] = field(
        default_factory=lambda: Counter(dict.fromkeys((reason.value for reason in RenderRefusal), 0))
    )
    pages: int = 0
    received_bytes: int = 0
    fenced: int = 0
    mixed_names: int = 0
    dispatched: int = 0
    dispatched_at: float | None = None
    fetch_s: Buckets = field(default_factory=lambda: Buckets(FETCH_S))
    first_byte_s: Buckets = field(default_factory=lambda: Buckets(FETCH_S))
    render_s: Buckets = field(default_factory=lambda: Buckets(RENDER_S))
    settle_s: Buckets = field(default_factory=lambda: Buckets(SETTLE_S))
    dispatch_s: Buckets = field(default_factory=lambda: Buckets(SETTLE_S))
    lock: threading.Lock = field(default_factory=threading.Lock)
    _ends: dict[int, float] = field(default_factory=dict)  # visit → end of its host's last request

    def settled(self, batches: Iterable[SettledBatch], *, took_s: float | None) -> int | None:
        """Count batches that were settled together.   took_s: None: it is not known, as the answer was lost

        Returns the process's pages where its memory is to be logged: every MEMORY_EVERY_PAGES.
        """
        with self.lock:
            before = self.pages
            if took_s is not None:
                self.settle_s.add(took_s)
            for batch in batches:
                self._count(batch.fetches)
                self._judge(batch)
                self.pages += batch.pages
                if batch.ending is not None:
                    self.visits[batch.ending] += 1
            is_due = self.pages // MEMORY_EVERY_PAGES > before // MEMORY_EVERY_PAGES
            return self.pages if is_due else None

    def fenced_off(self, batch: SettledBatch) -> None:
        """Count the requests of a visit that lost its lease: they were made, and are in the log."""
        with self.lock:
            self._count(batch.fetches)
            self._ends.pop(batch.visit_id, None)
            self.fenced += sum(fetch["outcome"] != Outcome.UNSENT for fetch in batch.fetches)
            self.visits[batch.ending or ""] += 1

    def mixed_name(self) -> None:
        with self.lock:
            self.mixed_names += 1

    def dispatch_ended(self, hosts: int, *, took_s: float) -> None:
        with self.lock:
            self.dispatched += hosts
            self.dispatched_at = time.time()
            self.dispatch_s.add(took_s)

    def _count(self, fetches: Sequence[Fetch]) -> None:
        for fetch in fetches:
            self.fetches[fetch["kind"], fetch["outcome"]] += 1
            if fetch["failure"] is not None:
                self.failures[fetch["failure"]] += 1
            if fetch["outcome"] == Outcome.UNSENT:
                continue
            self.received_bytes += fetch["wire_bytes"]
            self.fetch_s.add(fetch["total_ms"] / 1000)
            if fetch["first_byte_ms"] is not None:
                self.first_byte_s.add(fetch["first_byte_ms"] / 1000)

    def rendered(self, rendered: "Sequence[RenderEnd]") -> None:
        """Count pages that a browser opened."""
        with self.lock:
            for row in rendered:
                self._count_render(row)

    def _count_render(self, row: "RenderEnd") -> None:
        self.renders[row["state"], row["ending"] or "none"] += 1
        if row["wall_ms"] is not None:
            self.render_s.add(row["wall_ms"] / 1000)
        refused = row["refused"] or {}
        self.render_refused.update(refused)
        cached = min(row["cached"], row["answered"])  # an answer may come after its page has ended
        self.render_requests.update(answered=row["answered"] - cached, cached=cached, refused=sum(refused.values()))

    def _judge(self, batch: SettledBatch) -> None:
        """Compare each gap within the visit with the delay in force. Between visits the lease decides."""
        end_s = self._ends.pop(batch.visit_id, None)
        for fetch in batch.fetches:
            if fetch["outcome"] == Outcome.UNSENT or fetch["host_id"] != batch.host_id:
                continue
            if end_s is not None:
                gap_s = fetch["start_s"] - end_s
                if gap_s < -GAP_SLACK_S:
                    self.violations["concurrent"] += 1
                elif gap_s < fetch["delay_s"] - GAP_SLACK_S:
                    self.violations["gap"] += 1
            end_s = fetch["end_s"]
        if batch.ending is None and end_s is not None:
            if len(self._ends) >= VISITS_MOST:
                del self._ends[next(iter(self._ends))]
            self._ends[batch.visit_id] = end_s


def resident_bytes() -> int | None:
    """The memory that this process holds, None where /proc does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * _PAGE_BYTES
    except OSError:
        return None
