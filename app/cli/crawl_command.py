"""`tiptoe crawl URL…` and `tiptoe up`: everything on one machine, from nothing to a finished crawl.

When `tiptoe crawl` stops, its own crawl is paused; while it runs, other active crawls are set aside. Those that killed
commands left active are paused for good; those that were made or started by name resume at its end. All this only where
the database is ours: on a configured one other workers may serve the same crawls, which we cannot see.
"""

import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.database import May, check_schema, ordered
from app.cli.options import asked, gather, retyped, settings_with, typed
from app.cli.out import AsJson, answer, as_json_text, hushed, say
from app.cli.run import MOST_TOLD, Summary, compare, lifted, lines, patiently, run, warned
from app.cli.web import Web
from app.cli.web import check as check_web
from app.cli.web import tell as tell_web
from app.model import CrawlChange, CrawlSpec, Url
from app.words import counted

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Engine

    from app.config import Settings
    from app.features.export.follow import PageFollower
    from app.local.services import Services
    from app.store.crawls import Crawl

Again = Annotated[bool, typer.Option("--again", help="Start another round: everything is due now, with validators.")]


To = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="PLACE",
        help="Write pages as they come: into a folder (Markdown, in folders like the site's), or a .jsonl file.",
    ),
]


Quiet = Annotated[bool, typer.Option("--quiet", help="Say nothing but errors; with --json the document alone.")]
MOST_FILE_SEEDS = 10_000
MOST_NOTED = 10  # seeds in the log of orders, and bad ones that are told
MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Manner:
    """How a crawl is run.   to: where its pages are written as they come;   quiet: only errors are said"""

    again: bool
    to: str | None
    web: bool
    quiet: bool


def _manner(again: Again = False, to: To = None, web: Web = False, quiet: Quiet = False) -> _Manner:
    return _Manner(again=again, to=to, web=web, quiet=quiet)


@gather(wish=asked, settings=settings_with, manner=_manner)
def crawl(
    seeds: Annotated[
        list[str], typer.Argument(metavar="URL…", help="Where to start: https://example.org/, or files of seeds.")
    ],
    *,
    name: Annotated[
        str | None,
        typer.Option(help="Name of the crawl; use the same name to resume it.", show_default="the first seed's host"),
    ] = None,
    settings: "Settings",
    wish: CrawlChange,
    manner: _Manner,
    as_json: AsJson = False,
) -> None:
    """Crawl from these URLs, politely, and keep the result in Postgres. Run it again to resume where it stopped."""
    with hushed(manner.quiet):
        interrupted = _crawl(settings, seeds, name, wish, manner, as_json=as_json)
    if interrupted:
        raise typer.Exit(130)


def _crawl(
    settings: "Settings", seeds: list[str], name: str | None, wish: CrawlChange, manner: _Manner, *, as_json: bool
) -> bool:
    """Run the crawl from start to its report. True: interrupted."""
    _check(settings, web=manner.web, handlers=wish.given.get("handlers", ()))
    if manner.to is not None:
        from app.features.export import follow

        follow.check(manner.to)
    urls = _read(settings, seeds, wish)
    name = name or urls[0].host
    began = time.monotonic()
    with _services(settings) as (settings, services, engine):
        with serving(engine, settings, services, name):
            since = _now(engine)
            found, is_new_work = _prepare(engine, settings, name, wish, urls, again=manner.again)
            with _following(engine, settings, found, manner.to) as follower:
                interrupted = is_new_work and run(
                    engine, settings, services, found, follower, web=manner.web, is_quiet=manner.quiet
                )
                if follower is not None:
                    patiently(partial(follower.look, is_last=True))
                    say(f"its pages are in {manner.to}")
        is_cut = not interrupted and _is_ours(services) and compare(engine, found)
        seconds = time.monotonic() - began
        summary = patiently(
            lambda: _summary(engine, found, since, may_be_uncompared=_is_ours(services) and not interrupted)
        )
        _tell(services, summary, seconds=seconds, as_json=as_json, interrupted=interrupted)
    return interrupted or is_cut


