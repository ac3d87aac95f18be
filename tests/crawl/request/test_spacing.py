"""How far a host's starts are apart whose budget is its own, however long its answers take."""

import pytest

from app.crawl.request.slots import spaced_at
from app.crawl.state.slot import Slot
from app.store.budgets import Budget, BudgetKind

GAP_S = 0.5
ADDRESS = Budget(BudgetKind.ADDRESS, "192.0.2.1", GAP_S)
LATE_S = (0.0, 0.01, 0.2)


@pytest.mark.parametrize("late_s", LATE_S)
def test_the_next_start_is_a_gap_after_this_one_however_late_that_was(late_s: float) -> None:
    """The answer that granted it came 70 ms after its moment, and that for the next one at once: by our clock
    this one was not late, and the next was 0.48 s after it."""
    slot = Slot(address=ADDRESS.name, drawn=(ADDRESS,), ready_at=100.0)
    assert spaced_at(slot, 100.0 + late_s) == pytest.approx(100.0 + late_s + GAP_S)


def test_a_host_that_holds_its_budget_keeps_its_slack_too() -> None:
    slot = Slot(address=ADDRESS.name, drawn=(ADDRESS,), ready_at=100.0, held_until=130.0)
    assert spaced_at(slot, 100.0) == pytest.approx(100.0 + GAP_S + ADDRESS.slack_s)


def test_without_a_budget_nothing_is_added() -> None:
    assert spaced_at(Slot(), 100.0) == 100.0
