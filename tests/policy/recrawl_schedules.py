"""Freshness under a budget of requests: this crawler's schedule against others, in a simulated web (`changing_web`).

- tiptoe: `app.policy.recrawl` as a visit calls it, with the price that beat finds for the budget from a sample
- best: knows each page's true rate of change, and nothing of the moments. The optimum for Poisson processes of
  J. Cho and H. Garcia-Molina (ACM TODS 28(4), 2003), without bounds
- fixed: all pages in turn;   factors: × 1.5 where a page stayed, × 0.5 where it changed
- nutch: Apache Nutch's AdaptiveFetchSchedule with its defaults

The last three never wait: where nothing is due they take what is due next. Budgets are shares of the pages' changes
a second. All learn from nothing, for two thirds of the time; the last third is measured.
"""

import copy
import math
from collections.abc import Sequence
from random import Random
from typing import Final

from app.policy import recrawl
from app.policy.recrawl import Revisit, Terms
from tests.policy.changing_web import DAY_S, NEVER, ChangingPage, Freshness, Schedule, Visit, make_web, run

BAR: Final = 0.95  # of the best
VISITS_A_PAGE: Final = 45  # on average, in the whole time
MEASURED: Final = 1 / 3
SAMPLE: Final = 1_000  # pages that a price is found from
TERMS: Final = Terms(base_s=7 * DAY_S, min_s=3_600.0, max_s=90 * DAY_S)
_REPRICES: Final = 60


class OurSchedule:
    """The policy of the crawler, and the price that its budget comes to."""

    pulls = False

    def __init__(self, pages: int, requests_per_s: float, every_s: float, rng: Random) -> None:
        self._beliefs = [recrawl.first_belief(TERMS.base_s)] * pages
        self._requests_per_s, self._every_s, self._rng = requests_per_s, every_s, rng
        self._priced_s = -math.inf
        self._terms = TERMS

    def first_s(self, page: int) -> float:
        return self._rng.uniform(0, len(self._beliefs) / self._requests_per_s)

    def reprice(self, now_s: float) -> None:
        if now_s - self._priced_s < self._every_s:
            return
        self._priced_s = now_s
        sample = self._rng.sample(self._beliefs, min(SAMPLE, len(self._beliefs)))
        share = self._requests_per_s * len(sample) / len(self._beliefs)
        price_s = recrawl.price_s([(belief, TERMS) for belief in sample], share)
        self._terms = Terms(base_s=TERMS.base_s, min_s=TERMS.min_s, max_s=TERMS.max_s, price_s=price_s)

    def next_s(self, visit: Visit) -> float:
        look = Revisit(interval_s=visit.interval_s, changed=visit.changed, age_s=visit.age_s)
        belief = recrawl.belief_after(self._beliefs[visit.page], look)
        self._beliefs[visit.page] = belief
        return recrawl.spread_s(recrawl.interval_s(belief, self._terms), self._rng)


class BestSchedule:
    """The optimum of one who knows every rate."""

    pulls = False

    def __init__(self, web: Sequence[ChangingPage], requests_per_s: float, rng: Random) -> None:
        self._intervals_s = best_intervals_s([page.rate for page in web], requests_per_s)
        self._rng = rng

    def first_s(self, page: int) -> float:
        interval_s = self._intervals_s[page]
        return NEVER if interval_s == NEVER else self._rng.uniform(0, interval_s)

    def next_s(self, visit: Visit) -> float:
        return self._intervals_s[visit.page]


class FixedSchedule:
    pulls = True

    def __init__(self, pages: int, requests_per_s: float) -> None:
        self._every_s = pages / requests_per_s

    def first_s(self, page: int) -> float:
        return page / self._every_s

    def next_s(self, visit: Visit) -> float:
        return self._every_s


class FactorSchedule:
    """Multiplies the interval by 1.5 or 0.5."""

    pulls = True

    def __init__(self, pages: int, rng: Random) -> None:
        self._intervals_s = [TERMS.base_s] * pages
        self._rng = rng

    def first_s(self, page: int) -> float:
        return self._rng.uniform(0, TERMS.base_s)

    def next_s(self, visit: Visit) -> float:
        interval_s = self._intervals_s[visit.page] * (0.5 if visit.changed else 1.5)
        self._intervals_s[visit.page] = min(max(interval_s, TERMS.min_s), TERMS.max_s)
        return self._intervals_s[visit.page]


class NutchSchedule:
    """AdaptiveFetchSchedule.setFetchSchedule of Apache Nutch 1.x, with the defaults of nutch-default.xml."""

    pulls = True

    def __init__(self, pages: int, rng: Random) -> None:
        self._intervals_s = [30 * DAY_S] * pages  # db.fetch.interval.default
        self._modified_s = [0.0] * pages
        self._rng = rng

    def first_s(self, page: int) -> float:
        return self._rng.uniform(0, self._intervals_s[page])

    def next_s(self, visit: Visit) -> float:
        interval_s = self._intervals_s[visit.page] * (0.8 if visit.changed else 1.4)
        if visit.changed:
            self._modified_s[visit.page] = visit.now_s
        since_s = visit.now_s - self._modified_s[visit.page]
        interval_s = min(max(interval_s, since_s, 60.0), 31_536_000.0)
        self._intervals_s[visit.page] = interval_s
        return max(interval_s - 0.3 * since_s, 0.0)


def best_intervals_s(rates: Sequence[float], requests_per_s: float) -> list[float]:
    """The interval of each page at which the budget buys most freshness, by true rates. NEVER: none does."""
    low_s, high_s = 1e-3, 1 / min(rate for rate in rates if rate)
    for _ in range(60):
        price_s = math.sqrt(low_s * high_s)
        asked = sum(1 / best_interval_s(rate, price_s) for rate in rates)
        low_s, high_s = (price_s, high_s) if asked > requests_per_s else (low_s, price_s)
    return [best_interval_s(rate, high_s) for rate in rates]


def best_interval_s(rate: float, price_s: float) -> float:
    """The interval at which the last request buys the price: 1 - (1 + x) exp(-x) = rate × price; x: rate × interval."""
    wanted = rate * price_s
    if rate == 0 or wanted >= 1:
        return NEVER
    low, high = 0.0, 60.0
    for _ in range(50):
        x = (low + high) / 2
        low, high = (x, high) if -math.expm1(-x) - x * math.exp(-x) < wanted else (low, x)
    return high / rate


def compare(pages: int, budget: float, seed: int) -> dict[str, Freshness]:
    """Each schedule's freshness in copies of one web, at a budget as a share of the changes a second."""
    web = make_web(pages, Random(seed))
    per_s = budget * sum(page.rate for page in web)
    ends_s = VISITS_A_PAGE * pages / per_s
    ours = OurSchedule(pages, per_s, ends_s / _REPRICES, Random(seed))
    schedules: dict[str, Schedule] = {
        "best": BestSchedule(web, per_s, Random(seed)),
        "tiptoe": ours,
        "fixed": FixedSchedule(pages, per_s),
        "factors": FactorSchedule(pages, Random(seed)),
        "nutch": NutchSchedule(pages, Random(seed)),
    }
    return {
        name: run(
            copy.deepcopy(web),
            schedule,
            requests_per_s=per_s,
            ends_s=ends_s,
            measured=MEASURED,
            rng=Random(seed + 1),
            each_day=ours.reprice if schedule is ours else lambda now_s: None,
        )
        for name, schedule in schedules.items()
    }
