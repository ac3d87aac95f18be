"""Crawls by name: made, found, started, paused, resumed, finished, sent round again. `edit` changes what is asked of one."""

from collections import Counter
from collections.abc import Iterable
from functools import partial

from sqlalchemy import Engine

from app.admin.seeds import swell, wake
from app.admin.waiting import how_to_start
from app.beat.finish import finish as finish_ended
from app.config import Settings
from app.errors import InputError
from app.model import CrawlSpec
from app.policy import crawl_spec
from app.store import crawls, db, hosts, urls
from app.store.crawls import Crawl
from app.store.url_rows import Lot

_USUAL = CrawlSpec()


def create(engine: Engine, name: str, spec: CrawlSpec = _USUAL) -> Crawl:
    """A new crawl, active, without seeds. Raises InputError: the name is taken, or it cannot work as it is asked for."""
    crawl_spec.check(spec)
    if not name or len(name) > 100 or not name.isprintable():
        raise InputError(f"crawl name {name!r}", "use 1 to 100 printable characters")
    with db.transaction(engine) as tx:
        made = crawls.create(tx, name=name, spec=spec)
        if made is None:
            raise InputError(f"crawl {name!r}", "there is one of this name; choose another, or add seeds to it")
        return crawls.by_id(tx, made)


def find(engine: Engine, name: str) -> Crawl:
    """Raises InputError when there is no such crawl."""
    with db.transaction(engine) as tx:
        crawl = crawls.by_name(tx, name)
        if crawl is None:
            names = ", ".join(other.name for other in crawls.every(tx)[:10]) or "none yet"
            raise InputError(f"crawl {name!r}", f"there is none of this name; there are: {names}")
    return crawl


def start(engine: Engine, name: str) -> Crawl:
    """Make a crawl active, from any state; its clock starts anew. Raises InputError: it has nothing to do."""
    activate(engine, name)
    return _if_active(engine, name)


def start_round(engine: Engine, name: str, settings: Settings | None = None) -> Crawl:
    """Make a crawl active, in a new round. settings: as in `go_round`. Raises InputError: it has nothing to do."""
    go_round(engine, name, settings)
    return _if_active(engine, name)


def resume(engine: Engine, name: str) -> Crawl:
    """Raises InputError when it is not paused."""
    crawl = find(engine, name)
    if crawl.state != "paused":
        raise InputError(
            f"crawl {name}", f"is {crawl.state}, not paused; `tiptoe crawl start {name}` starts a finished one"
        )
    return start(engine, name)


def pause(engine: Engine, name: str) -> None:
    """Its URLs are not fetched until it is resumed. Raises InputError when it is not active."""
    crawl = find(engine, name)
    with db.transaction(engine) as tx:
        if not crawls.pause(tx, crawl.id):
            raise InputError(f"crawl {name!r}", f"is {crawl.state}; only an active crawl can be paused")


def finish(engine: Engine, name: str) -> None:
    """Ends now; nothing is deleted. Raises InputError when it has ended."""
    crawl = find(engine, name)
    with db.transaction(engine) as tx:
        if not crawls.finish(tx, crawl.id):
            raise InputError(f"crawl {name!r}", "is finished already")


def retry_failed(engine: Engine, name: str) -> int:
    """What it gave up is due now; a finished crawl goes on. Returns how many URLs. Raises InputError for none."""
    crawl = find(engine, name)
    with db.transaction(engine) as tx:
        found = urls.retry_failed(tx, crawl.id)
    if not found:
        raise InputError(f"crawl {name}", "no URL of it was given up; tiptoe crawl report says how its URLs ended")
    if crawl.state == "finished":
        start(engine, name)
    wake(engine, found)
    return len(found)


def activate(engine: Engine, name: str) -> int:
    """From any state to active; its clock starts anew. Returns how many hosts were woken.

    Beat ends it again where nothing is to do: `start` says so at once.
    """
    crawl = find(engine, name)
    with db.transaction(engine) as tx:
        crawls.start(tx, crawl.id, restart_clock=True)
        queued = urls.hosts_queued(tx, crawl.id)
    return wake(engine, queued)


def go_round(engine: Engine, name: str, settings: Settings | None = None) -> int:
    """Everything the crawl has settled is due now, with validators, in a new round. Returns how many hosts were woken.

    settings: of what a full frontier put off, as much comes in as the caps allow; None: all of it.
    """
    crawl = find(engine, name)
    per_host, per_crawl = (
        (settings.frontier_max_per_host, settings.frontier_max_per_crawl) if settings is not None else (None, None)
    )
    db.repeat(partial(_next_round, engine, crawl.id))
    with db.transaction(engine) as tx:
        lots = urls.lots_of_round(tx, crawl.id, per_host=per_host, per_crawl=per_crawl)
    new = _queue_lots(engine, crawl.id, lots)
    with db.transaction(engine) as tx:  # last: with nothing queued it may have ended meanwhile
        crawls.start(tx, crawl.id, restart_clock=True)
    woken = wake(engine, new)
    swell(engine, new)
    return woken


def _if_active(engine: Engine, name: str) -> Crawl:
    """The crawl that was started. Raises InputError: it has ended again, as nothing is queued or it is at its budget still."""
    finish_ended(engine)
    now = find(engine, name)
    if now.state == "finished":
        done = now.ended_because == "done"
        how = f"nothing is queued; add seeds, or: tiptoe crawl start {name} --again" if done else how_to_start(now)
        raise InputError(f"crawl {name}", f"is finished ({now.ended_because}); {how}")
    return now


def _next_round(engine: Engine, crawl_id: int) -> None:
    with db.transaction(engine) as tx:
        crawls.next_round(tx, crawl_id)


def _queue_lots(engine: Engine, crawl_id: int, lots: Iterable[Lot]) -> Counter[int]:
    """How many URLs each host got."""
    new: Counter[int] = Counter()
    for lot in lots:
        new.update(db.repeat(partial(_queue_lot, engine, crawl_id, lot)))
    return new


def _queue_lot(engine: Engine, crawl_id: int, lot: Lot) -> Counter[int]:
    """Under the locks of their hosts, as a settle writes URLs: neither can have some and wait for the other's."""
    with db.transaction(engine) as tx:
        hosts.lock(tx, lot.ids)
        return urls.go_round(tx, crawl_id, lot)
