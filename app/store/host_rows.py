"""Rows of hosts as queries of hosts.sql take and give them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.model import RestReason


class Offer(NamedTuple):
    """A host leased by the dispatcher and not taken up yet. due_at: its next contact, as it was before."""

    host_id: int
    name: str
    queue: str
    token: UUID
    due_at: datetime | None


class TakenHost(NamedTuple):
    """A visit's knowledge of its host at take-up.

    now      database time;   wait_s: seconds until the host may be contacted
    lineage  since when the rows are in their present lineage (app.store.lineage): older memories count for nothing
    """

    visit_id: int
    name: str
    domain: str | None
    address: str | None
    delay_s: float
    delay_override_s: float | None
    robots_delay_s: float | None
    failures: int
    adaptive_level: int
    recent_statuses: list[int]
    recent_ms: list[int | None]
    latency_s: float | None
    breaker_trips: int
    quiet_hours: str | None
    resting_because: str | None
    isolate: int
    answered: bool
    contacted: bool
    unfetched: int
    now: datetime
    wait_s: float
    lineage: datetime | None


class Locked(NamedTuple):
    """Valid leases, locked.

    pauses  by token: whether a pause was requested
    xid     the transaction's id: after an unanswered commit its fate can be looked up (app.store.lineage)
    """

    pauses: dict[UUID, bool]
    xid: str


class Loan(NamedTuple):
    """A host lent for one request. delay_s: its delay in force; quiet_hours: an operator's."""

    host_id: int
    token: UUID
    delay_s: float
    quiet_hours: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """A settle's news of a host, under the lease that the token names.

    pause_s   the delay with its jitter: the real wait after the last request
    age_s     seconds since the end of the last request of this batch, measured just before the query is sent; None:
              none
    rest_s    the host is left alone this long, beyond its delay, for the reason in resting_because
    wait_s    no queued URL may be fetched before; a new URL ends the wait, unlike a rest
    unfetched change of the number of URLs that wait for their first fetch; `counted`: their number, just counted
    """

    host_id: int
    token: UUID
    delay_s: float
    pause_s: float
    robots_delay_s: float | None
    age_s: float | None
    answered: bool
    address: str | None
    failures: int
    adaptive_level: int
    recent_statuses: Sequence[int]
    recent_ms: Sequence[int | None]
    latency_s: float | None
    breaker_trips: int
    isolate: int
    rest_s: float | None = None
    resting_because: RestReason | None = None
    resting_detail: str | None = None
    unfetched: int = 0
    counted: bool = False
    wait_s: float | None = None
