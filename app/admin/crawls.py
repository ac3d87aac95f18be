"""Crawls and their seeds: made, widened, started, paused, finished. What the commands and admin scripts call."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from sqlalchemy import Engine

from app.admin.seeds import add, swell, wake
from app.beat.finish import finish as finish_ended
from app.beat.finish import recount
from app.config import Settings
from app.errors import InputError
from app.policy import scope
from app.policy.scope import ScopeKind
from app.store import crawls, db, hosts, urls
from app.store.crawls import Budgets, Crawl
from app.store.urls import Lot

SITEMAPS = ("none", "declared", "all")

_BUDGETS = {
    "max_pages": (1, 10**15),
    "max_bytes": (1, 10**18),
    "max_depth": (0, 10**9),
    "max_seconds": (0.001, 10**9),
}


def create(
    engine: Engine,
    name: str,
    *,
    scope_kind: str = "host",
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    budgets: Budgets | None = None,
    keep_fresh: bool = False,
    sitemaps: str = "all",
    honour_opt_outs: bool = False,
) -> Crawl:
    """A new crawl, active, without seeds. Raises InputError: the name is taken, a pattern or the scope is no good.

    sitemaps         none; declared: those that robots.txt names; all: also /sitemap.xml where it names none
    honour_opt_outs  pages whose owner reserves text and data mining are not kept
    """
    budgets = budgets or Budgets()
    scope.scope_of([], kind=_kind(scope_kind), include=include, exclude=exclude, max_depth=budgets.max_depth)
    _check(name, budgets)
    with db.transaction(engine) as tx:
        made = crawls.create(
            tx,
            name=name,
            scope=scope_kind,
            include=include,
            exclude=exclude,
            budgets=budgets,
            keep_fresh=keep_fresh,
            sitemaps=check_sitemaps(sitemaps),
            honour_opt_outs=honour_opt_outs,
        )
        if made is None:
            raise InputError(f"crawl {name!r}", "there is one of this name; choose another, or add seeds to it")
        return crawls.by_id(tx, made)


def check_reach(
    crawl: Crawl, *, scope_kind: str | None, include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> None:
    """Raises InputError for a scope or patterns that are not those the crawl was made with; none given: nothing is asked."""
    scope.scope_of([], kind=_kind(scope_kind or crawl.scope), include=include, exclude=exclude, max_depth=None)
    for what, given, kept in (
        ("scope", [scope_kind] if scope_kind else [], [crawl.scope]),
        ("include", list(include), crawl.include),
        ("exclude", list(exclude), crawl.exclude),
    ):
        if given and given != kept:
            has = " ".join(kept) or "none"
            raise InputError(
                f"{what} {' '.join(given)}",
                f"crawl {crawl.name} has the {what} {has} already; leave it out, or: tiptoe crawl edit {crawl.name}",
            )


def check_shape(kind: str, include: Sequence[str] | None, exclude: Sequence[str] | None, budgets: Budgets) -> ScopeKind:
    """Raises InputError for a scope, a pattern or a budget that is no good."""
    found = _kind(kind)
    scope.scope_of([], kind=found, include=include or (), exclude=exclude or (), max_depth=budgets.max_depth)
    _check("any", budgets)
    return found


def check_sitemaps(which: str) -> str:
    """Raises InputError for what is none of SITEMAPS."""
    if which not in SITEMAPS:
        raise InputError(f"sitemaps {which!r}", f"use one of: {', '.join(SITEMAPS)}")
    return which


def find(engine: Engine, name: str) -> Crawl:
    """Raises InputError when there is no such crawl."""
    with db.transaction(engine) as tx:
        crawl = crawls.by_name(tx, name)
        if crawl is None:
            names = ", ".join(other.name for other in crawls.every(tx)[:10]) or "none yet"
            raise InputError(f"crawl {name!r}", f"there is none of this name; there are: {names}")
    return crawl


def take_up_again(
    engine: Engine,
    settings: Settings,
    crawl: Crawl,
    lines: Sequence[str],
    *,
    budgets: Budgets,
    keep_fresh: bool,
    again: bool,
    say: Callable[[str], None],
    scope_kind: str | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    sitemaps: str | None = None,
    honour_opt_outs: bool | None = None,
) -> tuple[Crawl, bool]:
    """A crawl that exists, as a command asks for it once more: new seeds and budgets count, and it goes on if it can.

    sitemaps, honour_opt_outs: None: as it did; what owners were promised does not end by an option left out.

    Returns the crawl and whether there is anything to run for. Raises InputError: it has another scope, or other patterns.
    """
    check_reach(crawl, scope_kind=scope_kind, include=include, exclude=exclude)
    set_budgets(engine, crawl, budgets, keep_fresh=keep_fresh)
    set_manners(engine, crawl, sitemaps=sitemaps, honour_opt_outs=honour_opt_outs)
    add(engine, settings, crawl, lines)
    if again:
        go_round(engine, crawl, settings)
        return find(engine, crawl.name), True
    before = crawl.state
    if before == "paused" or (before == "finished" and crawl.ended_because != "done"):
        start(engine, crawl)
        finish_ended(engine)  # at its budget still?
    now = find(engine, crawl.name)
    if now.state != "finished":
        if before == "active":
            start(engine, crawl)
        say(f"{crawl.name}: going on")
        return now, True
    how = {"max_pages": "raise --max-pages", "max_bytes": "raise --max-bytes"}.get(now.ended_because or "", "")
    say(f"{crawl.name}: is finished ({now.ended_because}); {how + ', or ' if how else ''}go round again with --again")
    return now, False


def go_round(engine: Engine, crawl: Crawl, settings: Settings | None = None) -> int:
    """Go round: everything the crawl has settled is due now, with validators. Returns how many hosts were woken.

    settings: of what a full frontier put off, as much comes in as the caps allow; None: all of it.
    """
    per_host, per_crawl = (
        (settings.frontier_max_per_host, settings.frontier_max_per_crawl) if settings is not None else (None, None)
    )
    db.repeat(partial(_next_round, engine, crawl.id))
    with db.transaction(engine) as tx:
        lots = urls.lots_of_round(tx, crawl.id, per_host=per_host, per_crawl=per_crawl)
    new: Counter[int] = Counter()
    for lot in lots:
        new.update(db.repeat(partial(_queue_lot, engine, crawl.id, lot)))
    with db.transaction(engine) as tx:  # last: with nothing queued it may have ended meanwhile
        crawls.start(tx, crawl.id, restart_clock=True)
    woken = wake(engine, new)
    swell(engine, new)
    return woken


def start(engine: Engine, crawl: Crawl) -> int:
    """From paused or finished to active; its clock starts anew. Returns how many hosts were woken."""
    with db.transaction(engine) as tx:
        crawls.start(tx, crawl.id, restart_clock=True)
        queued = urls.hosts_queued(tx, crawl.id)
    return wake(engine, queued)


def pause(engine: Engine, crawl: Crawl) -> None:
    """Its URLs are not fetched until it is resumed. Raises InputError when it is not active."""
    with db.transaction(engine) as tx:
        if not crawls.pause(tx, crawl.id):
            raise InputError(f"crawl {crawl.name!r}", f"is {crawl.state}; only an active crawl can be paused")


def finish(engine: Engine, crawl: Crawl) -> None:
    """Ends now; nothing is deleted. Raises InputError when it has ended."""
    with db.transaction(engine) as tx:
        if not crawls.finish(tx, crawl.id):
            raise InputError(f"crawl {crawl.name!r}", "is finished already")


def set_budgets(engine: Engine, crawl: Crawl, budgets: Budgets, *, keep_fresh: bool) -> None:
    _check(crawl.name, budgets)
    with db.transaction(engine) as tx:
        crawls.set_budgets(tx, crawl_id=crawl.id, budgets=budgets, keep_fresh=keep_fresh)
    recount(engine, crawl.id)


def set_manners(
    engine: Engine, crawl: Crawl, *, sitemaps: str | None = None, honour_opt_outs: bool | None = None
) -> None:
    """How it goes about things from here on, as in `create`; None: as it does. A page that it has is judged anew when it is
    fetched again. Raises InputError."""
    if sitemaps is not None:
        check_sitemaps(sitemaps)
    if sitemaps is not None or honour_opt_outs is not None:
        with db.transaction(engine) as tx:
            crawls.set_manners(tx, crawl_id=crawl.id, sitemaps=sitemaps, honour_opt_outs=honour_opt_outs)


def _next_round(engine: Engine, crawl_id: int) -> None:
    with db.transaction(engine) as tx:
        crawls.next_round(tx, crawl_id)


def _queue_lot(engine: Engine, crawl_id: int, lot: Lot) -> Counter[int]:
    """Under the locks of their hosts, as a settle writes URLs: neither can have some and wait for the other's."""
    with db.transaction(engine) as tx:
        hosts.lock(tx, lot.ids)
        return urls.go_round(tx, crawl_id, lot)


def _kind(text: str) -> ScopeKind:
    try:
        return ScopeKind(text)
    except ValueError:
        raise InputError(f"scope {text!r}", f"use one of: {', '.join(ScopeKind)}") from None


def _check(name: str, budgets: Budgets) -> None:
    if not name or len(name) > 100 or not name.isprintable():
        raise InputError(f"crawl name {name!r}", "use 1 to 100 printable characters")
    for what, (least, most) in _BUDGETS.items():
        value = getattr(budgets, what)
        if value is not None and not least <= value <= most:  # not a number, too
            raise InputError(
                f"{what} {value}", f"use a number from {least:g} to {most:,}, or leave it out for no limit"
            )
