"""Runs one crawl on this machine, with beat and workers as children and a live view of them, and writes its last lines.

The lines say what it brought, what to type next and to resume, and what a run lifts. Each fits 80 columns, but for a
long name, path or URL.
"""

import math
import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from app.cli.out import say
from app.model.reasons import Cause
from app.words import counted, sized

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.config import Settings
    from app.features.export.follow import PageFollower
    from app.local.services import Services
    from app.store.crawls import Crawl, RunCounts, Totals
    from app.store.url_rows import RefusedUrls

LOOK_EVERY_S = 0.25
LOOK_SHARE = 20  # of the time that a look took: the database may be slow
LOOK_MOST_S = 10.0  # and if it was away, that is no reason to wait twenty times as long
FOLLOW_EVERY_S = 3.0
FOLLOW_SHARE = 5  # of the time that writing took: it shares the machine with the crawl
COMPARE_MANY = 2_000  # so many take more than a second
T = TypeVar("T")
MOST_TOLD = 5
WAITING = "SELECT url FROM renders WHERE state = 'due'"


def run(
    engine: "Engine",
    settings: "Settings",
    services: "Services",
    crawl: "Crawl",
    follower: "PageFollower | None" = None,
    *,
    web: bool = False,
    is_quiet: bool = False,
) -> bool:
    """Run beat and workers until the crawl has ended, and handlers have had its pages. True: interrupted.

    follower: writes pages as they come;   web: the dashboard too;   is_quiet: without the live view
    While Postgres is away it waits, as beat and workers do.
    Raises ServiceError for a child that cannot stay up.
    """
    from app.admin.board.pulse import Live
    from app.beat import sweep
    from app.local.progress import LiveView
    from app.local.stack import Stack, count_workers

    hands_on = _handing_on(engine, settings, crawl.id)
    live = Live(engine, crawl.id, settings.queue_names)
    bury_at = follow_at = 0.0
    say(f"starting beat and {counted(count_workers(settings), 'worker')} …")
    with LiveView(gap_s=settings.address_gap_s, is_quiet=is_quiet) as progress:
        try:
            with Stack(settings, services, web=web) as stack, warned(progress.stop):
                while True:
                    began = time.monotonic()
                    seen = patiently(partial(live.look, in_full=progress.is_due()), meanwhile=stack.tend)
                    progress.show(seen)
                    if seen.state != "active" and not patiently(partial(hands_on, seen.state), meanwhile=stack.tend):
                        break
                    if time.monotonic() >= bury_at:  # workers of a command that was killed may take a while to die
                        patiently(lambda: sweep.end_leases_of_the_dead(engine), meanwhile=stack.tend)
                        bury_at = time.monotonic() + 1.0
                    if follower is not None and time.monotonic() >= follow_at:
                        followed = time.monotonic()
                        patiently(partial(follower.look, stack.tend), meanwhile=stack.tend)
                        took = time.monotonic() - followed
                        follow_at = time.monotonic() + max(FOLLOW_EVERY_S, FOLLOW_SHARE * took)
                    wait_to_look(time.monotonic() - began, meanwhile=stack.tend)
            progress.show(patiently(live.look))
        except KeyboardInterrupt:
            return True
    return False


def compare(engine: "Engine", crawl: "Crawl") -> bool:
    """Compare the crawl's pages that wait to be, which beat left, for half a minute at most. True: interrupted."""
    from app.errors import ServiceError
    from app.features.near import rows as near
    from app.features.near.find import catch_up
    from app.store import db

    try:
        with suppress(ServiceError):  # what is left is told of
            with db.transaction(engine) as tx:
                is_long = near.waiting(tx, crawl_id=crawl.id, most=COMPARE_MANY) == COMPARE_MANY
            if is_long:
                say("comparing pages for near duplicates; Ctrl-C leaves the rest for the next run")
            catch_up(engine, crawl.id, within_s=30.0, pause=lambda: time.sleep(LOOK_EVERY_S))  # some 50,000 pages
    except KeyboardInterrupt:
        return True
    return False


