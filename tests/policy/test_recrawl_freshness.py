"""The simulation of recrawls, at a small size: our schedule against the best, and against others."""

import pytest

from tests.policy.recrawl_schedules import BAR, compare


@pytest.mark.parametrize("budget", [0.1, 1.0])
def test_a_budget_buys_nearly_the_best_freshness(budget: float) -> None:
    found = compare(150, budget, seed=3)
    best, ours = found["best"].share(), found["tiptoe"].share()
    assert BAR * best <= ours <= 1.02 * best
    assert ours > max(found[other].share() for other in ("fixed", "factors", "nutch"))
    assert found["tiptoe"].visits <= 1.01 * found["fixed"].visits
