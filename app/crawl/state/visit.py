"""A visit in progress: one worker's stay at one host, in parts that each have one owner.

Steps take the parts that they use; those that need most of them take the visit. Points in time are monotonic seconds.
A lease counts from *sending* its query, a wait from *receiving* the answer.
"""

from dataclasses import dataclass, field
from datetime import datetime

import structlog

from app.config.settings import LEASE_MARGIN_S
from app.crawl.state.batch import Batch
from app.crawl.state.host_rest import HostRest
from app.crawl.state.lease import Lease
from app.crawl.state.origins import HostOrigins
from app.crawl.state.picked import Picked
from app.crawl.state.slot import SharedStart
from app.crawl.state.turn import Turn
from app.crawl.state.worker import Worker
from app.errors import LeaseLost, ServiceError
from app.model import VisitEnding
from app.policy.lifecycle import VisitEvent, VisitState, visit_after
from app.store import db, hosts
from app.store.host_rows import HostPace

_log = structlog.get_logger()
LOOK_LINKS = 1_000  # are judged or written, and the lease is looked at
LINK_S = 0.002  # that a link may take to be judged or written, on a machine that is as busy as twenty


@dataclass(slots=True, kw_only=True)
class Visit:
    """A visit in progress.

    worker   the process's resources
    lease    its right to the host: take-up and settle change it
    turn     when the next request may start, and the host's pace: request
    start    what shared budgets granted or promised: request
    rest     why and until when the host is left alone: request
    origins  robots.txt and tdmrep.json of the host's origins: robots
    picked   what to fetch next: frontier
    batch    what was fetched since the last settle: page
    leaving  the ending that the next settle writes when it returns the host
    state    changed only by the table of app.policy.lifecycle
    """

    worker: Worker
    lease: Lease
    turn: Turn
    start: SharedStart
    picked: Picked
    batch: Batch
    rest: HostRest = field(default_factory=HostRest)
    origins: HostOrigins = field(default_factory=HostOrigins)
    leaving: VisitEnding | None = None
    state: VisitState = VisitState.TAKEN

    def move(self, event: VisitEvent) -> None:
        """Change the state by the table. Raises KeyError for an impossible event: a bug."""
        self.state = visit_after(self.state, event)

    @property
    def host_id(self) -> int:
        return self.lease.host_id

    @property
    def host(self) -> str:
        return self.lease.host

    @property
    def pace(self) -> HostPace:
        """The host's pace, as its row keeps it."""
        return self.turn.pace

    def now(self) -> float:
        return self.lease.monotonic()

    def database_now(self) -> datetime:
        return self.lease.database_time(self.now())

    def hold(self, links: int) -> None:
        """See that the lease outlasts the work on so many links, where they are many. Raises LeaseLost.

        Where Postgres is away the work goes on: its settle finds that.
        """
        if links < LOOK_LINKS:
            return
        try:
            outlast(self.worker, self.lease, links * LINK_S)
        except ServiceError as error:
            _log.warning("visit.not_extended", host=self.host, error=str(error))


def outlast(worker: Worker, lease: Lease, seconds: float) -> None:
    """Extend the lease unless it outlasts them, with its margin. Raises LeaseLost.

    After a step of a clock it may be another's by now, whatever we measured: Postgres is asked.
    """
    steps = worker.starts.clock_tie.steps()
    if lease.left_s() < seconds + LEASE_MARGIN_S or lease.steps != steps:
        extend(worker, lease)
        lease.steps = steps


def extend(worker: Worker, lease: Lease) -> None:
    """The lease begins anew. Raises LeaseLost."""
    sent = lease.now()
    with db.transaction(worker.engine) as tx:
        if not hosts.extend(tx, host_id=lease.host_id, token=lease.token, lease_s=worker.settings.lease_s):
            raise LeaseLost(lease.host)
    lease.renew(sent, worker.settings.lease_s)
