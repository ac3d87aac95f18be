"""`tiptoe crawl URL…` and `tiptoe up`: everything on one machine, from nothing to a finished crawl."""

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.out import HonourOptOuts, Sitemaps
from app.words import counted

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.config import Settings
    from app.local.services import Services
    from app.store.crawls import Budgets, Crawl, Totals

LOOK_EVERY_S = 0.25
BURY_EVERY_S = 1.0
SHOW_QUEUED_UP_TO = 10_000
MOST_CAUSES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What the command line asks for."""

    seeds: list[str]
    name: str | None
    scope: str | None
    include: list[str]
    exclude: list[str]
    budgets: "Budgets"
    keep_fresh: bool
    again: bool
    sitemaps: str | None
    honour_opt_outs: bool | None


def crawl(
    seeds: Annotated[list[str], typer.Argument(metavar="URL…", help="Where to start, e.g. https://example.org/")],
    name: Annotated[
        str | None,
        typer.Option(help="Name of the crawl; the same name goes on with it. [default: the first seed's host]"),
    ] = None,
    contact: Annotated[
        str | None, typer.Option(help="Mail address or URL of who answers for the crawl; needed for public sites.")
    ] = None,
    scope: Annotated[
        str | None, typer.Option(help="host, domain, prefix or any: how far to go from the seeds. [default: host]")
    ] = None,
    include: Annotated[
        list[str] | None, typer.Option(help="Regular expression a URL must match (may be repeated).")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Regular expression a URL must not match (may be repeated).")
    ] = None,
    max_pages: Annotated[int | None, typer.Option(help="End after this many pages.")] = None,
    max_bytes: Annotated[int | None, typer.Option(help="End after this many body bytes on the wire.")] = None,
    max_depth: Annotated[int | None, typer.Option(help="Links from a seed at most.")] = None,
    max_seconds: Annotated[float | None, typer.Option(help="End after this many seconds of running.")] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Go round once more: everything due now, with validators.")
    ] = False,
    keep_fresh: Annotated[
        bool, typer.Option("--keep-fresh", help="Do not end: fetch pages again when they are due.")
    ] = False,
    sitemaps: Sitemaps = None,
    honour_opt_outs: HonourOptOuts = None,
    as_json: Annotated[bool, typer.Option("--json", help="Last line of standard output: one JSON object.")] = False,
) -> None:
    """Crawl from these URLs, politely, and keep the result in Postgres. Run it again to go on where it stopped."""
    from app.store.crawls import Budgets

    budgets = Budgets(max_pages=max_pages, max_bytes=max_bytes, max_depth=max_depth, max_seconds=max_seconds)
    wish = _Wish(
        seeds=seeds,
        name=name,
        scope=scope,
        include=include or [],
        exclude=exclude or [],
        budgets=budgets,
        keep_fresh=keep_fresh,
        again=again,
        sitemaps=sitemaps,
        honour_opt_outs=honour_opt_outs,
    )
    settings = _settings(contact)
    _check(settings, wish)
    began = time.monotonic()
    with _services(settings) as (settings, services, engine):
        found, is_new_work = _prepare(engine, settings, wish)
        interrupted = is_new_work and _run(engine, settings, services, found)
        _tell(engine, services, found, seconds=time.monotonic() - began, as_json=as_json, interrupted=interrupted)
    if interrupted:
        raise typer.Exit(130)


def up(
    contact: Annotated[str | None, typer.Option(help="Mail address or URL of who answers for the crawls.")] = None,
) -> None:
    """Run beat and workers on this machine for every active crawl, until Ctrl-C."""
    from app.crawl import sweep
    from app.local.stack import Stack

    with _services(_settings(contact)) as (settings, services, engine):
        sweep.end_leases_of_the_dead(engine)
        _say(f"TIPTOE_DATABASE_URL={services.database_url}")
        _say(f"TIPTOE_BROKER_URL={services.broker_url}")
        _say(f"beat and workers run; logs in {services.home / 'logs'}; Ctrl-C ends them")
        try:
            with Stack(settings, services) as stack:
                while True:
                    stack.tend()
                    time.sleep(1.0)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None


@contextmanager
def _services(settings: "Settings") -> "Iterator[tuple[Settings, Services, Engine]]":
    """Postgres, migrated, and a broker that answers: those that are configured, ours for the rest."""
    from app.cli.broker import check_broker
    from app.crawl.kit import make_engine
    from app.local.services import LocalServices
    from app.store import db

    local = LocalServices(settings.home, database_url=settings.database_url, broker_url=settings.broker_url, log=_say)
    with _interruptible(), local as services:
        where = {"database_url": services.database_url, "broker_url": services.broker_url}
        check_broker(services.broker_url)
        db.upgrade(services.database_url)
        found = settings.model_copy(update=where)
        engine = make_engine(found)
        try:
            yield found, services, engine
        finally:
            engine.dispose()


def _settings(contact: str | None) -> "Settings":
    from app.config import load
    from app.crawl.kit import make_signer
    from app.log import configure
    from app.policy import identity

    settings = load(**({"contact": contact} if contact else {}))
    identity.check(settings.product_token, settings.contact)
    make_signer(settings)  # here a bad key file is one line; later, every worker of the crawl would end by it
    configure(settings.log_format, "WARNING")
    return settings


def _check(settings: "Settings", wish: _Wish) -> None:
    """Before anything is started: is there one seed that we can and may contact? Raises InputError."""
    from app.crawl.seed import check_seeds, check_sitemaps

    if wish.sitemaps is not None:
        check_sitemaps(wish.sitemaps)
    for problem in check_seeds(settings, wish.seeds):
        _say(f"warning: {problem}")


def _prepare(engine: "Engine", settings: "Settings", wish: _Wish) -> "tuple[Crawl, bool]":
    """The crawl of this name, made or taken up again; and whether there is anything to run for."""
    from app.crawl import seed, sweep
    from app.model import Url
    from app.policy.url import Canon
    from app.store import crawls, db

    first = next(url for url in map(Canon().canonicalise, wish.seeds) if isinstance(url, Url))
    name = wish.name or first.host
    with db.transaction(engine) as tx:
        known = crawls.by_name(tx, name)
    if known is None:
        known = seed.create(
            engine,
            name,
            scope_kind=wish.scope or "host",
            include=wish.include,
            exclude=wish.exclude,
            budgets=wish.budgets,
            keep_fresh=wish.keep_fresh,
            sitemaps=wish.sitemaps or "all",
            honour_opt_outs=bool(wish.honour_opt_outs),
        )
        seed.add(engine, settings, known, wish.seeds)
        return seed.find(engine, name), True
    sweep.end_leases_of_the_dead(engine)
    sweep.sweep(engine)
    return seed.take_up_again(
        engine,
        settings,
        known,
        wish.seeds,
        budgets=wish.budgets,
        keep_fresh=wish.keep_fresh,
        again=wish.again,
        say=_say,
        scope_kind=wish.scope,
        include=wish.include,
        exclude=wish.exclude,
        sitemaps=wish.sitemaps,
        honour_opt_outs=wish.honour_opt_outs,
    )


def _run(engine: "Engine", settings: "Settings", services: "Services", crawl: "Crawl") -> bool:
    """Beat and workers until the crawl has ended. True: interrupted."""
    from app.crawl import sweep
    from app.local.progress import Progress
    from app.local.stack import Stack

    progress = Progress(name=crawl.name)
    bury_at = 0.0
    try:
        with Stack(settings, services) as stack:
            while _look(engine, crawl, progress).state == "active":
                stack.tend()
                if time.monotonic() >= bury_at:  # workers of a command that was killed may take a while to die
                    sweep.end_leases_of_the_dead(engine)
                    bury_at = time.monotonic() + BURY_EVERY_S
                time.sleep(LOOK_EVERY_S)
            progress.end()
            _look(engine, crawl, progress)
    except KeyboardInterrupt:
        progress.end()
        return True
    progress.end()
    return False


def _look(engine: "Engine", crawl: "Crawl", progress: "object") -> "Totals":
    from app.local.progress import Progress
    from app.store import crawls, db, hosts, urls

    assert isinstance(progress, Progress)
    with db.transaction(engine) as tx:
        totals = crawls.totals(tx, crawl.id)
        queued = urls.queued_some(tx, crawl_id=crawl.id, most=SHOW_QUEUED_UP_TO)
        waiting = [(str(row["because"]), int(row["hosts"])) for row in hosts.waiting(tx)]
    progress.show(totals, f"{queued:,}" if queued < SHOW_QUEUED_UP_TO else f"over {queued:,}", waiting)
    return totals


def _tell(
    engine: "Engine", services: "Services", crawl: "Crawl", *, seconds: float, as_json: bool, interrupted: bool
) -> None:
    """What came of it, where it is, and how to go on."""
    from app.store import crawls, db, urls

    with db.transaction(engine) as tx:
        totals = crawls.totals(tx, crawl.id)
        causes = [] if totals.pages else urls.causes(tx, crawl_id=crawl.id, n=MOST_CAUSES)
    ended = f"ended: {totals.ended_because}" if totals.ended_because else totals.state
    _say(
        f"{totals.name} ({ended}): {counted(totals.pages, 'page')}, {counted(totals.fetches, 'request')}, "
        f"{totals.failed:,} failed, {counted(totals.suppressed, 'link')} refused, "
        f"{counted(totals.bytes, 'byte')} in {seconds:,.1f} s"
    )
    for each in causes:  # nothing was brought: why?
        _say(f"{each['state']}, {counted(each['urls'], 'URL')}: {each['cause']}")
    _say(f'data: {services.data_dir}   ask it: tiptoe sql "TABLE v_crawl_progress"')
    if interrupted:
        _say("interrupted: the same command goes on")
    if as_json:
        print(
            json.dumps(
                {
                    "crawl": totals.name,
                    "state": totals.state,
                    "pages": totals.pages,
                    "fetches": totals.fetches,
                    "failed": totals.failed,
                    "suppressed": totals.suppressed,
                    "bytes": totals.bytes,
                    "seconds": round(seconds, 3),
                    "dsn": services.database_url,
                    "home": str(services.home),
                }
            ),
            flush=True,
        )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM ends us as Ctrl-C does; a second one while we are ending is not needed."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
