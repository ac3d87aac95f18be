"""Checks whether everything that a crawl needs is in order. Each check has a finding, and a remedy.

The caller contacts the broker and the workers; this module judges what they answered. Nothing is changed. Handlers are
loaded as workers load them: in a process of their own, which ends again.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine

from app import owned, plugins
from app.admin.check import MOST_NAMED, Check, Grade, broken
from app.admin.extract import loaded
from app.admin.waiting import when
from app.config import Settings, why_unknown
from app.crawl.state.seen import Load
from app.crawl.state.setup import make_credentials, make_signer
from app.errors import InputError, ServiceError, TiptoeError
from app.model.handler import HandlerSpec
from app.policy import identity
from app.store import caps, crawls, db, hosts, migrate, visits
from app.words import counted

NAME = "handlers"


def configuration(settings: Settings, unknown: Sequence[str]) -> list[Check]:
    """Check the settings.   unknown: TIPTOE_ variables that belong to no setting"""
    return [
        Check(name="settings", grade=Grade.OK, finding="valid"),
        *(
            Check(
                name="settings",
                grade=Grade.WARN,
                finding=f"{name} {finding}",
                remedy=remedy,
            )
            for name in unknown
            for finding, remedy in [why_unknown(name)]
        ),
        _contact(settings),
        *_signing(settings),
        *_credentials(settings),
        _home(settings.home),
    ]


def database(engine: Engine) -> list[Check]:
    """Check that the database is reachable and new enough, and its schema at head."""
    try:
        version = db.check(engine)
        found, lacking = migrate.revision(engine), db.lacks(engine)
    except TiptoeError as error:
        return [broken("database", error)]
    where = f"Postgres {version} at {db.place(engine)}"
    session = Check(name="database", grade=Grade.OK, finding=where)
    if lacking:
        finding = f"{where}: its sessions lack settings, which a pooler does not pass on"
        session = Check(name="database", grade=Grade.WARN, finding=finding, remedy="; ".join(lacking))
    return [session, _schema(found)]


def fleet(engine: Engine, settings: Settings, served: Mapping[str, Sequence[str]]) -> list[Check]:
    """Check workers, queues, beat and frontier. The schema must be at head.

    served: {worker: queues} of the workers that answered
    """
    with db.transaction(engine) as tx:
        every = [crawl for crawl in crawls.every(tx) if crawl.state == "active"]
        active = [crawl.name for crawl in every]
        queues = hosts.queues(tx)
        latest = visits.latest(tx, 1)
        full = _full_hosts(tx, settings)
        clock = _clock(*hosts.ahead(tx))
        backlog = _backlog(plugins.backlog(tx))
    frontier = _frontier(settings, full, [crawl.name for crawl in every if crawl.admits_above is not None])
    return [
        _workers(served, active),
        *_queues(settings, served, queues),
        _dispatch(queues, latest),
        frontier,
        backlog,
        *clock,
    ]


def declared_otherwise(queues: Sequence[str]) -> Check:
    """A failed check: RabbitMQ has these queues with another x-single-active-consumer than the settings ask for."""
    more = f" and {len(queues) - MOST_NAMED} more" if len(queues) > MOST_NAMED else ""
    return Check(
        name="broker",
        grade=Grade.FAIL,
        finding=f"made before TIPTOE_SINGLE_ACTIVE_CONSUMER was changed: {', '.join(queues[:MOST_NAMED])}{more}",
        remedy="delete them (rabbitmqctl delete_queue NAME), and workers make them again; or change the setting back",
    )


def known_keys(loads: Mapping[str, Mapping[str, Any]]) -> list[Check]:
    """Report the known keys of each worker. Full ones are not a fault: they are bounded, and a miss only costs time.

    loads: {worker: fields of its `Load`}
    """
    found = sorted((worker, Load(**fields).text()) for worker, fields in loads.items())
    return [
        Check(name="known keys", grade=Grade.OK, finding=f"{worker}: {text}") for worker, text in found[:MOST_NAMED]
    ]


def _contact(settings: Settings) -> Check:
    try:
        identity.check(settings.product_token, settings.contact)
    except InputError as error:
        return broken("contact", error)
    if settings.contact is None:
        return Check(
            name="contact",
            grade=Grade.WARN,
            finding="not set: no public host is contacted",
            remedy="set TIPTOE_CONTACT=you@example.org",
        )
    return Check(name="contact", grade=Grade.OK, finding=f"{settings.product_token}, {settings.contact}")


def _signing(settings: Settings) -> list[Check]:
    """Check the signing key. Returns no check where none is set: requests need none."""
    try:
        signer = make_signer(settings)
    except InputError as error:
        return [broken("signing", error)]
    if signer is None:
        return []
    return [Check(name="signing", grade=Grade.OK, finding=f"key {signer.keyid} of {settings.signature_origin}")]


def _credentials(settings: Settings) -> list[Check]:
    try:
        origins = len(make_credentials(settings))
    except InputError as error:
        return [broken("credentials", error)]
    return [Check(name="credentials", grade=Grade.OK, finding=f"for {counted(origins, 'site')}")] if origins else []


def _home(home: Path) -> Check:
    """Check that the folder, or the nearest existing one above it, is writable and has space."""
    try:
        owned.check(home, f"TIPTOE_HOME={str(home)!r}")
    except InputError as error:
        return broken("home", error)
    there = home.absolute()
    while not there.exists():
        there = there.parent
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        return Check(
            name="home",
            grade=Grade.FAIL,
            finding=f"{home} cannot be written",
            remedy="set TIPTOE_HOME to a folder of your own",
        )
    free = shutil.disk_usage(there).free
    finding = f"{home.absolute()}, {free / 1e9:,.1f} GB free"
    if free < 1024**3:
        grade = Grade.FAIL if free < 100 * 1024**2 else Grade.WARN
        return Check(name="home", grade=grade, finding=finding, remedy="make room, or set TIPTOE_HOME to a larger disk")
    return Check(name="home", grade=Grade.OK, finding=finding)


def _schema(found: str | None) -> Check:
    known = migrate.revisions()
    if found == known[-1]:
        return Check(name="schema", grade=Grade.OK, finding=f"at head, {found}")
    if migrate.is_newer(found):
        finding, remedy = migrate.unknown(found)
        return Check(name="schema", grade=Grade.FAIL, finding=f"{finding}; wanted is {known[-1]}", remedy=remedy)
    return Check(
        name="schema",
        grade=Grade.FAIL,
        finding=f"{found or 'none yet'}, head is {known[-1]}",
        remedy="tiptoe db upgrade",
    )


def _workers(served: Mapping[str, Sequence[str]], active: Sequence[str]) -> Check:
    if served:
        return Check(name="workers", grade=Grade.OK, finding=f"{len(served)} answer: {', '.join(sorted(served))}")
    if not active:
        return Check(name="workers", grade=Grade.OK, finding="none run, and no crawl is active")
    return Check(
        name="workers",
        grade=Grade.WARN,
        finding=f"none answers, and {counted(len(active), 'crawl is', 'crawls are')} active",
        remedy="tiptoe up, or celery -A app worker (and one celery -A app beat)",
    )


def _queues(
    settings: Settings, served: Mapping[str, Sequence[str]], queues: Sequence[Mapping[str, Any]]
) -> list[Check]:
    """Check that a worker serves each queue on which hosts wait, and that beat knows it."""
    by_anyone = {queue for names in served.values() for queue in names}
    found: list[Check] = []
    for row in queues:
        queue, waiting = row["queue"], f"{_wait(row['hosts'])} on queue {row['queue']}"
        if queue not in settings.queue_names:
            remedy = "add it to TIPTOE_PINNED_QUEUES, or move the hosts: tiptoe host pin NAME default"
            found.append(
                Check(name="queues", grade=Grade.FAIL, finding=f"{waiting}, which no setting names", remedy=remedy)
            )
        elif served and queue not in by_anyone:
            remedy = f"start a worker for it: celery -A app worker -Q {queue}"
            found.append(
                Check(name="queues", grade=Grade.FAIL, finding=f"{waiting}, which nobody serves", remedy=remedy)
            )
    hosts_waiting = sum(row["hosts"] for row in queues)
    return found or [
        Check(name="queues", grade=Grade.OK, finding=f"{_wait(hosts_waiting)} on {counted(len(queues), 'queue')}")
    ]


def _wait(n: int) -> str:
    return counted(n, "host waits", "hosts wait")


def _dispatch(queues: Sequence[Mapping[str, Any]], latest: Sequence[Mapping[str, Any]]) -> Check:
    """Check that beat runs, by its effect: hosts that are due get offers."""
    last = f"last visit {when(latest[0]['taken_at'], latest[0]['now'])}" if latest else "no visit yet"
    overdue = [row for row in queues if row["overdue"]]
    if not overdue:
        return Check(name="beat", grade=Grade.OK, finding=f"no host is overdue; {last}")
    late = sum(row["overdue"] for row in overdue)
    since = when(min(row["overdue_since"] for row in overdue), overdue[0]["now"])
    return Check(
        name="beat",
        grade=Grade.WARN,
        finding=f"{counted(late, 'host is', 'hosts are')} overdue, the first since {since}; {last}",
        remedy="tiptoe up, or celery -A app beat (one for the fleet); with one running, "
        "see its log and the queues above",
    )


def _backlog(found: Mapping[str, int]) -> Check:
    """Check what waits for the features that serve the whole fleet: as much as an alert counts is a warning."""
    waiting = ", ".join(f"{counted(n, 'page')} for {queue}" for queue, n in sorted(found.items()))
    if max(found.values(), default=0) <= 10_000:  # pages, as in app/metrics/ship/alerts.yml
        return Check(name="backlog", grade=Grade.OK, finding=waiting)
    return Check(
        name="backlog",
        grade=Grade.WARN,
        finding=waiting,
        remedy="see whether they become fewer; if not, start more workers, or go without in some crawls: "
        "tiptoe crawl edit NAME --no-near-duplicates, or --no-search",
    )


def _clock(n: int, latest: datetime | None) -> list[Check]:
    """A warning where hosts were contacted in the future: they wait until then."""
    if latest is None:
        return []
    return [
        Check(
            name="clock",
            grade=Grade.WARN,
            finding=f"set back: {counted(n, 'host')} had the last contact as late as {latest:%Y-%m-%d %H:%M} UTC",
            remedy="set the clock of Postgres' machine right; until then these hosts wait",
        )
    ]


def _full_hosts(tx: Connection, settings: Settings) -> list[str]:
    cap = settings.frontier_max_per_host
    return [] if cap is None else [row["name"] for row in caps.full_hosts(tx, cap=cap, n=MOST_NAMED)]


def _frontier(settings: Settings, full: Sequence[str], crawls_full: Sequence[str]) -> Check:
    """Check for hosts and crawls at their caps, where links are refused or deferred: intended, or the cap is too
    low."""
    found, remedies = [], []
    if full:
        found.append(f"hosts at their cap of {counted(settings.frontier_max_per_host or 0, 'URL')}: {', '.join(full)}")
        remedies.append("TIPTOE_FRONTIER_MAX_PER_HOST")
    if crawls_full and settings.caps_crawls:
        found.append(f"crawls at their cap: {', '.join(crawls_full)}")
        remedies += ["TIPTOE_FRONTIER_MAX_PER_CRAWL", "TIPTOE_FRONTIER_MAX"]
    if not found:
        return Check(name="frontier", grade=Grade.OK, finding="no host or crawl is at its cap")
    remedy = f"raise {' or '.join(remedies)}, or exclude what fills it; tiptoe crawl report shows what is evicted"
    return Check(name="frontier", grade=Grade.WARN, finding="; ".join(found), remedy=remedy)


def sources(settings: Settings) -> tuple[list[Check], list[str]]:
    """A check of each module and file of TIPTOE_HANDLERS, and the names of the handlers that they declare."""
    checks, found = [], list[HandlerSpec]()
    for source in settings.handlers:
        try:
            specs = loaded(settings, (source,))
        except (InputError, ServiceError) as error:
            checks.append(broken(NAME, error))
        else:
            found += specs
            checks.append(Check(name=NAME, grade=Grade.OK, finding=f"{source}: {_shown(specs)}"))
    if len(settings.handlers) > 1 and len(found) > len({each.name for each in found}):
        checks += _together(settings)
    return checks, [each.name for each in found]


def asked_for(engine: Engine, names: Sequence[str]) -> list[Check]:
    """A warning for each active crawl that names a handler which is not there. The schema must be at head."""
    with db.transaction(engine) as tx:
        wanted = {crawl.name: set(crawl.handlers) for crawl in crawls.every(tx) if crawl.state == "active"}
    return [
        Check(
            name=NAME,
            grade=Grade.WARN,
            finding=f"crawl {crawl} asks for {', '.join(sorted(lacking))}, which TIPTOE_HANDLERS does not declare",
            remedy="add its module or file there, or choose others: tiptoe crawl edit NAME --handler",
        )
        for crawl, handlers in sorted(wanted.items())
        if (lacking := handlers - set(names))
    ]


def _together(settings: Settings) -> list[Check]:
    """The sources that load alone, loaded as workers do: two may declare one name."""
    try:
        loaded(settings, settings.handlers)
    except (InputError, ServiceError) as error:
        return [broken(NAME, error)]
    return []


def _shown(specs: Sequence[HandlerSpec]) -> str:
    return ", ".join(f"{each.name} (version {each.version})" for each in specs)
