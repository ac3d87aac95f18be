"""Find near duplicates: compares pages whose text is new with the others of their crawl, beside the crawl.

As many processes as there are, in lots that they claim, for some seconds at most each. Of two pages that are alike the
original is the earlier by (fetched_at, key), whoever compares them. A near duplicate is noted, and the links that it
was the first to name wait in the last lane. A duplicate whose original is gone is one no longer: it looks for another,
and its links get their lanes back.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple
from urllib.parse import urlsplit

import structlog
from sqlalchemy import Connection, Engine

from app.errors import InputError
from app.features.near import rows
from app.features.near.likeness import Likeness
from app.features.near.rows import NONE_AT_HAND, AtHand, DuePrint, Note, QueuedLink, repeats_another
from app.policy.candidate import LAST_LANE
from app.policy.focus.profile import Profile
from app.policy.focus.profile_text import GENERAL, profile_of
from app.store import crawls, db, hosts, server
from app.store.url_rows import Where

_log = structlog.get_logger()
SHARE_S = 0.6  # of the five seconds between two runs: a crawl may need all cores, and a run of few pages costs 5 ms
ORPHANS = 500
BLOCKS = (
    160  # of the table of duplicates that are looked at for orphans: 7,500 rows, 25 ms; a million takes ten minutes
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lots:
    """How many pages are compared at once, and for how long.

    pages   of a lot: they share what their statements cost, their hosts, and mirrors their originals
    octets  of their texts; one page at least
    most_s  as long as more than `backlog` pages wait: a fleet finds more of them than one run takes
    """

    pages: int = 500
    octets: int = 8_000_000
    most_s: float = 4.0
    backlog: int = 10_000


USUAL = Lots()


@dataclass(slots=True, kw_only=True)
class NearFound:
    """Pages that were compared, near duplicates, pages for review, and duplicates whose original is gone.

    is_held  all that waits depends on what others compare
    """

    pages: int = 0
    near: int = 0
    review: int = 0
    reopened: int = 0
    is_held: bool = field(default=False, compare=False)


class _ComparedLot(NamedTuple):
    """Pages of a crawl that were compared, near duplicates, pages for review.

    waiting  pages that depend on what another process compares
    is_last  most do, and no page is left to get a fingerprint meanwhile
    """

    pages: int = 0
    near: int = 0
    review: int = 0
    waiting: int = 0
    is_last: bool = False


def find_near(
    engine: Engine, *, within_s: float = USUAL.most_s, crawl_id: int | None = None, lots: Lots = USUAL
) -> NearFound:
    """Compare pages for so long, beside others that do; reopen duplicates whose originals are gone.

    While more pages wait than `lots.backlog`, it goes on for `lots.most_s`.

    crawl_id: the first crawl, else the one whose page has waited longest
    """
    began_s = time.monotonic()
    found = NearFound(reopened=reopen(engine))
    while (lot := _next_lot(engine, crawl_id, lots)) is not None:
        found.pages += lot.pages
        found.near += lot.near
        found.review += lot.review
        spent_s = time.monotonic() - began_s
        if (
            lot.is_last
            or spent_s > lots.most_s
            or (spent_s > within_s and found.pages and not _is_behind(engine, lots.backlog))
        ):
            break
    found.is_held = lot is None or lot.is_last
    if found != NearFound():
        _log.info("near.found", pages=found.pages, near=found.near, review=found.review, reopened=found.reopened)
    return found


def catch_up(
    engine: Engine, crawl_id: int, *, within_s: float, pause: Callable[[], object], lots: Lots = USUAL
) -> None:
    """Compare pages until none of this crawl waits, or for so long.   pause: called while others hold all that wait"""
    ends_s = time.monotonic() + within_s
    while _waits(engine, crawl_id) and (left_s := ends_s - time.monotonic()) > 0:
        found = find_near(engine, within_s=min(left_s, lots.most_s), crawl_id=crawl_id, lots=lots)
        if found.is_held and _waits(engine, crawl_id):
            pause()


def _waits(engine: Engine, crawl_id: int) -> bool:
    with db.transaction(engine) as tx:
        return rows.waiting(tx, crawl_id=crawl_id, most=1) > 0


def help_find(engine: Engine) -> NearFound:
    """Compare pages beside beat, while it is behind. Asked every other second, so five do at once."""
    return (
        find_near(engine, lots=Lots(most_s=10.0))
        if db.repeat(partial(_is_behind, engine, USUAL.backlog))
        else NearFound()
    )


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


def _next_lot(engine: Engine, first: int | None, lots: Lots) -> _ComparedLot | None:
    """Compare the next pages of a crawl. None: there are none, or all that wait depend on others.

    Where most of a lot do, fingerprints of more pages are made meanwhile.
    """
    with db.transaction(engine) as tx:
        waiting = sorted(rows.crawls(tx).items(), key=lambda crawl: crawl[0] != first)
    for crawl_id, is_due in waiting:
        lot = db.repeat(partial(_compare, engine, crawl_id, lots)) if is_due else _ComparedLot()
        if lot.pages > lot.waiting:
            return lot
        taken, at_hand = db.repeat(partial(_fingerprint, engine, crawl_id, lots))
        if taken:
            return lot if lot.waiting else db.repeat(partial(_compare, engine, crawl_id, lots, at_hand))
        if lot.pages:
            return lot._replace(is_last=True)
    return None


def _fingerprint(engine: Engine, crawl_id: int, lots: Lots) -> tuple[int, AtHand]:
    """Give a crawl's next pages of the queue their fingerprints. Returns how many were taken from the queue."""
    with db.transaction(engine) as tx:
        waiting = rows.lot(tx, crawl_id, lots.pages, most_bytes=lots.octets)
        if not waiting:
            return 0, NONE_AT_HAND
        from app.features.near.compare_lot import fingerprint  # numpy comes with it: where none waits, nobody needs it

        done, at_hand = fingerprint(tx, waiting)
        rows.done(tx, crawl_id, [each.id for each in done])
        parted = [(each.where, each.url) for each in done if each.noted and each.main_text is None]
        if parted:
            hosts.lock(tx, sorted({where[0] for where, _ in parted}))
            _part_from(tx, parted)
        return len(done), at_hand


