"""Find near duplicates: compares pages whose text is new with the others of their crawl, beside the crawl.

One process at a time, for some seconds at most. A near duplicate is noted, and the links that it was the first to name
wait in the last lane. A duplicate whose original is gone is one no longer: it looks for another, and its links get
their lanes back.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit

import structlog
from sqlalchemy import Connection, Engine

from app.beat.compare_near import notes_of, repeats_another
from app.errors import InputError
from app.policy.focus.near import Likeness, Reading
from app.policy.focus.profile import Profile
from app.policy.focus.shipped import GENERAL, profile_of
from app.policy.focus.simhash import DUPLICATE_BITS, REVIEW_BITS
from app.policy.lane import LAST_LANE
from app.store import crawls, db, hosts, near, server
from app.store.near import Fingerprint, Like, Note, OlderPage, QueuedLink, Waiting
from app.store.search import Where

_log = structlog.get_logger()
AT_ONCE = 200  # pages: planning the queries of a lot takes 1.5 ms, and mirrors share originals
BYTES_AT_ONCE = 8_000_000  # of their texts; one page at least
SHARE_S = 0.25  # of the two seconds between two runs: a crawl may need all cores
MOST_S, BACKLOG = 4.0, 10_000  # as long as so many pages wait: a fleet finds more of them than one run takes
MOST_LIKE = 8  # fingerprints that are looked at for a page, the closest; some may be of pages that are gone
MOST_READ = 4  # texts of these that are read
WITHIN_HOST = 50_000  # fingerprints of its own host that a page is compared with
MANY_OF_HOST = 5  # pages of a lot: all fingerprints of their host are read once, and compared at once
ORPHANS = 200
BLOCKS = 64  # of the table of duplicates that are looked at for orphans: 3,000 rows, 10 ms; a million takes ten minutes


@dataclass(slots=True, kw_only=True)
class NearFound:
    """Pages that were compared, near duplicates, pages for review, and duplicates whose original is gone."""

    pages: int = 0
    near: int = 0
    review: int = 0
    reopened: int = 0


@dataclass(slots=True, kw_only=True)
class _Compared:
    """Pages that are compared together.

    prints   by page;   notes: what they are like;   readings: of their texts
    crowded  fingerprints with as many older originals of the same value as are ever read: nobody would look for them
    """

    waiting: Sequence[Waiting]
    readings: Mapping[Where, Reading]
    prints: Mapping[Where, Fingerprint] = field(default_factory=dict)
    notes: Mapping[Where, Note] = field(default_factory=dict)
    crowded: set[int] = field(default_factory=set)


def find_near(engine: Engine, *, within_s: float = MOST_S) -> NearFound:
    """Compare pages for so long, and reopen duplicates whose originals are gone. Nothing while another process does.

    While more than BACKLOG pages wait, it goes on for MOST_S.
    """
    began_s = time.monotonic()
    found = NearFound(reopened=reopen(engine))
    while True:
        lot = db.repeat(partial(_compare_lot, engine))
        if lot is None or not lot.waiting:
            break
        found.pages += len(lot.prints)
        kinds = [note["kind"] for note in lot.notes.values()]
        found.near += kinds.count(Likeness.NEAR)
        found.review += kinds.count(Likeness.REVIEW)
        spent_s = time.monotonic() - began_s
        if spent_s > MOST_S or (spent_s > within_s and not _is_behind(engine)):
            break
    if found != NearFound():
        _log.info("near.found", pages=found.pages, near=found.near, review=found.review, reopened=found.reopened)
    return found


def catch_up(engine: Engine, crawl_id: int, *, within_s: float, pause: Callable[[], object]) -> None:
    """Compare pages until none of this crawl waits, or for so long.   pause: called while another process compares"""
    ends_s = time.monotonic() + within_s
    while _waits(engine, crawl_id) and (left_s := ends_s - time.monotonic()) > 0:
        if db.repeat(partial(_is_free, engine)):
            find_near(engine, within_s=min(left_s, MOST_S))
        else:
            pause()


def _waits(engine: Engine, crawl_id: int) -> bool:
    with db.transaction(engine) as tx:
        return near.waiting(tx, crawl_id=crawl_id, most=1) > 0


def _is_free(engine: Engine) -> bool:
    with db.transaction(engine) as tx:
        return server.be_alone(tx, "near")


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
        if not server.be_alone(tx, "near"):
            return 0, []
        orphans = near.orphans(tx, ORPHANS, blocks=BLOCKS)
        if not orphans:
            return 0, []
        hosts.lock(tx, sorted({each.host_id for each in orphans}))
        woken = near.part(tx, orphans)
        _return_lanes(tx, [(each.host_id, each.crawl_id, each.url) for each in orphans if each.kind == Likeness.NEAR])
        return len(orphans), sorted(set(woken))


def _wake(engine: Engine, host_ids: list[int]) -> None:
    with db.transaction(engine) as tx:
        hosts.wake(tx, host_ids)


def _compare_lot(engine: Engine) -> _Compared | None:
    """Compare the next pages of the queue; None while another process does. Hosts are locked last, for the notes alone:
    nobody else locks what was written before."""
    with db.transaction(engine) as tx:
        if not server.be_alone(tx, "near"):
            return None
        waiting = near.lot(tx, AT_ONCE, most_bytes=BYTES_AT_ONCE)
        texts = {each.where: Reading(each.main_text) for each in waiting if each.main_text is not None}
        lot = _Compared(waiting=waiting, readings=texts)
        if not lot.waiting:
            return lot
        _replace(tx, lot)
        if lot.prints:
            lot.notes = _alike(tx, lot)
            near.put_keys(tx, [each for each in lot.prints.values() if _is_looked_for(lot, each)])
        _write(tx, lot)
        near.done(tx, [each.id for each in lot.waiting])
        return lot


def _replace(tx: Connection, lot: _Compared) -> None:
    """Replace the fingerprints that the pages had. A new text has a new id: it is younger than all that stand.

    An original that says what it said stays as old as it was, and its likes are not asked again: two pages for review
    would each make the other wait, for ever.
    """
    values = {where: text.fingerprint() for where, text in lot.readings.items()}
    before = {
        each.where: Fingerprint(each.fingerprint_id, each.where, each.simhash)
        for each in lot.waiting
        if each.fingerprint_id is not None and each.simhash is not None
    }
    same = {where for where, mine in before.items() if values.get(where) == mine.value}
    stand = same - {each.where for each in lot.waiting if each.noted == Likeness.NEAR}
    near.drop_keys(tx, [before[where] for where in stand])
    near.drop(tx, [mine for where, mine in before.items() if where not in stand])
    near.queue_likes(tx, [where for where in before if where not in same])
    made = near.put(tx, {where: value for where, value in values.items() if value is not None and where not in stand})
    lot.prints = {each.where: each for each in [*(before[where] for where in stand), *made]}


def _alike(tx: Connection, lot: _Compared) -> dict[Where, Note]:
    """A note for each page that is like another: the closest original that it repeats, else the closest for review."""
    prints = list(lot.prints.values())
    likes: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for like in [*near.by_key(tx, prints, most=MOST_LIKE), *_together(prints), *_on_host(tx, prints)]:
        likes[like.id].add((like.bits, like.fingerprint_id))
    nearest = {id: sorted(found)[:MOST_LIKE] for id, found in likes.items()}
    originals = _originals(tx, [[other for _, other in found] for found in nearest.values()], prints)
    closest = {
        id: [(bits, other) for bits, other in found if other in originals][:MOST_READ] for id, found in nearest.items()
    }
    notes = notes_of(tx, lot.waiting, lot.prints, closest, originals, lot.readings)
    repeats = {lot.prints[where].id for where, note in notes.items() if repeats_another(note)}
    lot.crowded = {
        id
        for id, found in closest.items()
        if sum(bits == 0 and other not in repeats for bits, other in found) == MOST_READ
    }
    return notes


def _originals(tx: Connection, nearest: Sequence[Sequence[int]], prints: Sequence[Fingerprint]) -> dict[int, OlderPage]:
    """Those of the nearest fingerprints that can be originals. The further ones are asked for where some are none."""
    own = [each.id for each in prints]
    originals = near.originals(tx, {other for found in nearest for other in found[:MOST_READ]}, own=own)
    further = {
        other for found in nearest if not originals.keys() >= set(found[:MOST_READ]) for other in found[MOST_READ:]
    }
    return originals | near.originals(tx, further, own=own) if further else originals


def _is_looked_for(lot: _Compared, mine: Fingerprint) -> bool:
    """Whether a fingerprint needs keys. Without them it costs nothing: a thousand mirrors are found by four of them."""
    return mine.id not in lot.crowded and not repeats_another(lot.notes.get(mine.where))


def _together(prints: Sequence[Fingerprint]) -> list[Like]:
    """Those of one lot that are alike, which have no keys yet."""
    by_age = sorted(prints)
    values = [each.value for each in by_age]
    return [
        Like(mine.id, other.id, (mine.value ^ other.value).bit_count())
        for n, mine in enumerate(by_age)
        for at in _within(mine.value, values[:n])
        if (other := by_age[at]).where[1] == mine.where[1]
    ]


def _within(value: int, others: Sequence[int]) -> list[int]:
    """Where those stand that differ from a fingerprint in a few bits at most."""
    return [at for at, other in enumerate(others) if (value ^ other).bit_count() <= DUPLICATE_BITS]


def _on_host(tx: Connection, prints: Sequence[Fingerprint]) -> list[Like]:
    """Older ones of the same host that are alike: of a host with a few pages in the lot, as Postgres finds them."""
    pages = Counter(each.where[:2] for each in prints)
    many = {host for host, n in pages.items() if n >= MANY_OF_HOST}
    few = [each for each in prints if each.where[:2] not in many]
    found = near.on_host(tx, few, within=WITHIN_HOST, most=MOST_READ) if few else []
    planes = near.of_hosts(tx, many, within=WITHIN_HOST) if many else {}
    for each in prints:
        if (of_host := planes.get(each.where[:2])) is not None:
            likes = of_host.closest(each.value, below=each.id, bits=REVIEW_BITS, most=MOST_READ)
            found += [Like(each.id, other, bits) for bits, other in likes]
    return found


def _write(tx: Connection, lot: _Compared) -> None:
    """Write the notes under the hosts' locks, and move the links of near duplicates to the last lane."""
    parted = [each for each in lot.waiting if each.noted and each.where not in lot.notes]
    if not lot.notes and not parted:
        return
    hosts.lock(tx, sorted({where[0] for where in lot.notes} | {each.host_id for each in parted}))
    near.note(tx, list(lot.notes.values()))
    near.forget(tx, sorted({each.where for each in parted}))
    _return_lanes(tx, [(each.host_id, each.crawl_id, each.url) for each in parted if each.url is not None])
    repeating = [
        (note["host_id"], note["crawl_id"], note["url"]) for note in lot.notes.values() if repeats_another(note)
    ]
    if repeating:
        last = (link._replace(lane=LAST_LANE) for link in near.queued_links(tx, repeating) if link.lane < LAST_LANE)
        near.set_lane(tx, list(last))


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
