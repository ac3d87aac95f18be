"""Find near duplicates: compares pages whose text is new with the others of their crawl, beside the crawl.

One process for each crawl, for some seconds at most. A near duplicate is noted, and the links that it was the first to
name wait in the last lane. A duplicate whose original is gone is one no longer: it looks for another, and its links get
their lanes back.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple
from urllib.parse import urlsplit

import structlog
from sqlalchemy import Connection, Engine

from app.errors import InputError
from app.features.near import rows
from app.features.near.compare import repeats_another
from app.features.near.likeness import Likeness
from app.features.near.memory import NearMemory
from app.features.near.rows import Note, QueuedLink, Waiting
from app.policy.candidate import LAST_LANE
from app.policy.focus.profile import Profile
from app.policy.focus.profile_text import GENERAL, profile_of
from app.store import crawls, db, hosts, server
from app.store.url_rows import Where

_log = structlog.get_logger()
SHARE_S = 0.25  # of the two seconds between two runs: a crawl may need all cores
ORPHANS = 200
BLOCKS = 64  # of the table of duplicates that are looked at for orphans: 3,000 rows, 10 ms; a million takes ten minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class Lots:
    """How many pages are compared at once, and for how long.

    pages         of a lot: planning its queries takes 1.5 ms, and mirrors share originals
    octets        of their texts; one page at least
    many_of_host  pages: all fingerprints of their host are read once, and compared at once
    most_s        as long as more than `backlog` pages wait: a fleet finds more of them than one run takes
    """

    pages: int = 200
    octets: int = 8_000_000
    many_of_host: int = 5
    most_s: float = 4.0
    backlog: int = 10_000


USUAL = Lots()


@dataclass(slots=True, kw_only=True)
class NearFound:
    """Pages that were compared, near duplicates, pages for review, and duplicates whose original is gone."""

    pages: int = 0
    near: int = 0
    review: int = 0
    reopened: int = 0


class _ComparedLot(NamedTuple):
    """Pages of a crawl that were compared, near duplicates, pages for review."""

    crawl_id: int
    pages: int = 0
    near: int = 0
    review: int = 0


def find_near(
    engine: Engine,
    *,
    within_s: float = USUAL.most_s,
    memory: NearMemory | None = None,
    crawl_id: int | None = None,
    lots: Lots = USUAL,
) -> NearFound:
    """Compare pages for so long, of crawls that no other process compares; reopen duplicates whose originals are gone.

    While more pages wait than `lots.backlog`, it goes on for `lots.most_s`.

    memory: of the calls before;   crawl_id: the first crawl, else the one whose page has waited longest
    """
    memory = memory or NearMemory()
    began_s = time.monotonic()
    found = NearFound(reopened=reopen(engine))
    while True:
        lot = db.repeat(partial(_compare_lot, engine, memory, crawl_id, lots))
        if lot is None:
            break
        crawl_id = lot.crawl_id  # until none of it waits: its fingerprints are held here
        found.pages += lot.pages
        found.near += lot.near
        found.review += lot.review
        spent_s = time.monotonic() - began_s
        if spent_s > lots.most_s or (spent_s > within_s and not _is_behind(engine, lots.backlog)):
            break
    if found != NearFound():
        _log.info("near.found", pages=found.pages, near=found.near, review=found.review, reopened=found.reopened)
    return found


def catch_up(
    engine: Engine, crawl_id: int, *, within_s: float, pause: Callable[[], object], lots: Lots = USUAL
) -> None:
    """Compare pages until none of this crawl waits, or for so long.   pause: called while another process compares"""
    ends_s, memory = time.monotonic() + within_s, NearMemory()
    while _waits(engine, crawl_id) and (left_s := ends_s - time.monotonic()) > 0:
        if db.repeat(partial(_is_free, engine, crawl_id)):
            find_near(engine, within_s=min(left_s, lots.most_s), memory=memory, crawl_id=crawl_id, lots=lots)
        else:
            pause()


def _waits(engine: Engine, crawl_id: int) -> bool:
    with db.transaction(engine) as tx:
        return rows.waiting(tx, crawl_id=crawl_id, most=1) > 0


def help_find(engine: Engine) -> NearFound:
    """Compare pages beside beat, while it is behind, of crawls that no other process compares."""
    return find_near(engine) if db.repeat(partial(_is_behind, engine, USUAL.backlog)) else NearFound()


def _is_free(engine: Engine, crawl_id: int) -> bool:
    with db.transaction(engine) as tx:
        return server.be_alone(tx, _of(crawl_id))


def _is_behind(engine: Engine, backlog: int) -> bool:
    with db.transaction(engine) as tx:
        return rows.backlog(tx) > backlog


def reopen(engine: Engine) -> int:
    """Reopen duplicates whose originals are gone. Returns how many."""
    parted, woken = db.repeat(partial(_part, engine))
    if woken:
        db.repeat(partial(_wake, engine, woken))
    return parted


def _part(engine: Engine) -> tuple[int, list[int]]:
    with db.transaction(engine) as tx:
        if not server.be_alone(tx, "near"):
            return 0, []
        orphans = rows.orphans(tx, ORPHANS, blocks=BLOCKS)
        if not orphans:
            return 0, []
        hosts.lock(tx, sorted({each.host_id for each in orphans}))
        woken = rows.part(tx, orphans)
        _return_lanes(tx, [(each.host_id, each.crawl_id, each.url) for each in orphans if each.kind == Likeness.NEAR])
        return len(orphans), sorted(set(woken))


def _wake(engine: Engine, host_ids: list[int]) -> None:
    with db.transaction(engine) as tx:
        hosts.wake(tx, host_ids)


def _of(crawl_id: int) -> str:
    """The lock of a crawl: whoever compares a page knows all that stood before it in the crawl."""
    return f"near {crawl_id}"


def _claim(tx: Connection, first: int | None) -> int | None:
    """A crawl with pages in the queue that no other process compares, until the end of the transaction."""
    waiting = sorted(rows.crawls(tx), key=lambda crawl_id: crawl_id != first)
    return next((crawl_id for crawl_id in waiting if server.be_alone(tx, _of(crawl_id))), None)


def _compare_lot(engine: Engine, memory: NearMemory, first: int | None, lots: Lots) -> _ComparedLot | None:
    """Compare the next pages of a crawl. None: there are none, or other processes compare all crawls that have any.

    Hosts are locked last, for the notes alone: nobody else locks what was written before.
    """
    with db.transaction(engine) as tx:
        crawl_id = _claim(tx, first)
        if crawl_id is None:
            return None
        waiting = rows.lot(tx, crawl_id, lots.pages, most_bytes=lots.octets)
        if not waiting:  # another process has just done them
            return _ComparedLot(crawl_id)
        from app.features.near.compare_lot import compare  # numpy comes with it: where no page waits, nobody needs it

        held = memory.of(crawl_id)
        pages, notes = compare(tx, waiting, held, many_of_host=lots.many_of_host)
        _write(tx, waiting, notes)
        rows.done(tx, crawl_id, [each.id for each in waiting])
    held.keep()
    kinds = [note["kind"] for note in notes.values()]
    return _ComparedLot(crawl_id, pages, kinds.count(Likeness.NEAR), kinds.count(Likeness.REVIEW))


def _write(tx: Connection, waiting: Sequence[Waiting], notes: Mapping[Where, Note]) -> None:
    """Write the notes under the hosts' locks, and move the links of near duplicates to the last lane."""
    parted = [each for each in waiting if each.noted and each.where not in notes]
    if not notes and not parted:
        return
    hosts.lock(tx, sorted({where[0] for where in notes} | {each.host_id for each in parted}))
    rows.note(tx, list(notes.values()))
    rows.forget(tx, sorted({each.where for each in parted}))
    _return_lanes(tx, [(each.host_id, each.crawl_id, each.url) for each in parted if each.url is not None])
    repeating = [(note["host_id"], note["crawl_id"], note["url"]) for note in notes.values() if repeats_another(note)]
    if repeating:
        last = (link._replace(lane=LAST_LANE) for link in rows.queued_links(tx, repeating) if link.lane < LAST_LANE)
        rows.set_lane(tx, list(last))


def _return_lanes(tx: Connection, pages: Sequence[tuple[int, int, str]]) -> None:
    """Return links of these pages to the lanes that their crawls' profiles give them."""
    links = rows.queued_links(tx, pages) if pages else []
    profiles = _profiles(tx, {link.crawl_id for link in links})
    rows.set_lane(tx, [link._replace(lane=_lane(profiles[link.crawl_id], link)) for link in links])


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
