"""The start of one request."""

from datetime import datetime
from typing import NamedTuple

from app.crawl.state.line import Line
from app.store.budgets import Answer, Budget, BudgetKind


class Slot(NamedTuple):
    """The start of one request; of every request until `held_until`, where the host has its budgets to itself.

    address   the only one to connect to; None: no budget depends on it
    drawn     budgets that it was granted on
    ready_at  monotonic seconds;   not_after: a later start would come too close to the next one's
    granted_at  database time and monotonic second of the grant: the log tells the start by it
    probes    its address had refused the last connection
    dns_ms    that finding the address took
    line      where the request is to wait for its start, with a connection: several hosts share what was drawn on
    """

    address: str | None = None
    drawn: tuple[Budget, ...] = ()
    ready_at: float = 0.0
    not_after: float | None = None
    granted_at: tuple[datetime, float] | None = None
    probes: bool = False
    dns_ms: float | None = None
    held_until: float | None = None
    line: Line | None = None

    @property
    def address_budget(self) -> Budget | None:
        for each in self.drawn:
            if each.kind in {BudgetKind.ADDRESS, BudgetKind.NETWORK}:
                return each
        return None


class Near(NamedTuple):
    """A start is near on the budgets of this address: they are not asked again before `until`, in monotonic seconds."""

    address: str
    answer: Answer
    until: float
