"""Crawls by name, as an operator steers them: made, started, paused, resumed, finished, sent round again."""

from sqlalchemy import Engine

from app.config import Settings
from app.crawl import seed
from app.crawl.finish import finish as finish_ended
from app.crawl.waits import how_to_start
from app.errors import InputError
from app.store import crawls, db
from app.store.crawls import Crawl


def open_crawl(
    engine: Engine,
    name: str,
    *,
    scope: str | None,
    sitemaps: str | None = None,
    honour_opt_outs: bool | None = None,
) -> Crawl:
    """The crawl of this name, made where it is new (None: host, all, False). Raises InputError: it has a scope already.

    sitemaps and honour_opt_outs of one that exists change, from here on.
    """
    with db.transaction(engine) as tx:
        known = crawls.by_name(tx, name)
    if known is None:
        return seed.create(
            engine,
            name,
            scope_kind=scope or "host",
            sitemaps=sitemaps or "all",
            honour_opt_outs=bool(honour_opt_outs),
        )
    seed.check_reach(known, scope_kind=scope)
    seed.set_manners(engine, known, sitemaps=sitemaps, honour_opt_outs=honour_opt_outs)
    return known


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
