"""Obtains robots.txt before anything else of its origin: from the database while it is fresh, else from the site.

Fetching it (`app.crawl.robots.ask`) is a request like any other, at the host's own pace. `app.policy.robots.in_force`
decides which rules hold while it is out of reach; this module keeps them up to date in the visit and, through the
batch, in the database.

What a new robots.txt allows, and an earlier one refused, is queued again (promise R6). A host may have a million
refused URLs. They are queued before the settle that stores the file, each page of them in a transaction of its own, and
the lease is looked at in between. Should the settle fail, their gates judge them by the earlier file. What the batch
itself refuses has no row by then: the settle looks at that.

An origin has a budget of work. URLs past it are left to their gates, but for those that were too costly.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from functools import partial
from hashlib import sha256

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from app.crawl.request import slots
from app.crawl.robots import ask
from app.crawl.robots.ask import RobotsAnswer
from app.crawl.state.batch import Batch
from app.crawl.state.lease import Lease
from app.crawl.state.origins import HostOrigins, RobotsFile, shut
from app.crawl.state.part import SettleStep
from app.crawl.state.settling import Settling
from app.crawl.state.slot import Slot
from app.crawl.state.visit import LOOK_LINKS, Visit
from app.crawl.state.worker import Worker
from app.errors import LeaseLost, is_ours
from app.model import Cause, Origin, Refusal, Url
from app.policy import robots
from app.policy.lifecycle import UrlState
from app.policy.robots import Availability, InForce, Robots, RobotsVerdict, Work
from app.store import db, hosts, urls
from app.store import robots as robots_store
from app.store.robots import Fetched
from app.store.url_rows import RobotsRefused

# On a host with a delay of hours a copy must stay fresh beyond the next page, or no page would ever be fetched.
FRESH_DELAYS = 2.5
_log = structlog.get_logger()
_BEGIN = (0, b"")


class NoRules(Enum):
    """Why there are no rules by which a page of the origin may be fetched now."""

    WAIT = "it is too early to ask for them, or the answer closed the host: the visit is to leave"
    SHUT = "no page of the origin may be fetched for now"


def load(worker: Worker, lease: Lease, origins: HostOrigins, tx: Connection) -> None:
    """Load into the visit what the database knows of the host's origins."""
    for row in robots_store.pace_of_host(tx, lease.host_id, at=lease.taken_at):
        origin = Origin(row.scheme, lease.host, row.port)
        away_s = row.unreachable_for_s
        file = RobotsFile(
            availability=Availability(row.availability),
            status=row.status,
            failures=row.failures,
            asked=lease.anchor - row.age_s,
            fresh_until=lease.anchor + row.fresh_s,
            unreachable_from=None if away_s is None else lease.anchor - away_s,
            answered=row.answered,
            body_sha256=row.body_sha256,
            etag=row.etag,
            last_modified=row.last_modified,
            crawl_delay_s=row.crawl_delay_s,
        )
        origins.robots[origin] = _enforce(worker, lease.now(), origin, file, partial(_body, tx, lease.host_id, origin))


def of(visit: Visit, origin: Origin, *, authorised: bool = False) -> Robots | NoRules:
    """Find the rules in force, and ask for them where they are not known.   authorised: as in Request

    Raises LeaseLost.
    """
    file = visit.origins.robots.get(origin)
    if file is None or file.fresh_until <= visit.now():
        url = ask.url_of(visit.worker.canon, origin)
        slot = slots.take(visit, url, visit.worker.settings.robots_deadline_s)
        if slot is None:
            return NoRules.WAIT
        file = _ask(visit, file, url, slot, authorised=authorised)
        if file is None:
            return NoRules.WAIT
    if file.rules is None or shut(file, visit.lease, visit.turn) is not None:
        return NoRules.SHUT
    return NoRules.WAIT if visit.rest.is_blocked else file.rules


def doubt(worker: Worker, origins: HostOrigins, batch: Batch, origin: Origin) -> None:
    """Ask for robots.txt again before the next page, after a 403 or 429: the site may have new rules (promise R4).

    Not within an hour of the last request. A file out of reach is asked for repeatedly anyway.
    """
    file = origins.robots[origin]
    again = file.asked + worker.settings.robots_recheck_s
    if file.availability is not Availability.UNREACHABLE and again < file.fresh_until:
        file.fresh_until = again
        batch.robots.doubted.add(origin)


def awaits_copy(worker: Worker, file: RobotsFile, now: float) -> bool:
    """Whether the file is out of reach, and its last good copy is in force or will be."""
    away_s = 0.0 if file.unreachable_from is None else now - file.unreachable_from
    return file.body_sha256 is not None and away_s < worker.settings.robots_copy_s


