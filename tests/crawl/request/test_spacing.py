"""How far a host's starts are apart whose budget is its own, however long its answers take."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from app.clock import monotonic
from app.crawl.request import slots
from app.crawl.request.line_gate import LATE_SHARE
from app.crawl.request.slots import spaced_at
from app.crawl.state.slot import Slot
from app.crawl.state.worker import Worker
from app.store import db
from app.store.budgets import Budget, BudgetKind, StartTerms
from tests.store.rows import one

GAP_S = 0.5
LOST_S = 0.3  # of an answer, on a busy machine
ADDRESS = Budget(BudgetKind.ADDRESS, "192.0.2.1", GAP_S)
OVERDUE_S = ADDRESS.slack_s * LATE_SHARE


@pytest.mark.parametrize(("late_s", "spaced_s"), [(0.0, 0.0), (0.9 * OVERDUE_S, 0.0), (1.1 * OVERDUE_S, GAP_S)])
def test_a_late_start_is_a_gap_before_the_next(late_s: float, spaced_s: float) -> None:
    slot = Slot(address=ADDRESS.name, drawn=(ADDRESS,), ready_at=100.0)
    assert spaced_at(slot, 100.0 + late_s) == pytest.approx(100.0 + late_s + spaced_s)


def test_a_host_that_holds_its_budget_keeps_its_slack_too() -> None:
    slot = Slot(address=ADDRESS.name, drawn=(ADDRESS,), ready_at=100.0, held_until=130.0)
    assert spaced_at(slot, 100.0) == pytest.approx(100.0 + GAP_S + ADDRESS.slack_s)


def test_a_start_is_late_whose_answer_came_late(worker: Worker, engine: Engine) -> None:
    """By the moment at which its answer came it would not be, and the next, answered at once, too close to it."""
    sent = monotonic()
    told = one(engine, "SELECT clock_timestamp()")
    worker.starts.clock_tie.moments(told, sent=sent, received=monotonic())
    held_up = iter([0.0, LOST_S])
    late = replace(worker, monotonic=lambda: monotonic() + next(held_up))
    with db.transaction(engine, by_statement=True) as tx:
        asked = slots.ask(late, tx, ADDRESS.name, (ADDRESS,), StartTerms(host_id=1, ready_in_s=0.0, horizon_s=1.0))
    slot = asked.slot((ADDRESS,), None)
    came = monotonic() + LOST_S
    assert spaced_at(slot, came) == pytest.approx(came + GAP_S)


def test_without_a_budget_nothing_is_added() -> None:
    assert spaced_at(Slot(), 100.0) == 100.0
