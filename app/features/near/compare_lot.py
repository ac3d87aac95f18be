"""Compares a lot of pages with the others of their crawl: first their texts' fingerprints, then those that are alike.

A fingerprint is committed before it is compared. So of two processes that compare two pages at once, one at least finds
the other's. What another process holds is not waited for: whoever depends on it is left for a later lot.

`app.features.near.compare` reads the texts. Imported when there is a page to compare, for numpy's sake.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from sqlalchemy import Connection

from app.features.near import rows
from app.features.near.compare import MOST_LIKE, MOST_OF_HOST, Close, Earlier, judge, read
from app.features.near.fingerprint import DUPLICATE_BITS, REVIEW_BITS
from app.features.near.likeness import Likeness, Reading
from app.features.near.rows import DuePrint, Fingerprint, Like, Note, Waiting, repeats_another
from app.features.near.simhash import Print, Prints, Within, np, simhash
from app.store.url_rows import Where

WITHIN_HOST = 50_000  # fingerprints of its own host that a page is compared with
HOSTS_AT_ONCE = 16  # whose fingerprints are read at once: 20 MB
MOST_OF_KEY = 8  # fingerprints alike that are looked at for each key, the oldest
MOST_BESIDE = 64  # and of those that others may be comparing


class Compared(NamedTuple):
    """Pages of a lot that were compared.

    pages   the others wait for what another process is comparing
    notes   of pages that are like another
    """

    pages: Sequence[DuePrint]
    notes: Mapping[Where, Note]


def fingerprint(tx: Connection, waiting: Sequence[Waiting]) -> list[Waiting]:
    """Replace the fingerprints that pages had. Returns the pages that nobody else holds; the others are left.

    One that says what it said keeps its fingerprint, and its likes are not asked again: two pages for review would each
    make the other wait, for ever.
    """
    crawl_id = waiting[0].crawl_id
    before = {each.where: _before(each) for each in waiting if each.fingerprint_id is not None}
    ours = rows.claim(tx, crawl_id, sorted(each.id for each in before.values()))
    free = {each.where: each for each in waiting if each.where not in before or before[each.where].id in ours}
    values = {where: simhash(Reading(each.main_text).words_once()) for where, each in free.items() if each.main_text}
    had = {where: mine for where, mine in before.items() if where in free}
    stand = {where: mine for where, mine in had.items() if values.get(where) == mine.value}
    rows.drop(tx, crawl_id, [mine for where, mine in had.items() if where not in stand])
    rows.queue_likes(tx, [where for where in had if where not in stand])
    wanted = {
        where: (rows.place_of(each.fetched_at, each.key), value)
        for where, each in free.items()
        if (value := values.get(where)) is not None and where not in stand and each.fetched_at is not None
    }
    made = rows.put(tx, wanted)
    repeated = {where for where in stand if free[where].noted == Likeness.NEAR}
    rows.put_due(tx, [*made, *(stand[where] for where in repeated)], is_new=True)
    rows.put_due(tx, [mine for where, mine in stand.items() if where not in repeated], is_new=False)
    left = wanted.keys() - {each.where for each in made}
    return [each for each in waiting if each.where in free and each.where not in left]


def _before(page: Waiting) -> Fingerprint:
    """The fingerprint that a page had."""
    assert page.fingerprint_id is not None
    assert page.place is not None
    assert page.simhash is not None
    return Fingerprint(page.fingerprint_id, page.where, page.place, page.simhash)


def compare(tx: Connection, lot: Sequence[DuePrint]) -> Compared:
    """Compare pages, the earliest first, and queue those that this may change: younger ones, and what repeated one."""
    crawl_id = lot[0].crawl_id
    likes = _likes(tx, lot)
    pages = [each for each in lot if each.id not in likes.waiting]
    judged = judge(tx, read(tx, lot, likes.within, likes.earlier, likes.waiting))
    repeat = [each for each in pages if repeats_another(judged.notes.get(each.where))]
    ids = {each.id for each in repeat}
    originals = [each for each in pages if each.id not in ids and each.id not in judged.crowded]
    younger = {each.print: likes.younger[each.id] for each in originals if each.is_new}
    rows.queue_prints(tx, crawl_id, rows.missed(tx, crawl_id, younger))
    rows.drop_due(tx, [each.print for each in pages])
    rows.drop_keys(tx, [each.print for each in pages if not each.is_new])
    rows.put_keys(tx, [each.print for each in originals])
    rows.queue_likes(tx, [each.where for each in repeat if not each.is_new])
    return Compared(pages, judged.notes)


class _Likes(NamedTuple):
    """Fingerprints that are like those of a lot, by the ids of these.

    within   each other
    earlier  of pages before
    younger  of pages behind that are not of the lot, with their places; a host's own come in order: it has one visitor
    waiting  those of the lot that depend on others which are not compared yet
    """

    within: Within
    earlier: Mapping[int, Earlier]
    younger: Mapping[int, Mapping[int, int]]
    waiting: set[int]


def _likes(tx: Connection, lot: Sequence[DuePrint]) -> _Likes:
    crawl_id, own, prints = lot[0].crawl_id, {each.id: each for each in lot}, _prints(lot)
    within = Within([each.print.value for each in lot], DUPLICATE_BITS)
    others = rows.due_beside(tx, crawl_id, list(own), place=lot[-1].place)
    beside = Prints.of_bytes(others).alike(prints, bits=DUPLICATE_BITS, most=MOST_BESIDE)
    waiting = {like.id for like in beside if like.place <= own[like.id].place}
    left = [each for each in lot if each.id not in waiting]
    keyed = _by_key(tx, left, own.keys())  # after: what was beside may have keys now
    of_host = _of_hosts(tx, left)
    older = {id: _closest(likes, own[id].place) for id, likes in keyed.items()}
    before = {like.other for likes in (*older.values(), *of_host.values()) for like in likes}
    held = rows.hold(tx, crawl_id, before - own.keys())
    places = {id: (each.place, each.key) for all_of in (own, held) for id, each in all_of.items()}
    younger = {
        id: {like.other: like.place for like in likes if like.place > own[id].place} for id, likes in keyed.items()
    }
    earlier = {id: Earlier([], []) for id in own}
    for each in left:
        found = set[Close](), set[Close]()
        for likes, closes in zip((older[each.id], of_host.get(each.id, ())), found, strict=True):
            for like in likes:
                if like.other not in places:
                    waiting.add(each.id)
                elif places[like.other] < places[each.id]:
                    closes.add(Close(like.bits, *places[like.other], like.other))
                elif like.other not in own and closes is found[0]:
                    younger[each.id][like.other] = like.place
        of_its_host = sorted(found[1])[:MOST_OF_HOST]
        outside = sorted(close for close in {*found[0], *of_its_host} if close.id not in own)[:MOST_LIKE]
        earlier[each.id] = Earlier(outside, of_its_host)
    for like in beside:
        if like.id in younger and like.place > own[like.id].place:
            younger[like.id][like.other] = like.place
    _wait_for(waiting, lot, within, earlier)
    return _Likes(within, earlier, younger, waiting)


def _wait_for(waiting: set[int], lot: Sequence[DuePrint], within: Within, earlier: Mapping[int, Earlier]) -> None:
    """Add those of a lot, the earliest first, that are like some which wait."""
    if not waiting:
        return
    do_wait = np.zeros(len(lot), np.bool_)
    for at, each in enumerate(lot):
        is_like_one = within.likes_any(at, do_wait) or any(like.id in waiting for like in earlier[each.id].of_host)
        if is_like_one or each.id in waiting:
            waiting.add(each.id)
            do_wait[at] = True


def _by_key(tx: Connection, lot: Sequence[DuePrint], own: Set[int]) -> dict[int, list[Like]]:
    """Those of the crawl but of these, the closest first. Each value is looked up once: mirrors share it."""
    first = {each.print.value: each for each in reversed(lot)}
    found = defaultdict[int, list[Like]](list)
    for like in sorted(rows.by_key(tx, [each.print for each in first.values()], most=MOST_OF_KEY), key=_closeness):
        if like.other not in own:
            found[like.id].append(like)
    return {each.id: found[first[each.print.value].id] for each in lot}


def _closest(likes: Sequence[Like], place: int) -> list[Like]:
    """The closest that are before a page, and those that may be: the keys of two at one place decide."""
    older = [like for like in likes if like.place < place]
    last = _closeness(older[MOST_LIKE - 1]) if len(older) > MOST_LIKE else None
    return [
        like for like in likes if like.place == place or (like.place < place and (not last or _closeness(like) <= last))
    ]


def _closeness(like: Like) -> tuple[int, int]:
    return like.bits, like.place


def _of_hosts(tx: Connection, lot: Sequence[DuePrint]) -> dict[int, list[Like]]:
    """Those of their own hosts that are no younger, which may be for review."""
    of_host = defaultdict[tuple[int, int], list[DuePrint]](list)
    for each in lot:
        of_host[each.where[:2]].append(each)
    hosts, found = list(of_host), defaultdict[int, list[Like]](list)
    for first in range(0, len(hosts), HOSTS_AT_ONCE):
        some = rows.of_hosts(tx, hosts[first : first + HOSTS_AT_ONCE], within=WITHIN_HOST)
        for host, prints in some.items():
            own = {each.id: each.place for each in of_host[host]}
            for like in Prints.of_bytes(prints).alike(_prints(of_host[host]), bits=REVIEW_BITS, most=MOST_OF_HOST):
                if like.place <= own[like.id]:
                    found[like.id].append(like)
    return found


def _prints(lot: Sequence[DuePrint]) -> Prints:
    return Prints.of(Print(each.id, each.place, each.print.value) for each in lot)
