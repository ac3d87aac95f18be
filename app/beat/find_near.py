"""Find near duplicates: compares pages whose text is new with the others of their crawl, beside the crawl.

As many processes as there are do it, each for some seconds at most, and each with a lot of pages that no other has. The
older text is the original, whoever compares. A near duplicate is noted, and the links that it was the first to name
wait in the last lane. A duplicate whose original is gone is one no longer: it looks for another, and its links get
their lanes back.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import structlog
from sqlalchemy import Connection, Engine

from app.beat.compare_near import repeats_another
from app.beat.near_memory import NearMemory
from app.errors import InputError
from app.policy.focus.near import Likeness
from app.policy.focus.profile import Profile
from app.policy.focus.shipped import GENERAL, profile_of
from app.policy.lane import LAST_LANE
from app.store import crawls, db, hosts, near, server
from app.store.near import Change, QueuedLink
from app.store.search import Where

if TYPE_CHECKING:
    from app.beat.compare_lot import Compared

_log = structlog.get_logger()
AT_ONCE = 200  # pages: planning the queries of a lot takes 1.5 ms, and mirrors share originals
BYTES_AT_ONCE = 8_000_000  # of their texts; one page at least
SHARE_S = 0.25  # of the two seconds between two runs: a crawl may need all cores
MOST_S, BACKLOG = 4.0, 10_000  # as long as so many pages wait: a fleet finds more of them than one run takes
ORPHANS = 200
BLOCKS = 64  # of the table of duplicates that are looked at for orphans: 3,000 rows, 10 ms; a million takes ten minutes


@dataclass(slots=True, kw_only=True)
class NearFound:
    """Pages that were compared, near duplicates, pages for review, and duplicates whose original is gone.

    lots: of pages that were taken from the queue, though they need no comparison
    """

    pages: int = 0
    near: int = 0
    review: int = 0
    reopened: int = 0
    lots: int = field(default=0, compare=False)


def find_near(engine: Engine, *, within_s: float = MOST_S, memory: NearMemory | None = None) -> NearFound:
    """Compare pages that no other process has, for so long, and reopen duplicates whose originals are gone.

    While more than BACKLOG pages wait, it goes on for MOST_S.   memory: of the calls before
    """
    memory = memory or NearMemory()
    began_s = time.monotonic()
    found = NearFound(reopened=reopen(engine))
    while True:
        lot = db.repeat(partial(_compare_lot, engine, memory))
        if lot is None:
            break
        found.lots += 1
        found.pages += lot.pages
        found.near += lot.near
        found.review += lot.review
        spent_s = time.monotonic() - began_s
        if spent_s > MOST_S or (spent_s > within_s and not _is_behind(engine)):
            break
    if found != NearFound():
        _log.info("near.found", pages=found.pages, near=found.near, review=found.review, reopened=found.reopened)
    return found


def catch_up(engine: Engine, crawl_id: int, *, within_s: float, pause: Callable[[], object]) -> None:
    """Compare pages until none of this crawl waits, or for so long.   pause: called while other processes have all"""
    ends_s, memory = time.monotonic() + within_s, NearMemory()
    while _waits(engine, crawl_id) and (left_s := ends_s - time.monotonic()) > 0:
        if not find_near(engine, within_s=min(left_s, MOST_S), memory=memory).lots:
            pause()


def _waits(engine: Engine, crawl_id: int) -> bool:
    with db.transaction(engine) as tx:
        return near.waiting(tx, crawl_id=crawl_id, most=1) > 0


def _is_behind(engine: Engine) -> bool:
    with db.transaction(engine) as tx:
        return near.backlog(tx) > BACKLOG


def reopen(engine: Engine) -> int:
    """Reopen duplicates whose originals are gone. Returns how many."""
    parted, woken = db.repeat(partial(_part, engine))
    if woken:
        db.repeat(partial(_wake, engine, woken))
    return parted


def _part(engine: Engine) -> tuple[int, list[int]]:
    with db.transaction(engine) as tx:
        if not server.be_alone(tx, "near orphans"):
            return 0, []
        orphans = near.orphans(tx, ORPHANS, blocks=BLOCKS)
        if not orphans:
            return 0, []
        hosts.lock(tx, sorted({each.host_id for each in orphans}))
        woken = near.part(tx, orphans)
        near.lock(tx)
        near.changed(tx, near.keyed(tx), Change(near.drop_of(tx, orphans), [], []))
        _return_lanes(tx, [(each.host_id, each.crawl_id, each.url) for each in orphans if each.kind == Likeness.NEAR])
        return len(orphans), sorted(set(woken))


def _wake(engine: Engine, host_ids: list[int]) -> None:
    with db.transaction(engine) as tx:
        hosts.wake(tx, host_ids)


def _compare_lot(engine: Engine, memory: NearMemory) -> NearFound | None:
    """Compare the next pages of the queue. None: other processes have all that wait.

    The rows of the queue are locked meanwhile: where the process is killed, they are free at once. Fingerprints are
    committed before they are compared, so that whoever stores another later meets them. Hosts are locked last, for the
    notes.
    """
    with db.transaction(engine) as tx:
        waiting = near.lot(tx, AT_ONCE, most_bytes=BYTES_AT_ONCE)
        if not waiting:
            return None
        from app.beat import compare_lot  # numpy comes with it: where no page waits, nobody needs it

        lot = compare_lot.read(waiting)
        with db.transaction(engine) as stored:
            memory.lock(stored)
            compare_lot.store(stored, lot, memory)
        memory.keep()
        compare_lot.compare(tx, lot, memory)
        left = _write(tx, lot, memory)
        near.done(tx, [each.id for each in waiting if each.where not in left])
    memory.keep()
    memory.key_oldest(engine)
    kinds = [note["kind"] for where, note in lot.notes.items() if where not in left]
    pages = sum(where not in left for where in lot.prints)
    return NearFound(pages=pages, near=kinds.count(Likeness.NEAR), review=kinds.count(Likeness.REVIEW))


def _write(tx: Connection, lot: "Compared", memory: NearMemory) -> set[Where]:
    """Write the notes under the hosts' locks, and move the links of near duplicates to the last lane.

    Returns pages that are to be compared again, as another process has found something meanwhile.
    """
    from app.beat import compare_lot

    parted = [each for each in lot.waiting if each.noted and each.where not in lot.notes]
    if lot.notes or parted:
        hosts.lock(tx, sorted({where[0] for where in lot.notes} | {each.host_id for each in parted}))
    _return_lanes(tx, [(each.host_id, each.crawl_id, each.url) for each in parted if each.url is not None])
    repeating = [
        (note["host_id"], note["crawl_id"], note["url"]) for note in lot.notes.values() if repeats_another(note)
    ]
    if repeating:
        last = (link._replace(lane=LAST_LANE) for link in near.queued_links(tx, repeating) if link.lane < LAST_LANE)
        near.set_lane(tx, list(last))
    memory.lock(tx)
    left = compare_lot.undone(tx, lot)
    near.note(tx, [note for where, note in lot.notes.items() if where not in left])
    near.forget(tx, sorted({each.where for each in parted if each.where not in left}))
    compare_lot.finish(tx, lot, memory, left)
    return left


def _return_lanes(tx: Connection, pages: Sequence[tuple[int, int, str]]) -> None:
    """Return links of these pages to the lanes that their crawls' profiles give them."""
    links = near.queued_links(tx, pages) if pages else []
    profiles = _profiles(tx, {link.crawl_id for link in links})
    near.set_lane(tx, [link._replace(lane=_lane(profiles[link.crawl_id], link)) for link in links])


def _profiles(tx: Connection, crawl_ids: Iterable[int]) -> dict[int, Profile]:
    found = {}
    for crawl_id in crawl_ids:
        try:
            found[crawl_id] = profile_of(crawls.by_id(tx, crawl_id).profile)
        except InputError:  # another release wrote it: the shipped one will do for a lane
            found[crawl_id] = profile_of(GENERAL)
    return found


def _lane(profile: Profile, link: QueuedLink) -> int:
    parts = urlsplit(link.url)
    return profile.branch(parts.path + (f"?{parts.query}" if parts.query else "")).lane
