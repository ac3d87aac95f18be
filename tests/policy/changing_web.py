"""A web of pages that change, and a crawler with a budget of requests: the simulation under `bench.recrawl`.

Time is simulated. A request leaves every 1 / budget seconds at most, to the page that is due first; a schedule says
after each visit when the page is due again. A page is fresh from a visit to its next change.
"""

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, Protocol

DAY_S: Final = 86_400.0
NEVER: Final = math.inf
# Shares of pages, by the way they change.
MIXTURE: Final = {"poisson": 0.35, "periodic": 0.15, "bursty": 0.15, "heavy": 0.15, "never": 0.20}
MEDIAN_S, SIGMA = 5 * DAY_S, 1.5  # between two changes; of its logarithm
TAIL: Final = 1.2  # of a Pareto distribution: its variance is infinite
SAYS_SO: Final = 0.3  # pages that say truly when they changed last
_ON, _OFF_TIMES = 0.2, 4.0  # a burst lasts a fifth of the cycle, in which all of its changes are
_CHANGES_A_BURST: Final = 5.0


@dataclass(slots=True)
class ChangingPage:
    """A page: its kind, changes a second in the long run, whether it says when it changed, and its next change."""

    kind: str
    rate: float
    says_so: bool
    next_s: float = NEVER
    bursting: bool = False
    turns_s: float = 0.0  # a burst begins or ends

    def until(self, now_s: float, rng: Random) -> tuple[float, float] | None:
        """First and last change since it was last asked. None: none."""
        if self.next_s > now_s:
            return None
        first = last = self.next_s
        if self.kind in {"poisson", "heavy"}:  # without memory: neither what is between nor what was before counts
            last = max(first, now_s - rng.expovariate(self.rate))
            self.next_s = now_s + rng.expovariate(self.rate)
        elif self.kind == "periodic":
            last = first + math.floor((now_s - first) * self.rate) / self.rate
            self.next_s = last + 1 / self.rate
        else:
            while self.next_s <= now_s:
                last = self.next_s
                self.burst(rng)
        return first, last

    def burst(self, rng: Random) -> None:
        """Find the next change: in this burst or a later one."""
        cycle_s = _CHANGES_A_BURST / self.rate
        while True:
            if not self.bursting:
                self.next_s = self.turns_s = max(self.next_s, self.turns_s) + rng.expovariate(1 / (cycle_s * (1 - _ON)))
                self.bursting, self.turns_s = True, self.turns_s + rng.expovariate(1 / (cycle_s * _ON))
            gap_s = rng.expovariate(self.rate / _ON)
            if self.next_s + gap_s <= self.turns_s:
                self.next_s += gap_s
                return
            self.bursting, self.next_s = False, self.turns_s


def make_web(pages: int, rng: Random) -> list[ChangingPage]:
    """So many pages of the mixture, each in the middle of its life."""
    kinds = rng.choices(list(MIXTURE), list(MIXTURE.values()), k=pages)
    return [_page(kind, rng) for kind in kinds]


def _page(kind: str, rng: Random) -> ChangingPage:
    says_so = rng.random() < SAYS_SO
    if kind == "never":
        return ChangingPage(kind, 0.0, says_so)
    mean_s = rng.lognormvariate(math.log(MEDIAN_S), SIGMA)
    if kind == "heavy":  # a few change all the time
        mean_s = 4 * MEDIAN_S / rng.paretovariate(TAIL)
    page = ChangingPage(kind, 1 / mean_s, says_so)
    if kind == "periodic":
        page.next_s = rng.uniform(0, mean_s)
    elif kind == "bursty":
        page.next_s = 0.0
        page.burst(rng)
    else:
        page.next_s = rng.expovariate(page.rate)
    return page


@dataclass(frozen=True, slots=True)
class Visit:
    """A visit to a page. interval_s: since the one before; age_s: since its last change, where the page says so."""

    page: int
    now_s: float
    interval_s: float
    changed: bool
    age_s: float | None


class Schedule(Protocol):
    """A schedule of recrawls. pulls: where nothing is due, it takes what is due next instead of waiting."""

    pulls: bool

    def first_s(self, page: int) -> float: ...
    def next_s(self, visit: Visit) -> float: ...


@dataclass(slots=True)
class Freshness:
    """Page-seconds, fresh and in all, of the time that is measured; by kind of page."""

    begins_s: float
    ends_s: float
    fresh_s: dict[str, float] = field(default_factory=dict)
    pages: dict[str, int] = field(default_factory=dict)
    visits: int = 0

    def add(self, kind: str, since_s: float, until_s: float) -> None:
        seconds = min(until_s, self.ends_s) - max(since_s, self.begins_s)
        if seconds > 0:
            self.fresh_s[kind] = self.fresh_s.get(kind, 0.0) + seconds

    def share(self, kinds: Sequence[str] | None = None) -> float:
        """The share of the time that pages are fresh."""
        chosen = list(self.pages) if kinds is None else kinds
        whole = sum(self.pages.get(kind, 0) for kind in chosen) * (self.ends_s - self.begins_s)
        return sum(self.fresh_s.get(kind, 0.0) for kind in chosen) / whole if whole else math.nan


def run(
    web: Sequence[ChangingPage],
    schedule: Schedule,
    *,
    requests_per_s: float,
    ends_s: float,
    measured: float,
    rng: Random,
    each_day: Callable[[float], None] = lambda now_s: None,
) -> Freshness:
    """Visit the pages from time 0, when all are fresh. measured: the share of the time that counts, the last."""
    found = Freshness((1 - measured) * ends_s, ends_s)
    for page in web:
        found.pages[page.kind] = found.pages.get(page.kind, 0) + 1
    queue = [(schedule.first_s(number), number) for number in range(len(web))]
    heapq.heapify(queue)
    seen = [0.0] * len(web)
    now_s, gap_s, day = 0.0, 1 / requests_per_s, 0.0
    while queue:
        due_s, number = heapq.heappop(queue)
        now_s = now_s + gap_s if schedule.pulls else max(due_s, now_s + gap_s)
        if now_s >= ends_s:
            break
        if now_s >= day:
            each_day(now_s)
            day = now_s + DAY_S
        visit = _visit(web[number], number, seen[number], now_s, found, rng)
        seen[number] = now_s
        heapq.heappush(queue, (now_s + schedule.next_s(visit), number))
    for number, page in enumerate(web):
        _visit(page, number, seen[number], ends_s, found, rng)
    return found


def _visit(page: ChangingPage, number: int, since_s: float, now_s: float, found: Freshness, rng: Random) -> Visit:
    changes = page.until(now_s, rng)
    found.add(page.kind, since_s, changes[0] if changes else now_s)
    found.visits += now_s >= found.begins_s
    age_s = now_s - changes[1] if changes and page.says_so else None
    return Visit(number, now_s, now_s - since_s, changes is not None, age_s)
