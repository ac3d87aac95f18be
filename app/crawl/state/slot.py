"""The start of one request."""

from typing import NamedTuple

from app.crawl.state.line import Line
from app.store.budgets import Budget, BudgetAnswer, BudgetKind


class Slot(NamedTuple):
    """The start of one request, or of every request until `held_until` where the host shares its budgets with nobody.

    address     the only one to connect to; None: no budget depends on it
    drawn       budgets that it was granted on
    ready_at    monotonic second;   not_after: a later start would be too close to the next one
    probes      its address had refused the last connection
    dns_ms      milliseconds that finding the address took
    line        where the request waits for its start, with a connection: several hosts share the budgets
    """

    address: str | None = None
    drawn: tuple[Budget, ...] = ()
    ready_at: float = 0.0
    not_after: float | None = None
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
    """A start that is near on the budgets of an address.

    They are not asked again before `until`, a monotonic second.
    """

    address: str
    answer: BudgetAnswer
    until: float
