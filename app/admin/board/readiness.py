"""Judges whether the crawl can go on: Postgres, schema, beat and workers by their progress; and sums up how it goes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from app.admin.board.pulse import LATE_S
from app.admin.doctor import Check, Grade, broken
from app.config import Settings
from app.errors import TiptoeError, TookTooLong
from app.store import board, db, hosts, migrate, urls

MISSES = 3  # offers in a row that no worker took up
QUEUED_MOST = 10_000
HOSTS_PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Checks, and whether all of them hold."""

    checks: Sequence[Check]

    @property
    def is_ready(self) -> bool:
        return all(check.grade is not Grade.FAIL for check in self.checks)


def readiness(engine: Engine, settings: Settings) -> Readiness:
    """Check what a crawl needs: not whether processes are alive, but whether work that is due gets done."""
    try:
        if not migrate.is_at_head(engine):
            found = migrate.revision(engine)
            remedy = "a newer Tiptoe made it: upgrade Tiptoe here" if migrate.is_newer(found) else "tiptoe db upgrade"
            finding = f"is {found or 'not there'}, and this Tiptoe wants {migrate.revisions()[-1]}"
            schema = Check(name="schema", grade=Grade.FAIL, finding=finding, remedy=remedy)
            return Readiness(checks=[schema])
        with db.transaction(engine) as tx:
            active, overdue_s = board.overdue(tx, settings.queue_names)
            missed = hosts.missed(tx, settings.queue_names, MISSES)
    except TookTooLong:  # the viewer asked for a page: whether Postgres serves others is not known
        raise
    except TiptoeError as error:
        return Readiness(checks=[broken("postgres", error)])
    return Readiness(
        checks=[
            Check(name="postgres", grade=Grade.OK, finding="answers"),
            Check(name="schema", grade=Grade.OK, finding="at head"),
            _beat(active, overdue_s, settings.stall_s or 60.0),
            _workers(missed),
        ]
    )


def status(engine: Engine, *, after: str = "") -> dict[str, Any]:
    """How it goes, for a program: frontier, totals, errors, queues, and the last contact of each host, a page of them.

    frontier is Postgres' estimate. queued is counted up to QUEUED_MOST. after: the last host that was seen
    """
    with db.transaction(engine) as tx:
        lines = board.crawls(tx, 1_000)
        sizes = board.sizes(tx)
        rates = board.rates(tx, from_s=LATE_S + 60, until_s=LATE_S)
        names = [row["host"] for row in board.names_after(tx, after=after, n=HOSTS_PAGE)]
        contacts = {row["host"]: row["last_contact_at"] for row in board.hosts(tx, names=names, waits_for=None)}
        queued = {
            line.name: urls.queued_some(tx, crawl_id=line.id, most=QUEUED_MOST)
            for line in lines
            if line.state != "finished"
        }
        requests, failed = sum(rate.requests for rate in rates), sum(rate.failed for rate in rates)
        return {
            "frontier": {"urls": sizes.get("urls", 0), "hosts": sizes.get("hosts", 0), "queued": queued},
            "crawled": {"requests": sizes.get("fetches", 0), "pages": sizes.get("pages", 0)},
            "last_minute": {
                "requests": requests,
                "pages": sum(rate.pages for rate in rates),
                "errors": failed,
                "error_rate": failed / requests if requests else 0.0,
            },
            "crawls": {line.name: line.state for line in lines},
            "queues": hosts.offers_outstanding(tx),
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
