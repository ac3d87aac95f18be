"""Queues again what an origin's new robots.txt allows, and an earlier one refused (promise R6).

A host may have a million refused URLs. They are queued before the settle that stores the file, each page of them in a
transaction of its own, and the lease is looked at in between. Should the settle fail, their gates judge them by the
earlier file. What the batch itself refuses has no row by then: the settle looks at that.

An origin has a budget of work. URLs past it are left to their gates, but for those that were too costly.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from sqlalchemy import Connection

from app.crawl.state.visit import LOOK_LINKS, Visit
from app.errors import LeaseLost
from app.model import Cause, Origin, Refusal
from app.policy.lifecycle import UrlState
from app.policy.robots import Robots, RobotsVerdict, Work
from app.store import db, hosts, urls
from app.store.url_rows import RobotsRefused

_BEGIN = (0, b"")


def of_host(visit: Visit) -> None:
    """Queue what the files of the visit's batch allow, before they are stored. A lost lease ends it: the settle finds
    that."""
    with suppress(LeaseLost):
        for origin in visit.batch.robots.renewed:
            rules, work = visit.origins.robots[origin].rules, Work()
            after: tuple[int, bytes] | None = _BEGIN
            while rules is not None and after is not None:
                visit.hold(LOOK_LINKS)
                reopened, after = db.repeat(partial(_reopen_page, visit, origin, rules, work, after))
                visit.picked.unfetched += reopened


def of_batch(visit: Visit, tx: Connection) -> None:
    """Queue what the visit's batch refused before it had the new file, within its settle."""
    refused = [result["key"] for result in visit.batch.results if result["state"] == UrlState.REFUSED.value]
    for origin in visit.batch.robots.renewed:
        rules = visit.origins.robots[origin].rules
        if refused and rules is not None:
            rows = urls.refused_of_host(tx, host_id=visit.host_id, after=_BEGIN, n=len(refused), keys=refused)
            visit.picked.unfetched += _reopen(visit, origin, rules, Work(), rows, tx)


def _reopen_page(
    visit: Visit, origin: Origin, rules: Robots, work: Work, after: tuple[int, bytes]
) -> tuple[int, tuple[int, bytes] | None]:
    """The number of URLs of a page that wait again, and the page's last; None behind the last page."""
    with db.transaction(visit.worker.engine) as tx:
        if not hosts.lock_all_leased(tx, [(visit.host_id, visit.lease.token)]).pauses:
            raise LeaseLost(visit.host)
        rows = urls.refused_of_host(tx, host_id=visit.host_id, after=after, n=LOOK_LINKS)
        last = (rows[-1].crawl_id, rows[-1].key) if len(rows) == LOOK_LINKS else None
        return _reopen(visit, origin, rules, work, rows, tx), last


def _reopen(
    visit: Visit, origin: Origin, rules: Robots, work: Work, rows: Sequence[RobotsRefused], tx: Connection
) -> int:
    """Queue those of the rows that the rules allow. Returns how many wait for their first fetch."""
    canon = visit.worker.canon
    read = [(row, canon.of_row(row.url, row.key, row.linked)) for row in rows]
    return urls.reopen(
        tx,
        host_id=visit.host_id,
        rows=[
            {"crawl_id": row.crawl_id, "key": row.key}
            for row, url in read
            if not isinstance(url, Refusal) and url.origin == origin and _reopens(rules.verdict(url, work), row.cause)
        ],
    )


def _reopens(verdict: RobotsVerdict, cause: str) -> bool:
    """Whether a refused URL is queued again."""
    return verdict is RobotsVerdict.ALLOWED or (verdict is RobotsVerdict.TOO_COSTLY and cause != Cause.TOO_COSTLY)