@contextmanager
def warned(before: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Context that says at Ctrl-C that the end takes a while.   before: called first"""
    try:
        yield
    except KeyboardInterrupt:
        before()
        say("stopping: requests on their way end first; Ctrl-C again stops at once")
        raise


def _handing_on(engine: "Engine", settings: "Settings", crawl_id: int) -> Callable[[str], bool]:
    """A function that tells, by the crawl's state, whether it has ended while pages wait for handlers.

    Their links may make it active again.
    """
    from app.admin.extract import is_extracting, loaded

    names = [each.name for each in loaded(settings, settings.handlers)] if settings.handlers else []
    return lambda state: bool(names) and state == "finished" and is_extracting(engine, crawl_id, names)


def look_in_s(took_s: float) -> float:
    """Seconds until the next look, by what the last one took."""
    return min(max(LOOK_EVERY_S, LOOK_SHARE * took_s), LOOK_MOST_S)


def wait_to_look(took_s: float, *, meanwhile: Callable[[], None], sleep: Callable[[float], None] = time.sleep) -> None:
    """Wait for the next look, by what the last one took, outages included; call `meanwhile` every quarter second."""
    for _ in range(math.ceil(look_in_s(took_s) / LOOK_EVERY_S)):
        meanwhile()
        sleep(LOOK_EVERY_S)


def patiently(ask: Callable[[], T], *, meanwhile: Callable[[], None] = lambda: None) -> T:
    """Call `ask` until Postgres answers; say once that it is away. Ctrl-C ends the wait."""
    from app.errors import ServiceError

    is_told = False
    while True:
        try:
            return ask()
        except ServiceError as error:
            if not is_told:
                say(f"{error}; waiting for it (Ctrl-C stops waiting)")
                is_told = True
        meanwhile()
        time.sleep(LOOK_EVERY_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Result of a crawl.

    brought    what this run changed
    failed     hosts with the most requests that brought no page, and how many
    links      reasons why links were refused, and how many
    redirects  folders that came into the scope
    elsewhere  pages of other sites that seeds redirect to, which were fetched alone
    refused    URLs that were admitted, and refused since
    left       lines about patterns of which the most URLs were refused as a trap
    unopened   of pages that wait for a browser: how many, and why; none: none waits
    paused     hosts that an operator paused, with URLs queued; one more than is told of
    uncompared pages that are yet to be compared with others
    why        there is no page; none: there is one
    """

    totals: "Totals"
    brought: "RunCounts"
    failed: Sequence[tuple[str, int]] = ()
    links: Sequence[tuple[str, int]] = ()
    redirects: Sequence[str] = ()
    elsewhere: Sequence[str] = ()
    refused: "Sequence[RefusedUrls]" = ()
    left: Sequence[str] = ()
    unopened: Sequence[str] = ()
    paused: Sequence[str] = ()
    uncompared: int = 0
    why: Sequence[str] = ()


def lines(
    summary: Summary,
    *,
    seconds: float,
    home: Path,
    command: str,
    resume: Sequence[str],
) -> Iterator[str]:
    """The lines.   home: where the data is;   command: how a command on it begins;   resume: after Ctrl-C"""
    yield from _what_it_brought(summary, seconds)
    yield from _what_was_refused(summary, command)
    yield from _what_waits(summary, command)
    yield from _listed("added to the scope, because seeds redirect there:", summary.redirects)
    yield from _listed(
        "fetched alone, because seeds redirect to another site; to crawl that site:",
        [f"{command} crawl {shlex.quote(url)}" for url in summary.elsewhere],
    )
    if summary.uncompared:
        yield f"{counted(summary.uncompared, 'page')} yet to be compared with others: run the same command again"
    yield from resume
    yield from _next(summary.totals, command) if summary.totals.pages else ()
    yield f"data: {home}"
    yield from (f"{'  ' if place else 'no page: '}{why}" for place, why in enumerate(summary.why))


def _what_it_brought(summary: Summary, seconds: float) -> Iterator[str]:
    totals, brought = summary.totals, summary.brought
    ended = f"ended: {totals.ended_because}" if totals.ended_because else totals.state
    yield f"{totals.name} ({ended}): {counted(totals.pages, 'page')}, {sized(totals.bytes)}"
    yield (
        f"this run: {counted(brought.new, 'new page')}, {brought.changed:,} changed, {brought.gone:,} gone, "
        f"in {seconds:,.1f} s"
    )
    failed = f"{totals.failed:,} failed{_most(summary.failed, totals.failed)}"
    yield f"{counted(totals.fetches, 'request')} for URLs, {failed}"


def _what_was_refused(summary: Summary, command: str) -> Iterator[str]:
    totals = summary.totals
    if totals.suppressed:
        yield f"{counted(totals.suppressed, 'link')} refused{_most(summary.links, totals.suppressed)}"
    yield from (_refused(each, command) for each in summary.refused)
    yield from (f"  {line}" for line in summary.left)
    if summary.left:
        name = shlex.quote(totals.name)
        yield f"  then: {command} crawl edit {name} --profile FILE"
        yield f"        {command} crawl start {name}"


def _what_waits(summary: Summary, command: str) -> Iterator[str]:
    """Pages that wait for a browser, and hosts that wait for an operator."""
    if summary.unopened:
        pages, why = summary.unopened
        yield f"{pages}: {why}"
        yield f'  which: {command} sql "{WAITING}"'
    for host in summary.paused[:MOST_TOLD]:
        yield f"paused by an operator, with URLs queued: {command} host resume {host}"
    if len(summary.paused) > MOST_TOLD:
        yield f"  and others: {command} host list --waits-for paused"


def _listed(title: str, found: Sequence[str]) -> Iterator[str]:
    """The first of them below a title; nothing where there are none."""
    if not found:
        return
    yield title
    yield from (f"  {each}" for each in found[:MOST_TOLD])
    if len(found) > MOST_TOLD:
        yield f"  and {counted(len(found) - MOST_TOLD, 'other')}"


def lifted(found: Mapping[str, float]) -> Iterator[str]:
    """A line for each budget that a crawl had and that the command does not name, and for freshness."""
    for name, value in found.items():
        number = "" if value is True else f" {value:.15g}"
        yield f"{name}{number} is lifted; to keep it: --{name.replace('_', '-')}{number}"


def _next(totals: "Totals", command: str) -> Iterator[str]:
    """Lines to type next: to see the pages, to get them out, to look at the crawl."""
    name = shlex.quote(totals.name)
    yield "next:"
    yield f"  {command} page list --crawl {name}"
    yield f"  {command} export pages --crawl {name} --to {shlex.quote(f'{_file(totals.name)}.jsonl')}"
    yield f"  {command} web"


def _file(name: str) -> str:
    """A crawl's name as the name of a file."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "pages"


def _most(counts: Sequence[tuple[str, int]], total: int) -> str:
    """`: down.test 9, reset.test 5, others 2`."""
    told = list(counts[:MOST_TOLD])
    rest = total - sum(n for _, n in told)
    if told and rest > 0:
        told.append(("others", rest))
    return f": {', '.join(f'{name} {n:,}' for name, n in told)}" if told else ""


def _refused(each: "RefusedUrls", command: str) -> str:
    said = f"{counted(each.urls, 'URL')} refused ({each.cause})"
    if each.cause != Cause.TRAP:
        return said
    return f"{said}: {command} host patterns {each.host}" + (
        f" (and {counted(each.hosts - 1, 'other host')})" if each.hosts > 1 else ""
    )
