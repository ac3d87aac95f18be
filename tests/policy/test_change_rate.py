"""Beliefs about a page's changes: each kind of evidence moves them as Bayes' rule does, to two moments."""

from math import exp, isclose
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.recrawl import LONGEST_S, MOST_SHAPE, ChangeRate, changed_within, last_changed, unchanged_for

DAY_S = 86_400.0
BELIEF = ChangeRate(0.5, 5 * DAY_S)


# what was seen → mean and variance of the rate, by numbers drawn from the belief and weighted by the likelihood
@pytest.mark.parametrize(
    ("after", "likelihood"),
    [
        (unchanged_for(BELIEF, 3 * DAY_S), lambda rate: exp(-rate * 3 * DAY_S)),
        (last_changed(BELIEF, 2 * DAY_S), lambda rate: rate * exp(-rate * 2 * DAY_S)),
        (changed_within(BELIEF, 3 * DAY_S), lambda rate: 1 - exp(-rate * 3 * DAY_S)),
        (changed_within(BELIEF, 0.01 * DAY_S), lambda rate: 1 - exp(-rate * 0.01 * DAY_S)),
        (changed_within(BELIEF, 900 * DAY_S), lambda rate: 1 - exp(-rate * 900 * DAY_S)),
    ],
    ids=["unchanged", "known time", "changed", "changed at once", "changed in years"],
)
def test_a_belief_has_the_moments_of_bayes_rule(after: ChangeRate, likelihood) -> None:  # type: ignore[no-untyped-def]
    rng = Random(1)
    drawn = [rng.gammavariate(BELIEF.shape, 1 / BELIEF.seconds) for _ in range(60_000)]
    weights = [likelihood(rate) for rate in drawn]
    whole = sum(weights)
    mean = sum(rate * weight for rate, weight in zip(drawn, weights, strict=True)) / whole
    square = sum(rate * rate * weight for rate, weight in zip(drawn, weights, strict=True)) / whole
    assert after.shape / after.seconds == pytest.approx(mean, rel=0.05)
    assert after.shape / after.seconds**2 == pytest.approx(square - mean * mean, rel=0.12)


def test_changes_seen_at_each_of_rare_visits_do_not_say_how_many_there_were() -> None:
    """The naive estimate, changes by time, would say one in ten days."""
    belief = BELIEF
    for _ in range(20):
        belief = changed_within(belief, 10 * DAY_S)
    assert belief.mean_s < 5 * DAY_S


# a page's true days between changes, days between visits, whether it says when it changed → the mean is learned
@pytest.mark.parametrize(
    ("true_days", "every_days", "says_so"),
    [(1, 0.5, False), (1, 2, False), (1, 5, True), (30, 10, False), (30, 40, True), (0.2, 0.1, False)],
)
def test_a_rate_is_learned(true_days: float, every_days: float, says_so: bool) -> None:
    rng, belief = Random(7), BELIEF
    for _ in range(200):
        age = rng.expovariate(1 / true_days)
        if age > every_days:
            belief = unchanged_for(belief, every_days * DAY_S)
        elif says_so:
            belief = last_changed(belief, age * DAY_S)
        else:
            belief = changed_within(belief, every_days * DAY_S)
    assert belief.mean_s == pytest.approx(true_days * DAY_S, rel=0.5)


def test_a_page_that_changes_its_ways_is_believed() -> None:
    belief = BELIEF
    for _ in range(300):
        belief = last_changed(belief, 0.1 * DAY_S)
    for _ in range(60):
        belief = unchanged_for(belief, 10 * DAY_S)
    assert belief.mean_s > 15 * DAY_S


@given(st.lists(st.tuples(st.sampled_from("ucl"), st.floats(0, 1e9)), max_size=80))
def test_any_history_leaves_a_belief(history: list[tuple[str, float]]) -> None:
    belief = BELIEF
    for kind, seconds in history:
        step = {"u": unchanged_for, "c": changed_within, "l": last_changed}[kind]
        belief = step(belief, seconds)
        assert 0 < belief.shape <= MOST_SHAPE
        assert 0 < belief.mean_s <= LONGEST_S * 1.001
        assert not isclose(belief.seconds, 0)
