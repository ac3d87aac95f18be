"""Drawing starts for those who stand in line: over which connection, and how many."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.crawl.request.line_gate import LineGate, starts_for
from app.crawl.state.worker import Worker
from app.store import db
from app.store.budgets import Budget, BudgetKind

Make = Callable[..., Worker]
FRONT = Budget(BudgetKind.NETWORK, "192.0.2.0/24", 0.02)


def gate(worker: Worker) -> LineGate:
    now = worker.monotonic()
    line = worker.starts.lines.of((FRONT,), FRONT.gap_s)
    return LineGate(worker=worker, line=line, wanted=(FRONT,), host_id=1, ready_at=now, until=now + 60.0)


def test_a_draw_waits_for_no_connection_that_visits_hold(make: Make) -> None:
    worker = make()
    busy = db.connect(worker.engine.url.render_as_string(hide_password=False), pool_size=1)
    held = [busy.connect() for _ in range(5)]  # all that its pool may have
    try:
        assert gate(replace(worker, engine=busy, starts=replace(worker.starts, draws=worker.engine))).open()
    finally:
        for each in held:
            each.close()
        busy.dispose()


@pytest.mark.parametrize(
    ("standing", "starts"),
    # more than stand there by a tenth, and no more than fit into the longest lot
    [(1, 1), (9, 9), (20, 22), (500, FRONT.lot_most)],
)
def test_a_lot_has_a_start_for_each_who_stands_in_line_and_some_for_those_who_come(standing: int, starts: int) -> None:
    assert starts_for(standing, (FRONT,)) == starts
    assert starts_for(standing, (FRONT, Budget(BudgetKind.DOMAIN, "example.org", 1.0))) == 1
