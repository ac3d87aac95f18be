"""Runs one crawl on this machine: beat and workers as children, and a live view of them."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from app.cli.out import say
from app.words import counted

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.config import Settings
    from app.features.export.follow import PageFollower
    from app.local.services import Services
    from app.store.crawls import Crawl

LOOK_EVERY_S = 0.25
LOOK_SHARE = 20  # of the time that a look took: the database may be slow
LOOK_MOST_S = 10.0  # and if it was away, that is no reason to wait twenty times as long
BURY_EVERY_S = 1.0
FOLLOW_EVERY_S = 3.0
FOLLOW_SHARE = 5  # of the time that writing took: it shares the machine with the crawl
COMPARE_MOST_S = 30.0  # some 50,000 pages
COMPARE_MANY = 2_000  # so many take more than a second
T = TypeVar("T")


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
    from app.admin.live import Live
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
                        bury_at = time.monotonic() + BURY_EVERY_S
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
            catch_up(engine, crawl.id, within_s=COMPARE_MOST_S, pause=lambda: time.sleep(LOOK_EVERY_S))
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


def wait_to_look(took_s: float, *, meanwhile: Callable[[], None], sleep: Callable[[float], None] = time.sleep) -> None:
    """Wait for the next look, by what the last one took, outages included; call `meanwhile` every quarter second."""
    wait_s = min(max(LOOK_EVERY_S, LOOK_SHARE * took_s), LOOK_MOST_S)
    for _ in range(math.ceil(wait_s / LOOK_EVERY_S)):
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