@gather(settings=settings_with)
def up(settings: "Settings", web: Web = False, as_json: AsJson = False) -> None:
    """Run beat and workers on this machine for every active crawl, until Ctrl-C."""
    from app.beat import sweep
    from app.local.background import restore
    from app.local.home import open_home
    from app.local.serving import up as serves_all
    from app.local.stack import Stack

    _check(settings, web=web)
    with _services(settings) as (settings, services, engine):
        sweep.end_leases_of_the_dead(engine)
        if as_json:
            answer(as_json_text(_where(services)))
        say(f"TIPTOE_DATABASE_URL={services.shown_database_url}")
        say(f"TIPTOE_BROKER_URL={services.shown_broker_url}")
        if services.password_file is not None:
            say(f"their passwords are in {services.home / 'services.json'}, which only you can read")
        say(f"beat and workers run; logs in {services.home / 'logs'}; Ctrl-C ends them")
        try:
            with (
                serves_all(open_home(services.home), settings, say, restore=partial(restore, engine)),
                Stack(settings, services, web=web) as stack,
                warned(),
            ):
                while True:
                    stack.tend()
                    time.sleep(1.0)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None


@contextmanager
def _services(settings: "Settings") -> "Iterator[tuple[Settings, Services, Engine]]":
    """Postgres, migrated, and a broker that answers: the configured ones, else our own."""
    from app.cli.database import check_broker
    from app.crawl.state.setup import make_engine
    from app.local.children import interruptible
    from app.local.home import is_held, open_home
    from app.local.services import LocalServices

    ours = {"Postgres": settings.database_url, "Valkey": settings.broker_url}
    if None in ours.values():
        open_home(settings.home)  # an error of it is all that is said
    run_folder = settings.home.resolve() / "run"
    started = [name for name in ours if ours[name] is None and not is_held(run_folder / f"{name.lower()}.keeper")]
    if started:
        say(f"starting {' and '.join(started)} …")
    given = {"database_url": settings.database_url, "broker_url": settings.broker_url}
    local = LocalServices(settings.home, **given, log=say, stay_s=settings.services_stay_s)
    with interruptible(), local as services:
        where = {"database_url": services.database_url, "broker_url": services.broker_url}
        check_broker(services.broker_url)
        found = settings.model_copy(update=where)
        engine = make_engine(found)
        try:
            check_schema(engine, services.database_url, May.UPGRADE, is_ours=settings.database_url is None)
            yield found, services, engine
        finally:
            engine.dispose()


def _check(settings: "Settings", *, web: bool, handlers: Sequence[str] = ()) -> None:
    """Whether a crawl can be run with them, and the dashboard beside it. Raises InputError.

    handlers: that are to get its pages
    """
    from app.config import unknown_variables, why_unknown
    from app.crawl.state.setup import make_credentials, make_signer
    from app.log import configure
    from app.policy import identity

    identity.check(settings.product_token, settings.contact)
    make_signer(settings)  # a bad key file is one line here; later it would end every worker of the crawl
    make_credentials(settings)
    configure(settings.log_format, "WARNING")
    for name in unknown_variables():
        say(f"warning: {name} {'; '.join(why_unknown(name))}")
    if settings.default_delay_s < settings.address_gap_s:
        say(f"the delay is {settings.default_delay_s:g} s, and an address gets a request")
        say(f"  every {settings.address_gap_s:g} s at most (TIPTOE_ADDRESS_GAP_S)")
    if web:
        check_web(settings)
        tell_web(settings)
    _check_handlers(settings, handlers)


def _check_handlers(settings: "Settings", wanted: Sequence[str]) -> None:
    """Whether our handlers load. A wanted one that is none of them is said: a fleet's workers may have it."""
    from app.admin.extract import loaded

    known = {each.name for each in loaded(settings, settings.handlers)} if settings.handlers else set[str]()
    for name in wanted:
        if name not in known:
            here = f"loads {', '.join(sorted(known))}" if known else "is not set"
            say(f"warning: handler {name!r} gets no page from here: TIPTOE_HANDLERS {here}")