def _compare(engine: Engine, crawl_id: int, lots: Lots, at_hand: AtHand = NONE_AT_HAND) -> _ComparedLot:
    """Compare a crawl's next fingerprints.

    Hosts are locked last, for the notes alone: nobody waits for what was locked or written before.
    """
    with db.transaction(engine) as tx:
        due = rows.due(tx, crawl_id, lots.pages, most_bytes=lots.octets, at_hand=at_hand)
        if not due:
            return _ComparedLot()
        from app.features.near.compare_lot import compare

        pages, notes = compare(tx, due, at_hand.texts)
        _write(tx, pages, notes)
    kinds = [note["kind"] for note in notes.values()]
    noted = kinds.count(Likeness.NEAR), kinds.count(Likeness.REVIEW)
    return _ComparedLot(len(pages), *noted, waiting=len(due) - len(pages))


def _write(tx: Connection, pages: Sequence[DuePrint], notes: Mapping[Where, Note]) -> None:
    """Write the notes under the hosts' locks, and move the links of near duplicates to the last lane."""
    parted = [(each.where, each.url) for each in pages if each.noted and each.where not in notes]
    if not notes and not parted:
        return
    hosts.lock(tx, sorted({where[0] for where in (*notes, *(where for where, _ in parted))}))
    rows.note(tx, list(notes.values()))
    _part_from(tx, parted)
    repeating = [(note["host_id"], note["crawl_id"], note["url"]) for note in notes.values() if repeats_another(note)]
    if repeating:
        last = (link._replace(lane=LAST_LANE) for link in rows.queued_links(tx, repeating) if link.lane < LAST_LANE)
        rows.set_lane(tx, list(last))


def _part_from(tx: Connection, parted: Sequence[tuple[Where, str | None]]) -> None:
    """Drop the notes of pages that are like no other any more, and return their links to their lanes.

    Their hosts are locked.
    """
    if parted:
        rows.forget(tx, sorted({where for where, _ in parted}))
        _return_lanes(tx, [(*where[:2], url) for where, url in parted if url is not None])


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
