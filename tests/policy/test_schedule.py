"""When a page is due again: by what another request buys, at the price that a budget comes to."""

from math import exp, expm1, log1p
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.recrawl import (
    ChangeRate,
    Revisit,
    Terms,
    belief_after,
    first_belief,
    interval_s,
    price_s,
    spread_s,
)

DAY_S = 86_400.0
TERMS = Terms(base_s=7 * DAY_S, min_s=3_600.0, max_s=90 * DAY_S)


def gain_s(rate: ChangeRate, interval_s: float) -> float:
    """Page-seconds of freshness that the last of the requests buys at this interval: the mean over the belief."""
    stretch, more = interval_s / rate.seconds, rate.shape - 1
    if stretch * max(rate.shape, 1.0) < 1e-4:
        return rate.seconds * rate.shape * stretch**2 / 2
    fresh = log1p(stretch) if abs(more) < 1e-9 else -expm1(-more * log1p(stretch)) / more
    return rate.seconds * (fresh - stretch * exp(-rate.shape * log1p(stretch)))


def sure(days: float) -> ChangeRate:
    """A belief that a page changes once in so many days, and hardly any doubt."""
    return ChangeRate(1e6, 1e6 * days * DAY_S)


def with_price(price: float, *, weight: float = 1.0) -> Terms:
    return Terms(base_s=TERMS.base_s, min_s=TERMS.min_s, max_s=TERMS.max_s, price_s=price, weight=weight)


@pytest.mark.parametrize("base_days", [0.5, 7, 30])
def test_a_new_page_is_due_after_the_base_interval(base_days: float) -> None:
    terms = Terms(base_s=base_days * DAY_S, min_s=3_600.0, max_s=90 * DAY_S)
    assert interval_s(first_belief(terms.base_s), terms) == pytest.approx(terms.base_s, rel=0.01)


@pytest.mark.parametrize("days", [0.5, 3, 20])
@pytest.mark.parametrize("price", [0.2 * DAY_S, DAY_S])
def test_cho_2003_the_last_request_buys_the_price(days: float, price: float) -> None:
    """(1 - (1 + λI) exp(-λI)) / λ = price, where the rate is certain and worth following."""
    interval, rate = interval_s(sure(days), with_price(price)), 1 / (days * DAY_S)
    if rate * price < 1:
        x = rate * interval
        assert (1 - (1 + x) * exp(-x)) / rate == pytest.approx(price, rel=0.01)
    else:
        assert interval == TERMS.max_s


# (days between changes) in the order of their intervals: the shortest first
def test_what_changes_too_fast_is_not_chased() -> None:
    price = DAY_S
    intervals = {days: interval_s(sure(days), with_price(price)) for days in (0.1, 0.9, 1.5, 5, 50, 20_000)}
    assert intervals[0.1] == intervals[0.9] == TERMS.max_s
    assert intervals[1.5] < intervals[5] < intervals[50] < intervals[20_000] == TERMS.max_s


def test_doubt_is_worth_a_look() -> None:
    """Nobody knows whether it is too fast: it may not be."""
    doubtful = ChangeRate(0.5, 0.5 * 0.1 * DAY_S)
    assert interval_s(doubtful, with_price(DAY_S)) < interval_s(sure(0.1), with_price(DAY_S))


def test_without_a_budget_only_the_base_counts() -> None:
    heavy = Terms(base_s=TERMS.base_s, min_s=TERMS.min_s, max_s=TERMS.max_s, weight=50)
    assert interval_s(sure(5), heavy) == interval_s(sure(5), TERMS)


def test_an_important_page_has_a_lower_price() -> None:
    assert interval_s(sure(5), with_price(DAY_S, weight=4)) == pytest.approx(
        interval_s(sure(5), with_price(DAY_S / 4)), rel=1e-3
    )


@pytest.mark.parametrize("share", [0.1, 0.5, 1, 2])
def test_the_price_spends_the_budget(share: float) -> None:
    rng = Random(3)
    pages = [
        (ChangeRate(shape, shape * rng.lognormvariate(13, 1.5)), TERMS) for shape in (0.5, 2, 9) for _ in range(80)
    ]
    budget = share * sum(rate.shape / rate.seconds for rate, _ in pages)
    terms = with_price(price_s(pages, budget))
    asked = sum(1 / interval_s(rate, terms) for rate, _ in pages)
    floor = len(pages) / TERMS.max_s  # the longest interval holds, whatever the budget
    assert asked == pytest.approx(max(budget, floor), rel=0.05) or asked < budget


def test_a_budget_beyond_need_costs_nothing() -> None:
    assert price_s([(sure(1), TERMS)], 1e6) == 0.0
    assert interval_s(sure(1), with_price(0.0)) == TERMS.min_s


# changed, the age that its last change has by its own word → whether the age is believed
@pytest.mark.parametrize(
    ("changed", "age_s", "same_as"),
    [
        (None, None, first_belief(DAY_S)),
        (None, 5.0, first_belief(DAY_S)),
        (True, 2 * DAY_S, belief_after(first_belief(DAY_S), Revisit(interval_s=DAY_S, changed=True))),
        (True, -5.0, belief_after(first_belief(DAY_S), Revisit(interval_s=DAY_S, changed=True))),
        (False, 5.0, belief_after(first_belief(DAY_S), Revisit(interval_s=DAY_S, changed=False))),
    ],
)
def test_an_age_that_cannot_be_is_not_believed(changed: bool | None, age_s: float | None, same_as: ChangeRate) -> None:
    assert belief_after(first_belief(DAY_S), Revisit(interval_s=DAY_S, changed=changed, age_s=age_s)) == same_as


def test_a_known_time_of_change_tells_more() -> None:
    told = belief_after(first_belief(DAY_S), Revisit(interval_s=10 * DAY_S, changed=True, age_s=0.01 * DAY_S))
    seen = belief_after(first_belief(DAY_S), Revisit(interval_s=10 * DAY_S, changed=True))
    assert told.mean_s < seen.mean_s


@given(st.floats(0.01, 30), st.floats(1, 1e9), st.floats(1e-3, 1e8))
def test_any_belief_has_an_interval_within_bounds(shape: float, seconds: float, price: float) -> None:
    rate, terms = ChangeRate(shape, seconds), with_price(price)
    found = interval_s(rate, terms)
    assert terms.min_s <= found <= terms.max_s
    if terms.min_s < found < terms.max_s:
        assert gain_s(rate, found) == pytest.approx(price, rel=0.01)


@given(st.integers())
def test_intervals_are_spread(seed: int) -> None:
    assert 0.9 * DAY_S <= spread_s(DAY_S, Random(seed)) <= 1.1 * DAY_S
    assert len({spread_s(DAY_S, Random(seed + n)) for n in range(20)}) > 10
