"""A visit's starts on the budgets that its host shares with others."""

from dataclasses import dataclass

from app.crawl.state.slot import Asked, Slot
from app.model import Rest


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
    asked: Asked | None = None
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
