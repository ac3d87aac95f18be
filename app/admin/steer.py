"""Crawls by name, as an operator steers them: made, started, paused, resumed, finished, sent round again."""

from dataclasses import replace

from sqlalchemy import Engine

from app.admin import crawls as seed
from app.admin.edit import Change, edit
from app.admin.waiting import how_to_start
from app.beat.finish import finish as finish_ended
from app.config import Settings
from app.errors import InputError
from app.store import crawls, db, hosts, urls
from app.store.crawls import Budgets, Crawl


def open_crawl(
    engine: Engine,
    name: str,
    wish: Change,
) -> Crawl:
    """The crawl of this name, made where it is new. Raises InputError: it has another scope, or other patterns, already.

    Budgets, freshness, sitemaps and opt-outs of one that exists change, as far as they are given.
    """
    with db.transaction(engine) as tx:
        known = crawls.by_name(tx, name)
    if known is None:
        return seed.create(
            engine,
            name,
            scope_kind=wish.scope or "host",
            include=wish.include or (),
            exclude=wish.exclude or (),
            budgets=Budgets(**dict(wish.budgets)),  # type: ignore[arg-type]
            keep_fresh=bool(wish.keep_fresh),
            sitemaps=wish.sitemaps or "all",
            honour_opt_outs=bool(wish.honour_opt_outs),
        )
    seed.check_reach(known, scope_kind=wish.scope, include=wish.include or (), exclude=wish.exclude or ())
    rest = replace(wish, scope=None, include=None, exclude=None)
    return known if rest.is_empty else edit(engine, name, rest)


def retry_failed(engine: Engine, name: str) -> int:
    """What it gave up is due now; a finished crawl goes on. Returns how many URLs. Raises InputError for none."""
    crawl = seed.find(engine, name)
    with db.transaction(engine) as tx:
        found = urls.retry_failed(tx, crawl.id)
    if not found:
        raise InputError(f"crawl {name}", "no URL of it was given up; tiptoe crawl report says how its URLs ended")
    if crawl.state == "finished":
        start(engine, name)
    with db.transaction(engine) as tx:
        hosts.wake(tx, sorted(set(found)))
    return len(found)


def start(engine: Engine, name: str, *, again: bool = False, settings: Settings | None = None) -> Crawl:
    """Active from any state. again: everything it has settled is due now, with validators; settings: as far as their caps go.

    Raises InputError.
    """
    crawl = seed.find(engine, name)
    if again:
        seed.go_round(engine, crawl, settings)
    else:
        seed.start(engine, crawl)
    finish_ended(engine)  # nothing to do, or at its budget still?
    now = seed.find(engine, name)
    if now.state == "finished":
        done = now.ended_because == "done"
        how = f"nothing is queued; add seeds, or: tiptoe crawl start {name} --again" if done else how_to_start(now)
        raise InputError(f"crawl {name}", f"is finished ({now.ended_because}); {how}")
    return now


def resume(engine: Engine, name: str) -> Crawl:
    """Raises InputError when it is not paused."""
    crawl = seed.find(engine, name)
    if crawl.state != "paused":
        raise InputError(
            f"crawl {name}", f"is {crawl.state}, not paused; `tiptoe crawl start {name}` starts a finished one"
        )
    return start(engine, name)


def pause(engine: Engine, name: str) -> None:
    """Raises InputError when it is not active."""
    seed.pause(engine, seed.find(engine, name))


def finish(engine: Engine, name: str) -> None:
    """Ends now; nothing is deleted. Raises InputError when it has ended."""
    seed.finish(engine, seed.find(engine, name))