def _read(settings: "Settings", seeds: list[str], wish: CrawlChange) -> list[Url]:
    """Before anything is started: can the crawl work as it is asked for, and is there a seed that we can and may
    contact?

    Raises InputError.
    """
    from app.admin.seeds import check, read
    from app.policy import crawl_spec

    crawl_spec.check(wish.of(CrawlSpec()))
    found = read(settings, chain.from_iterable(_in_file(seed) if _is_file(seed) else [seed] for seed in seeds))
    problems = check(settings, found)
    for problem in problems[:MOST_NOTED]:
        say(f"warning: {problem}")
    if len(problems) > MOST_NOTED:
        say(f"warning: … and {counted(len(problems) - MOST_NOTED, 'further seed')}")
    return found.urls


def _is_file(seed: str) -> bool:
    """Whether a seed names a file here; what is written as a URL is one."""
    try:
        return "://" not in seed and Path(seed).is_file()
    except OSError:  # too long for a name
        return False


def _in_file(name: str) -> Iterator[str]:
    """The seeds in a file, as `tiptoe seed import` reads it. Raises InputError for none, and for too many."""
    from app.admin.seeds import seeds as seeds_in
    from app.cli.seed import lines_of
    from app.errors import InputError

    place = 0
    with lines_of(name) as lines:
        for place, (_, text) in enumerate(seeds_in(lines, suffix=Path(name).suffix.lower()), 1):
            if place > MOST_FILE_SEEDS:
                file = shlex.quote(name)
                how = f"tiptoe seed import NAME {file}, then tiptoe up"
                raise InputError(f"seed file {name}", f"holds more than {MOST_FILE_SEEDS:,} seeds; for so many: {how}")
            yield text
    if not place:
        raise InputError(f"seed file {name}", "contains no seed; write one URL per line, e.g. https://example.org/")


def _prepare(
    engine: "Engine", settings: "Settings", name: str, wish: CrawlChange, seeds: list[Url], *, again: bool
) -> "tuple[Crawl, bool]":
    """The crawl of this name, made or resumed; and whether there is anything to run for."""
    from app.admin.run import Beginning, prepare
    from app.admin.waiting import budget_option
    from app.beat import sweep

    sweep.end_leases_of_the_dead(engine)
    sweep.sweep(engine)
    noted = " ".join(seed.text for seed in seeds[:MOST_NOTED]) + (" …" if len(seeds) > MOST_NOTED else "")
    asked = "; ".join([f"seeds={noted}", *filter(None, [wish.words])])
    with ordered(engine, "crawl.run", name, asked) as order:
        prepared = prepare(engine, settings, name, wish, seeds, again=again)
        order.outcome = f"{prepared.beginning}; it is {prepared.crawl.state}"
    for line in lifted(prepared.lifted):
        say(line)
    crawl = prepared.crawl
    if prepared.beginning is Beginning.RESUMED:
        say(f"{name}: resumes where it stopped")
    elif prepared.beginning is Beginning.ENDED:
        option = budget_option(crawl)
        raised = f"raise {option}, or " if option else ""
        say(f"{name}: is finished ({crawl.ending})")
        say(f"  to go on: {raised}add --again for another round")
    return crawl, prepared.beginning is not Beginning.ENDED


def _following(
    engine: "Engine", settings: "Settings", crawl: "Crawl", to: str | None
) -> "AbstractContextManager[PageFollower | None]":
    """Context with the writer of pages as they come; None where no place is named."""
    if to is None:
        return nullcontext()
    from app.features.export.follow import following

    return following(engine, settings, crawl, to)


def _tell(services: "Services", summary: Summary, *, seconds: float, as_json: bool, interrupted: bool) -> None:
    """Report the result, what to type next, and how to resume."""
    totals, command = summary.totals, typed(services.home)
    resume = how_to_resume(services, totals.name, totals.state, command) if interrupted else []
    for line in lines(summary, seconds=seconds, home=services.home, command=command, resume=resume):
        say(retyped(line))
    if as_json:
        keys = ("state", "ended_because", "pages", "fetches", "failed", "suppressed", "bytes")
        counts = {key: getattr(totals, key) for key in keys} | summary.brought._asdict()
        answer(as_json_text({"crawl": totals.name, **counts, "seconds": round(seconds, 3), **_where(services)}))


