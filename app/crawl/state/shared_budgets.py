"""Finds the shared budgets of a request: its address's (or that of the front it belongs to) and its domain's (promise
P3).

The fleet's ceiling is a rate and not a gap: `app.crawl.state.lots`.
"""

import ipaddress
from functools import lru_cache

from app.config import Settings
from app.store.budgets import Budget, BudgetKind


class SharedBudgets:
    """The shared budgets that the settings define. any: whether there is one."""

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
