"""The budgets that a request draws on, what they answered, and the start that they granted it (promise P3)."""

import ipaddress
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import NamedTuple

from app.config import Settings
from app.crawl.state.line import Line
from app.model import Rest
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


class Answered(NamedTuple):
    """An answer of the budgets of an address. Points in time are monotonic seconds.

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


@dataclass(slots=True, kw_only=True)
class SharedStart:
    """Starts that shared budgets granted, promised or denied to a visit. `app.crawl.request` changes it.

    domain           of the host, registrable; None: its name has none
    address_before   the address that the host's row had at take-up
    address          the one that the last request went to
    has_come_back    a shared budget made the host rest: its first start is waited for
    asked            the budgets' answer that the next request goes by: of take-up, or of a moment ago
    held             the budgets that the host shares with nobody for the length of the visit
    is_crowded       other hosts draw on the budgets of its last start
    promised         the shared budget that promised a start at the turn's `ready_at`, which the visit waits for
    connect_s        seconds that connecting took last, where connections are not kept alive: begun so long before one
    """

    domain: str | None
    address_before: str | None
    address: str | None = None
    has_come_back: bool
    asked: Answered | None = None
    held: Slot | None = None
    is_crowded: bool = False
    promised: Rest | None = None
    connect_s: float = 0.0

    def has_ticket(self, requests: int) -> bool:
        """Whether a shared budget promised the host this moment: by its gap, or by the end of its rest.

        requests: sent by the visit so far
        """
        return self.promised is not None or (requests == 0 and self.has_come_back)

    @property
    def is_promised(self) -> bool:
        """Whether a shared budget promised a start that the visit waits for."""
        return self.promised is not None


class SharedBudgets:
    """The shared budgets that the settings define: of an address, or of the front it belongs to, and of a domain.

    any: whether there is one
    """

    def __init__(self, settings: Settings) -> None:
        self._address_gap_s = settings.address_gap_s
        self._fronts = settings.fronts
        self._domain_gap_s = settings.domain_gap_s
        self.any = bool(self._address_gap_s or self._fronts or self._domain_gap_s)
        self._of_address = lru_cache(maxsize=10_000)(self._find)

    def of(self, address: str, domain: str | None) -> tuple[Budget, ...]:
        """The budgets of a request.   domain: registrable; None for an address or a single label"""
        by_domain = (Budget(BudgetKind.DOMAIN, domain, self._domain_gap_s),) if domain and self._domain_gap_s else ()
        return (*self._of_address(address), *by_domain)

    def _find(self, address: str) -> tuple[Budget, ...]:
        parsed = ipaddress.ip_address(address)
        for network, gap_s in self._fronts:
            if parsed in network:
                return (Budget(BudgetKind.NETWORK, str(network), gap_s),) if gap_s else ()
        return (Budget(BudgetKind.ADDRESS, address, self._address_gap_s),) if self._address_gap_s else ()