def _is_ours(services: "Services") -> bool:
    """Whether the database is ours: on a configured one a fleet's beat may compare what this one's left."""
    return services.password_file is not None


def _now(engine: "Engine") -> "datetime":
    """The database's time."""
    from app.store import db, server

    with db.transaction(engine) as tx:
        return server.now(tx)


def _summary(engine: "Engine", crawl: "Crawl", since: "datetime", *, may_be_uncompared: bool) -> Summary:
    from app.admin import rendering
    from app.admin.report import MOST_WAITING, led_away, traps_left, why_nothing
    from app.features.near import rows as near
    from app.store import crawls, db, hosts, suppressions, urls

    with db.transaction(engine) as tx:
        totals, now = crawls.totals(tx, crawl.id), crawls.by_id(tx, crawl.id)
        return Summary(
            totals=totals,
            brought=crawls.brought(tx, crawl.id, since=since),
            failed=crawls.failed_by_host(tx, crawl.id, n=MOST_TOLD),
            links=[(row["reason"], row["links"]) for row in suppressions.reasons(tx, crawl.id)],
            unopened=rendering.waiting(tx, crawl.id, crawl.render, is_paused=totals.state == "paused"),
            redirects=now.scope_redirects,
            elsewhere=led_away(tx, now),
            refused=urls.refused(tx, crawl.id),
            left=traps_left(tx, crawl.id),
            paused=hosts.paused_of(tx, crawl_id=crawl.id, n=MOST_TOLD + 1),
            uncompared=near.waiting(tx, crawl_id=crawl.id, most=MOST_WAITING) if may_be_uncompared else 0,
            why=() if totals.pages else why_nothing(tx, crawl.id),
        )


def _where(services: "Services") -> dict[str, object]:
    """The location of the data. `dsn` holds no password; it names the file with the embedded database's."""
    return {
        "dsn": services.shown_database_url,
        "password_file": services.password_file,
        "home": services.home,
    }


@contextmanager
def serving(engine: "Engine", settings: "Settings", services: "Services", name: str) -> Iterator[None]:
    """Context in which this command serves the crawl of this name. Names the others.

    Raises ServiceError, InputError where another command treats sites otherwise.
    """
    from app.local import serving
    from app.local.background import active_names, pause_if_active, restore
    from app.local.home import open_home

    if services.password_file is None:
        _name_others(engine, name)
        yield
        return
    home = open_home(services.home)
    ends, resumes = partial(pause_if_active, engine, name), partial(restore, engine)
    with serving.serving(home, name, settings, say, at_end=ends, restore=resumes):
        aside = serving.leave_aside(
            home, say, pause=partial(pause_if_active, engine), active=partial(active_names, engine)
        )
        if aside:
            say(f"set aside until this crawl stops: {_some(aside)}; tiptoe up serves them all")
        _name_others(engine, name, aside)
        yield


def how_to_resume(services: "Services", name: str, state: str, command: str) -> list[str]:
    """The lines that explain how to resume, after Ctrl-C.   command: how a command on the same data begins"""
    again = "interrupted: run the same command to resume"
    if state != "active":
        return [again]
    others = "another command" if services.password_file is not None else "other workers of this database"
    return [again, f"{others} may continue it until `{command} crawl pause {name}`"]


def _name_others(engine: "Engine", name: str, aside: Sequence[str] = ()) -> None:
    from app.store import crawls, db

    with db.transaction(engine) as tx:
        others = [crawl for crawl in crawls.every(tx) if crawl.name not in (name, *aside)]
    for state, says in (
        ("paused", "are paused; resume each by its own command"),
        ("active", "are active and served by these workers too"),
    ):
        names = [crawl.name for crawl in others if crawl.state == state]
        if names:
            say(f"other crawls {says}: {_some(names)}")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"
