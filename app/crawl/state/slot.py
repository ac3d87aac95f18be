"""The start of one request, and what the budgets of its address answered."""

from math import inf
from typing import NamedTuple

from app.crawl.state.line import Line
from app.store.budgets import LONE_S, Budget, BudgetAnswer, BudgetKind

LONE_MARGIN_S = 0.1


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


class Asked(NamedTuple):
    """What the budgets of an address answered. Points in time are monotonic seconds.

    earliest, latest   the answer's `now` lies between them
    hold_s             as in StartTerms
    until              the budgets are not asked again before
    """

    address: str
    answer: BudgetAnswer
    earliest: float
    latest: float
    hold_s: float = 0.0
    until: float = inf

    def slot(self, drawn: tuple[Budget, ...], dns_ms: float | None) -> Slot:
        """The granted start: not before the later bound of the database's moment, and not after the earlier one."""
        answer = self.answer
        late_s = LONE_S - LONE_MARGIN_S
        last_s = max(answer.wait_s, self.hold_s) if answer.held else answer.wait_s
        return Slot(
            address=self.address,
            drawn=drawn,
            ready_at=self.latest + answer.wait_s,
            not_after=self.earliest + last_s + late_s,
            probes=answer.failures > 0,
            dns_ms=dns_ms,
            held_until=self.earliest + self.hold_s if answer.held else None,
        )
