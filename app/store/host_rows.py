"""Rows of hosts as queries of hosts.sql take and give them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.model import Rest
from app.policy.host import queue_for, registrable_domain
from app.policy.pace import History


class Offer(NamedTuple):
    """A host leased by the dispatcher and not taken up yet. due_at: its next contact, as it was before."""

    host_id: int
    name: str
    queue: str
    token: UUID
    due_at: datetime | None


@dataclass(slots=True, kw_only=True)
class HostPace:
    """A host's pace, one value from row to row: read by a take-up, changed by requests, written by each settle.

    delay_s         seconds from the end of a request to the start of the next, before jitter
    robots_delay_s  the slowest Crawl-delay of its origins, in seconds; None: none asks
    history         its last results, and the level of its delay
    trips           how often in a row the breaker closed it
    failures        requests in a row that it did not serve
    isolate         URLs that are still fetched in isolation
    answered        it has answered once
    """

    delay_s: float
    robots_delay_s: float | None
    history: History
    trips: int
    failures: int
    isolate: int
    answered: bool

    def fail(self) -> None:
        """Count a request that the host did not serve."""
        self.failures += 1

    def answer(self, status: int | None) -> None:
        """Note that the host is there, if it answered with a status."""
        self.answered = self.answered or status is not None

    def serve(self, status: int | None) -> None:
        """Forget the failures in a row, after an answer of its own."""
        self.failures = 0
        self.answer(status)

    def isolated_one(self) -> None:
        """Count a URL that was fetched in isolation."""
        self.isolate = max(self.isolate - 1, 0)

    def columns(self) -> dict[str, object]:
        """Values of a row's columns; `answered` is for the settle to say."""
        history = self.history
        return {
            "delay_s": self.delay_s,
            "robots_delay_s": self.robots_delay_s,
            "adaptive_level": history.level,
            "recent_statuses": history.statuses,
            "recent_ms": history.ms,
            "latency_s": history.latency_s,
            "breaker_trips": self.trips,
            "failures": self.failures,
            "isolate": self.isolate,
        }


class TakenHost(NamedTuple):
    """A visit's knowledge of its host at take-up, beside its pace.

    now      database time;   wait_s: seconds until the host may be contacted
    lineage  since when the rows are in their present lineage (app.store.lineage): older memories count for nothing
    """

    visit_id: int
    name: str
    domain: str | None
    address: str | None
    delay_override_s: float | None
    quiet_hours: str | None
    resting_because: str | None
    contacted: bool
    unfetched: int
    now: datetime
    wait_s: float
    lineage: datetime | None
    pace: HostPace


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
    age_s     seconds since the end of the visit's last request, measured just before the query is sent; None: it sent
              none
    address   the one that the last request went to; None: as before
    rest_s    the host is left alone this long, beyond its delay, for the reason in `resting`
    unfetched change of the number of URLs that wait for their first fetch; `counted`: their number, just counted
    wait_s    no queued URL may be fetched before; a new URL ends the wait, unlike a rest
    """

    host_id: int
    token: UUID
    pace: HostPace
    pause_s: float
    age_s: float | None
    address: str | None
    rest_s: float | None = None
    resting: Rest | None = None
    unfetched: int = 0
    counted: bool = False
    wait_s: float | None = None

    def columns(self) -> dict[str, object]:
        """The row that hosts.sql takes."""
        because, detail = self.resting or (None, None)
        return {
            "host_id": self.host_id,
            "token": self.token,
            **self.pace.columns(),
            "pause_s": self.pause_s,
            "age_s": self.age_s,
            "answered": self.pace.answered and self.age_s is not None,
            "address": self.address,
            "rest_s": self.rest_s,
            "resting_because": because,
            "resting_detail": detail,
            "unfetched": self.unfetched,
            "counted": self.counted,
            "wait_s": self.wait_s,
        }


def host_rows(names: Iterable[str], queues: int) -> list[Mapping[str, str | None]]:
    """Rows for hosts.ensure."""
    return [{"name": name, "domain": registrable_domain(name), "queue": queue_for(name, queues)} for name in names]
