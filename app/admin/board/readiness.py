"""Renders the snapshot of the fleet for probes: whether the crawl can go on, by its progress, and how it goes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.admin.doctor import Check, Grade, broken
from app.errors import TiptoeError, TookTooLong
from app.store import board, fleet, migrate
from app.store.fleet import FleetWatch

HOSTS_PAGE = 100
CRAWLS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Checks, and whether all of them hold."""

    checks: Sequence[Check]

    @property
    def is_ready(self) -> bool:
        return all(check.grade is not Grade.FAIL for check in self.checks)


def readiness(watch: FleetWatch, *, stall_s: float | None) -> Readiness:
    """Check what a crawl needs: not whether processes are alive, but whether work that is due gets done.

    stall_s: seconds for which a host may be due
    """
    try:
        if not migrate.is_at_head(watch.engine):
            found = migrate.revision(watch.engine)
            remedy = ": ".join(migrate.unknown(found)) if migrate.is_newer(found) else "tiptoe db upgrade"
            finding = f"is {found or 'not there'}, and this Tiptoe wants {migrate.revisions()[-1]}"
            schema = Check(name="schema", grade=Grade.FAIL, finding=finding, remedy=remedy)
            return Readiness(checks=[schema])
        with fleet.snapshot(watch.engine) as tx:  # it waits for nobody who looks
            now = fleet.now(tx, watch.queues, fleet.NOTHING, watch.kept, most=0)
    except TookTooLong:  # the viewer asked for a page: whether Postgres serves others is not known
        raise
    except TiptoeError as error:
        return Readiness(checks=[broken("postgres", error)])
    return Readiness(
        checks=[
            Check(name="postgres", grade=Grade.OK, finding="answers"),
            Check(name="schema", grade=Grade.OK, finding="at head"),
            _beat(now.states.get("active", 0), now.unserved.overdue_s, stall_s or 60.0),
            _workers(now.unserved.missed),
        ]
    )


def status(watch: FleetWatch, *, after: str = "") -> dict[str, Any]:
    """How it goes, for a program: frontier, totals, errors, queues, and the last contact of each host, a page of them.

    frontier is Postgres' estimate. queued is counted up to QUEUED_MOST. after: the last host that was seen
    """
    with watch.reading(sampled=False) as (tx, now):
        minute = fleet.minute(tx)
        lines = board.crawls(tx, CRAWLS)
        known = {each.line.id: each.queued for each in now.crawls}
        queued = {
            line.name: known[line.id] if line.id in known else fleet.queued(tx, line.id)
            for line in lines
            if line.state != "finished"
        }
        sizes = board.sizes(tx)
        names = [row["host"] for row in board.names_after(tx, after=after, n=HOSTS_PAGE)]
        contacts = {row["host"]: row["last_contact_at"] for row in board.hosts(tx, names=names, waits_for=None)}
    return {
        "frontier": {"urls": sizes.get("urls", 0), "hosts": sizes.get("hosts", 0), "queued": queued},
        "crawled": {"requests": sizes.get("fetches", 0), "pages": sizes.get("pages", 0)},
        "last_minute": {
            "requests": minute.requests,
            "pages": minute.pages,
            "errors": minute.failed,
            "error_rate": minute.failed / minute.requests if minute.requests else 0.0,
        },
        "crawls": {line.name: line.state for line in lines},
        "queues": now.offers,
        "hosts": {name: contacts[name] for name in names},
        "next": names[-1] if len(names) == HOSTS_PAGE else None,
    }


def _beat(active: int, overdue_s: float | None, most_s: float) -> Check:
    """Check beat by its effect: hosts that are due are claimed."""
    if not active or overdue_s is None or overdue_s <= most_s:
        return Check(name="beat", grade=Grade.OK, finding="no host is overdue" if active else "no crawl is active")
    return Check(
        name="beat",
        grade=Grade.FAIL,
        finding=f"a host has been due for {overdue_s:,.0f} s and was not claimed",
        remedy="start `tiptoe up`, or one celery -A app beat; with one running, see its log",
    )


def _workers(missed: int) -> Check:
    if not missed:
        return Check(name="workers", grade=Grade.OK, finding="offers are taken up")
    return Check(
        name="workers",
        grade=Grade.FAIL,
        finding=f"{missed:,} offers in a row were not taken up",
        remedy="start a worker for these queues, or restart one that hangs",
    )
