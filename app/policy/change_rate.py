"""Estimates how often a page changes, from visits at any intervals and from known times of change (promise V2).

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

from math import expm1, log1p
from typing import NamedTuple

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
