"""Decides when a page is due again (promises V1, V2, V4): where another request buys enough freshness for its price.

A page with rate λ that is visited every I seconds is fresh for (1 - exp(-λI)) / λI of the time. The requests of a
budget buy most freshness when the last one of each page buys equally much: (1 - (1 + λI) exp(-λI)) / λ page-seconds,
the price. So one number, which the budget gives, makes each page's interval, and no page needs to know of another. A
page for which even that is too dear changes too fast to follow and is left alone but for a rare look. Source: J. Cho,
H. Garcia-Molina, "Effective page refresh policies for web crawlers", ACM TODS 28(4), 2003; the price as a Lagrange
multiplier also in Y. Azar, E. Horvitz, E. Lubetzky, Y. Peres, D. Shahaf, "Tractable near-optimal policies for
crawling", PNAS 115(32), 2018.

Both take λ as known. Here the gain is its mean over the belief about λ, which has a closed form, and
which keeps looking at pages that little is known of: exploring needs no rule of its own.

Pages that change by other kinds of process are in `tests/policy/changing_web.py`.

Decides whether to trust a sitemap's lastmod (promise M2), by comparing its claims with what fetches saw.

A claim is tested when its page is fetched again: a lastmod after the last fetch says "changed since", one before it
says "not changed". The first fetch of a page proves nothing. changefreq and priority are recorded and ignored: nothing
tests them.

Estimates how often a page changes, from visits at any intervals and from known times of change (promise V2).

Changes are taken as a Poisson process. The belief about its rate is a Gamma distribution, two numbers a page, in place
of the list of visits that a maximum-likelihood estimate needs (J. Cho, H. Garcia-Molina, "Estimating frequency of
change", ACM TOIT 3(3), 2003):

- unchanged for τ: likelihood exp(-λτ), which a Gamma belief absorbs exactly
- last changed a ago, by Last-Modified: likelihood λ exp(-λa), exactly too
- changed within τ, nobody knows when or how often: likelihood 1 - exp(-λτ). The result is no Gamma; the one with its
  mean and variance is kept (moment matching: T. Minka, "Expectation propagation for approximate Bayesian inference",
  2001, section 2).

The naive estimate, changes seen divided by time, takes a page that changes hourly for one that changes as often as we
look.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from math import exp, expm1, log, log1p, sqrt
from random import Random
from typing import Final, NamedTuple

# Without a budget a request must buy an eighth of the base interval: a page that changes once in it is visited twice,
# one that changes over eight times is not chased.
PRICE_SHARE: Final = 1 / 8
# The base interval in units of a new belief's seconds, so that a page nobody knows is visited after it: the solution of
# gain(x) = x / 8 for the first shape.
_FIRST_STRETCH: Final = 1.0691
SPREAD: Final = 0.1  # what was settled together is due apart
_ENOUGH: Final = 1e-4  # of the interval
_MOST_STEPS: Final = 60
BELIEVED_SHARE = 0.8
FUTURE = timedelta(days=1)  # clocks and time zones differ; a date further ahead is no statement about the past
# Half an observation: pages of one site differ a thousandfold, so that the first visits must decide.
FIRST_SHAPE = 0.5
MOST_SHAPE = 30.0  # changes that are remembered: a page that changes its ways is believed after a few dozen visits
LONGEST_S = 20 * 365 * 86_400.0  # no page is believed to change more rarely
_LEAST_S = 1.0  # no interval is shorter: a page fetched twice in a second tells nothing


class ChangeRate(NamedTuple):
    """A belief about a page's changes a second: a Gamma distribution.

    shape    about as many changes as it rests on
    seconds  about as long as they were watched for: shape / seconds is the mean rate
    """

    shape: float
    seconds: float

    @property
    def mean_s(self) -> float:
        """Seconds from one change to the next, by the mean rate."""
        return self.seconds / self.shape


def unchanged_for(rate: ChangeRate, interval_s: float) -> ChangeRate:
    """The belief after an interval in which the page stayed as it was."""
    return _bounded(rate.shape, rate.seconds + max(interval_s, _LEAST_S))


def last_changed(rate: ChangeRate, age_s: float) -> ChangeRate:
    """The belief after a change whose time is known: so many seconds before the visit that found it."""
    return _bounded(rate.shape + 1, rate.seconds + max(age_s, _LEAST_S))


def changed_within(rate: ChangeRate, interval_s: float) -> ChangeRate:
    """The belief after an interval in which the page changed, once or more often."""
    shape, seconds = rate
    stretch = log1p(max(interval_s, _LEAST_S) / seconds)
    seen = -expm1(-shape * stretch)  # the probability of what was seen
    mean = shape / seconds * -expm1(-(shape + 1) * stretch) / seen
    square = shape * (shape + 1) / seconds**2 * -expm1(-(shape + 2) * stretch) / seen
    variance = max(square - mean * mean, 1e-9 * square)
    return _bounded(mean * mean / variance, mean / variance)


def _bounded(shape: float, seconds: float) -> ChangeRate:
    if shape > MOST_SHAPE:
        shape, seconds = MOST_SHAPE, seconds * MOST_SHAPE / shape
    return ChangeRate(shape, min(seconds, shape * LONGEST_S))


class Often(NamedTuple):
    """How often a page is wanted.

    every_s     base interval; None: as the settings say
    importance  how much its freshness counts under a budget: 2 is as good as half the price of a request
    """

    every_s: float | None = None
    importance: float = 1.0


USUAL: Final = Often()


class Terms(NamedTuple):
    """The terms of a crawl for a page. Prices and intervals in seconds.

    base_s        interval of a page that nothing is known of, where there is no budget
    min_s, max_s  bounds of any interval
    price_s       page-seconds of freshness that a request must buy, by the budget; None: an eighth of base_s
    weight        how much its freshness counts under a budget: 2 is as good as half the price
    """

    base_s: float
    min_s: float
    max_s: float
    price_s: float | None = None
    weight: float = 1.0


def terms_of(often: Often, *, base_s: float, min_s: float, max_s: float, price_s: float | None = None) -> Terms:
    """The terms for a page; what is not said of it is as given."""
    return Terms(base_s=often.every_s or base_s, min_s=min_s, max_s=max_s, price_s=price_s, weight=often.importance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revisit:
    """The result of a visit to a page that was visited before.

    interval_s  since the visit before
    changed     its main text did; None: that cannot be told
    age_s       since its last change, by its own word; None: it says nothing of use
    """

    interval_s: float
    changed: bool | None
    age_s: float | None = None


def first_belief(base_s: float) -> ChangeRate:
    """The belief about a page that was never seen twice."""
    return ChangeRate(FIRST_SHAPE, base_s / _FIRST_STRETCH)


def belief_after(rate: ChangeRate, look: Revisit) -> ChangeRate:
    """The belief about a page's rate after one more visit."""
    if look.changed is None:
        return rate
    if not look.changed:
        return unchanged_for(rate, look.interval_s)
    if look.age_s is not None and 0 <= look.age_s <= look.interval_s:
        return last_changed(rate, look.age_s)
    return changed_within(rate, look.interval_s)