def _ask(visit: Visit, known: RobotsFile | None, url: Url, slot: Slot, *, authorised: bool) -> RobotsFile | None:
    """Ask the site, and add its answer to the visit and the batch. None: the slot had passed, and nothing was sent."""
    origin = url.origin
    try:
        answer = ask.follow(visit, known, url, slot, authorised=authorised)
        if answer is None:
            return None
        fetched = ask.judge(visit.worker, visit.lease, answer, known)
    except Exception as error:
        if is_ours(error):
            raise
        _log.exception("robots.crashed", origin=str(origin))
        answer = ask.unread(visit.now(), error)
        fetched = ask.judge(visit.worker, visit.lease, answer, known)
    body = partial(_bytes, visit.worker, visit.host_id, origin, fetched)
    file = _enforce(visit.worker, visit.now(), origin, _file(answer, fetched, known), body)
    could_be_had = file.availability is not Availability.UNREACHABLE
    # While the file is out of reach it is asked for every hour: only a new phase can allow what was refused before.
    if known is not None and (could_be_had or _decides(visit.worker, file) != _decides(visit.worker, known)):
        visit.batch.robots.renewed.append(origin)
    visit.origins.robots[origin] = file
    visit.turn.adapt(visit.worker, visit.origins.crawl_delay_s())
    if could_be_had:
        visit.pace.serve(file.status)
        least_s = FRESH_DELAYS * visit.pace.delay_s
        fetched = replace(fetched, fresh_s=max(fetched.fresh_s, least_s))
        file.fresh_until = max(file.fresh_until, file.asked + least_s)
    visit.batch.robots.files.append((origin, fetched))
    visit.batch.robots.doubted.discard(origin)
    return file


def _file(answer: RobotsAnswer, fetched: Fetched, known: RobotsFile | None) -> RobotsFile:
    """The file after an answer, before it is decided which rules are in force."""
    asked = answer.reply.ended_s
    file = RobotsFile(
        availability=Availability(fetched.availability),
        status=fetched.status,
        failures=fetched.failures,
        asked=asked,
        fresh_until=asked + fetched.fresh_s,
        unreachable_from=None,
        answered=fetched.status is not None or (known is not None and known.answered),
        body_sha256=None if fetched.body is None else sha256(fetched.body).digest(),
        etag=fetched.etag,
        last_modified=fetched.last_modified,
        crawl_delay_s=fetched.crawl_delay_s,
    )
    if file.availability is Availability.UNREACHABLE:
        since = known.unreachable_from if known else None
        file.unreachable_from = asked if since is None else since
    if known is not None and (fetched.revalidated or file.availability is Availability.UNREACHABLE):
        return replace(
            file,
            body_sha256=known.body_sha256,
            etag=known.etag,
            last_modified=known.last_modified,
            crawl_delay_s=known.crawl_delay_s,
        )
    return file


def _enforce(worker: Worker, now: float, origin: Origin, file: RobotsFile, body: Callable[[], bytes]) -> RobotsFile:
    """Set the rules in force now, for the length of a visit. A copy's rules end when the copy does.

    body: reads the copy; called only when this process has not parsed it lately.
    """
    book, digest = worker.robots, file.body_sha256 or b""
    try:
        decides, rules = robots.in_force_rules(
            file.standing(now), worker.settings, lambda: book.known(digest) or book.parsed(body())
        )
        if decides in {InForce.RULES, InForce.COPY}:
            file.signals = book.signals(digest, body)
    except Exception as error:
        if is_ours(error) or isinstance(error, SQLAlchemyError):  # of the transaction, which translates it
            raise
        _log.exception("robots.crashed", origin=str(origin))
        return _without_copy(file, now)
    file.rules = None if decides is InForce.DISALLOW_ALL else rules
    if decides is InForce.COPY and file.unreachable_from is not None:
        file.fresh_until = min(file.fresh_until, file.unreachable_from + worker.settings.robots_copy_s)
    return file


def _without_copy(file: RobotsFile, now: float) -> RobotsFile:
    """The file without its copy, which we cannot read, by a bug: complete disallow, and it is asked for anew, whole."""
    again = now if file.availability is Availability.AVAILABLE else file.fresh_until
    return replace(file, rules=None, fresh_until=again, body_sha256=None, etag=None, last_modified=None)


def _decides(worker: Worker, file: RobotsFile) -> InForce:
    return robots.in_force(file.standing(file.asked), worker.settings)


def _bytes(worker: Worker, host_id: int, origin: Origin, fetched: Fetched) -> bytes:
    """The body just fetched; else the copy that a 304 confirms or that replaces it, maybe only in the database."""
    if fetched.body is not None:
        return fetched.body
    with db.transaction(worker.engine) as tx:
        return _body(tx, host_id, origin)


def _body(tx: Connection, host_id: int, origin: Origin) -> bytes:
    return robots_store.body(tx, host_id=host_id, scheme=origin.scheme, port=origin.port)


def _robots(settling: Settling) -> None:
    files = [(visit.host_id, origin, each) for visit in settling.visits for origin, each in visit.batch.robots.files]
    robots_store.store(settling.tx, files)
    for visit in settling.visits:
        _write_robots(visit, settling.tx)


ROBOTS = SettleStep(name="robots", rank=140, write=_robots)


def _write_robots(visit: Visit, tx: Connection) -> None:
    batch = visit.batch
    robots_store.store_tdmrep(tx, host_id=visit.host_id, asked=batch.robots.tdmrep)
    for origin in batch.robots.doubted:
        robots_store.doubt(tx, host_id=visit.host_id, origin=origin, recheck_s=visit.worker.settings.robots_recheck_s)
    of_batch(visit, tx)


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
