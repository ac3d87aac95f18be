"""Creates, finds, edits, starts, pauses, resumes, finishes and repeats crawls, by name.

Crawls may have a round every so often (`tiptoe crawl edit NAME --every 1d`). A round begins when it is due and the one
before has ended, in a crawl that is not paused. Where one took longer than its interval, the next begins as it ends;
the times stay whole intervals apart.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial

import structlog
from sqlalchemy import Engine

from app.admin.waiting import how_to_start
from app.beat.finish import finish as finish_ended
from app.config import Settings
from app.errors import InputError
from app.model import CrawlEnding, CrawlSpec
from app.policy import crawl_spec
from app.store import caps, crawls, db, hosts, urls
from app.store import crawls as crawl_rows
from app.store.crawls import Crawl
from app.store.url_rows import RoundLot

NAME_BYTES_MOST = 100
_USUAL = CrawlSpec()
_log = structlog.get_logger()


def create(engine: Engine, name: str, spec: CrawlSpec = _USUAL) -> Crawl:
    """Create a crawl, active, without seeds. Raises InputError: the name is taken, or the specification cannot work."""
    crawl_spec.check(spec)
    _check_name(name)
    with db.transaction(engine) as tx:
        made = crawls.create(tx, name=name, spec=spec)
        if made is None:
            raise InputError(f"crawl {name}", "already exists; choose another name, or add seeds to it")
        return crawls.by_id(tx, made)


def find(engine: Engine, name: str) -> Crawl:
    """Find a crawl by name. Raises InputError when there is none."""
    with db.transaction(engine) as tx:
        return crawls.named(tx, name)


def start(engine: Engine, name: str, *, may_end: bool = False) -> Crawl:
    """Make a crawl active, from any state, wake its hosts, and restart its clock.

    It ends again where it has nothing to do: nothing is queued, or it is still at its budget. Raises InputError then.
    may_end: returns it as it is then, finished.
    """
    crawl = find(engine, name)
    with db.transaction(engine) as tx:
        crawls.start(tx, crawl.id, restart_clock=True)
        queued = urls.hosts_queued(tx, crawl.id)
    wake(engine, queued)
    finish_ended(engine)
    now = find(engine, name)
    return now if may_end else _active(now)


def start_round(engine: Engine, name: str, settings: Settings | None = None) -> Crawl:
    """Make a crawl active, in a new round. settings: as in `go_round`. Raises InputError: it has nothing to do."""
    go_round(engine, name, settings)
    finish_ended(engine)
    return _active(find(engine, name))


def resume(engine: Engine, name: str) -> bool:
    """Resume a paused crawl. False: it is active already. Raises InputError when it is finished."""
    crawl = find(engine, name)
    if crawl.state == "finished":
        raise InputError(f"crawl {name}", f"is finished, not paused; to start it again: {how_to_start(crawl)}")
    if crawl.state == "paused":
        start(engine, name)
    return crawl.state == "paused"


def pause(engine: Engine, name: str) -> bool:
    """Pause a crawl: its URLs are not fetched until it is resumed. False: it is paused already.

    Raises InputError when it is finished.
    """
    crawl = find(engine, name)
    with db.transaction(engine) as tx:
        is_changed = crawls.pause(tx, crawl.id)
    if not is_changed and find(engine, name).state == "finished":
        raise InputError(f"crawl {name}", "is finished; only an active crawl can be paused")
    return is_changed


def finish(engine: Engine, name: str) -> bool:
    """End a crawl now; nothing is deleted. False: it is finished already."""
    crawl = find(engine, name)
    with db.transaction(engine) as tx:
        return crawls.finish(tx, crawl.id)


def retry_failed(engine: Engine, name: str) -> int:
    """Make the URLs that were given up due now; a finished crawl resumes.

    Returns how many. Raises InputError for none.
    """
    crawl = find(engine, name)
    with db.transaction(engine) as tx:
        found = urls.retry_failed(tx, crawl.id)
    if not found:
        raise InputError(f"crawl {name}", "no URL of it was given up; tiptoe crawl report shows how its URLs ended")
    if crawl.state == "finished":
        start(engine, name)
    wake(engine, found)
    return len(found)


def go_round(engine: Engine, name: str, settings: Settings | None = None) -> int:
    """Start a new round: every settled URL of the crawl is due now, with validators. Returns how many hosts were woken.

    settings: URLs that a full frontier deferred are admitted as far as the caps allow; None: all of them.
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


def wake(engine: Engine, host_ids: Iterable[int]) -> int:
    with db.transaction(engine) as tx:
        return hosts.wake(tx, sorted(set(host_ids)))


def swell(engine: Engine, new: Mapping[int, int]) -> None:
    """Add many new URLs to their hosts' estimates, for the cap per host."""
    for host_id, n in new.items():
        if n >= 100:  # of its URLs in a batch
            with db.transaction(engine) as tx:
                caps.swell(tx, host_id=host_id, n=n)


def _check_name(name: str) -> None:
    """Check that a new name can be typed, as a word, and is part of no path. Raises InputError."""
    if not name or not name.isprintable() or len(name.encode()) > NAME_BYTES_MOST:
        raise InputError(f"crawl name {name!r}", f"use printable characters, 1 to {NAME_BYTES_MOST} octets in UTF-8")
    if name.startswith("-") or any(each.isspace() or each in "/\\" for each in name):
        better = re.sub(r"[\s/\\]+", "-", name).strip("-") or "docs"
        raise InputError(f"crawl name {name!r}", f"has a blank or a slash, or begins with -; use {better}, say")


def _active(crawl: Crawl) -> Crawl:
    """The crawl. Raises InputError with the remedy if it is finished."""
    if crawl.state == "finished":
        how = how_to_start(crawl)
        if crawl.ended_because is CrawlEnding.DONE:
            how = f"nothing is queued; add seeds, or: {how} --again"
        raise InputError(f"crawl {crawl.name}", f"is finished ({crawl.ending}); {how}")
    return crawl


def _next_round(engine: Engine, crawl_id: int) -> None:
    with db.transaction(engine) as tx:
        crawls.next_round(tx, crawl_id)


def _queue_lots(engine: Engine, crawl_id: int, lots: Iterable[RoundLot]) -> Counter[int]:
    """Queue the lots. Returns how many URLs each host got."""
    new: Counter[int] = Counter()
    for lot in lots:
        new.update(db.repeat(partial(_queue_lot, engine, crawl_id, lot)))
    return new


def _queue_lot(engine: Engine, crawl_id: int, lot: RoundLot) -> Counter[int]:
    """Queue a lot under the locks of its hosts, as a settle writes URLs, so that the two cannot deadlock."""
    with db.transaction(engine) as tx:
        hosts.lock(tx, lot.ids)
        return urls.go_round(tx, crawl_id, lot)


def begin(engine: Engine, settings: Settings) -> int:
    """Begin all rounds that are due. Returns how many."""
    begun = 0
    while True:
        with db.transaction(engine) as tx:
            due = crawl_rows.lend_round(tx, lease_s=600.0)  # after a crash in between, another begins the round
        if due is None:
            return begun
        woken = go_round(engine, due.name, settings)
        with db.transaction(engine) as tx:
            crawl_rows.begun(tx, due)
        begun += 1
        _log.info("rounds.begun", crawl=due.name, hosts=woken)