def interval_s(rate: ChangeRate, terms: Terms) -> float:
    """Seconds until the next visit: the shortest interval whose last second is worth a request, within the bounds."""
    price_s = PRICE_SHARE * terms.base_s if terms.price_s is None else terms.price_s / terms.weight
    due_s = _solve(rate, price_s, terms.max_s)
    return min(max(due_s, terms.min_s), terms.max_s)


def spread_s(seconds: float, rng: Random) -> float:
    """An interval, a little shorter or longer, so that pages that were settled together do not come due together."""
    return seconds * rng.uniform(1 - SPREAD, 1 + SPREAD)


def price_s(rates: Sequence[tuple[ChangeRate, Terms]], requests_per_s: float) -> float:
    """The price at which these pages together ask for so many requests a second; 0 where the budget is more than they
    need.

    Bounds of intervals hold. Where even the longest intervals ask for more, the price is the highest that changes
    anything.
    """
    low_s, high_s = 1e-3, max((terms.max_s * terms.weight for _, terms in rates), default=1e-3)
    if _asked(rates, low_s) <= requests_per_s:
        return 0.0
    for _ in range(_MOST_STEPS):
        middle_s = sqrt(low_s * high_s)
        if _asked(rates, middle_s) > requests_per_s:
            low_s = middle_s
        else:
            high_s = middle_s
        if high_s < low_s * 1.005:
            break
    return high_s


def _asked(rates: Sequence[tuple[ChangeRate, Terms]], price: float) -> float:
    return sum(
        1 / min(max(_solve(rate, price / terms.weight, terms.max_s), terms.min_s), terms.max_s) for rate, terms in rates
    )


def _gain(shape: float, stretch: float) -> float:
    """The mean of (1 - (1 + x) exp(-x)) / λ with x = λ × interval, in units of the belief's seconds. It grows with the
    interval.
    """
    if stretch * max(shape, 1.0) < 1e-4:
        return shape * stretch * stretch / 2
    logarithm = log1p(stretch)
    more = shape - 1
    fresh = logarithm if abs(more) < 1e-9 else -expm1(-more * logarithm) / more
    return fresh - stretch * exp(-shape * logarithm)


@lru_cache(maxsize=1_024)  # pages that were fetched once differ in nothing here
def _solve(rate: ChangeRate, price: float, max_s: float) -> float:
    """The interval whose gain is the price; max_s where none up to it is. Newton's method on logarithms, kept within
    bounds.
    """
    shape, seconds = rate
    wanted, most = price / seconds, max_s / seconds
    if wanted <= 0:
        return 0.0
    if _gain(shape, most) <= wanted:
        return max_s
    low, high = 0.0, most
    stretch = min(sqrt(2 * wanted / shape), most / 2)
    for _ in range(_MOST_STEPS):
        gain = _gain(shape, stretch)
        if gain > wanted:
            high = stretch
        else:
            low = stretch
        slope = shape * stretch * stretch * exp(-(shape + 1) * log1p(stretch)) / gain
        step = log(wanted / gain) / slope if slope > 1e-12 else high
        following = stretch * exp(min(max(step, -3.0), 3.0))
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - stretch) <= _ENOUGH * stretch:
            return following * seconds
        stretch = following
    return stretch * seconds


def plausible(lastmod: datetime | None, now: datetime) -> datetime | None:
    """The lastmod, None where it lies in the future."""
    return lastmod if lastmod is not None and lastmod <= now + FUTURE else None


def is_true(lastmod: datetime, *, fetched_at: datetime, changed: bool) -> bool | None:
    """Whether a claim was true. None: rightly "not changed", which earns no trust.

    fetched_at  the fetch before
    changed     since then, as we saw"""
    if lastmod > fetched_at:
        return changed
    return False if changed else None


def is_believed(claims: int, true_claims: int) -> bool:
    """Whether at least one claim was true, and at least four claims in five."""
    return true_claims > 0 and true_claims >= BELIEVED_SHARE * claims
