"""Compares a lot of pages with the others of their crawl: first their texts' fingerprints, then those that are alike.

A fingerprint is committed before it is compared. So of two processes that compare two pages at once, one at least finds
the other's. What another process holds is not waited for: whoever depends on it is left for a later lot.

`app.features.near.compare` reads the texts. Imported when there is a page to compare, for numpy's sake.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from sqlalchemy import Connection

from app.features.near import rows
from app.features.near.compare import MOST_LIKE, MOST_OF_HOST, Close, Earlier, judge, read
from app.features.near.fingerprint import DUPLICATE_BITS, REVIEW_BITS
from app.features.near.likeness import Likeness, Reading
from app.features.near.rows import AtHand, DuePrint, Fingerprint, Like, Note, Waiting, repeats_another
from app.features.near.simhash import PRINT_BYTES, Print, Prints, Within, np, simhash
from app.store.url_rows import Where

WITHIN_HOST = 50_000  # fingerprints of its own host that a page is compared with
HOSTS_AT_ONCE = 16  # whose fingerprints are read at once: 20 MB
KEYED_AT_ONCE = 100_000  # fingerprints with keys alike, of a lot: 2.4 MB
MOST_OF_KEY = 8  # of each key, the oldest, where there are more
MOST_BESIDE = 64  # fingerprints alike that others may be comparing
_NO_TEXTS: Mapping[int, Reading] = {}


class Compared(NamedTuple):
    """Pages of a lot that were compared.

    pages   the others wait for what another process is comparing
    notes   of pages that are like another
    """

    pages: Sequence[DuePrint]
    notes: Mapping[Where, Note]


class Fingerprinted(NamedTuple):
    """Pages of a lot that nobody else holds, whose fingerprints were replaced; the others are left."""

    pages: list[Waiting]
    at_hand: AtHand


def fingerprint(tx: Connection, waiting: Sequence[Waiting]) -> Fingerprinted:
    """Replace the fingerprints that pages had.

    One that says what it said keeps its fingerprint, and its likes are not asked again: two pages for review would each
    make the other wait, for ever.
    """
    crawl_id = waiting[0].crawl_id
    free, had = _claimed(tx, waiting)
    texts = {where: Reading(each.main_text) for where, each in free.items() if each.main_text}
    values = {where: simhash(text.words_once()) for where, text in texts.items()}
    stand = {where: mine for where, mine in had.items() if values.get(where) == mine.value}
    gone = {where: mine for where, mine in had.items() if where not in stand}
    rows.drop(tx, crawl_id, list(gone.values()))
    rows.queue_likes(tx, list(gone))
    wanted = {
        where: (rows.place_of(each.fetched_at, each.key), value)
        for where, each in free.items()
        if (value := values.get(where)) is not None and where not in stand and each.fetched_at is not None
    }
    made = rows.put(tx, wanted)
    repeated = {where for where in stand if free[where].noted == Likeness.NEAR}
    rows.put_due(tx, [stand[where] for where in repeated], is_new=True)
    rows.put_due(tx, [mine for where, mine in stand.items() if where not in repeated], is_new=False)
    due = {each.id: each.where for each in (*made, *stand.values())}
    at_hand = AtHand(
        waiting[0].held_by,
        {id: free[where] for id, where in due.items()},
        {id: texts[where] for id, where in due.items()},
    )
    left = wanted.keys() - {each.where for each in made}
    return Fingerprinted([each for where, each in free.items() if where not in left], at_hand)


def _claimed(tx: Connection, waiting: Sequence[Waiting]) -> tuple[dict[Where, Waiting], dict[Where, Fingerprint]]:
    """The pages whose fingerprints nobody else holds, or that had none, and the fingerprints that they had."""
    had = {each.where: _before(each) for each in waiting if each.fingerprint_id is not None}
    ours = rows.claim(tx, waiting[0].crawl_id, sorted(each.id for each in had.values()))
    free = {each.where: each for each in waiting if each.where not in had or had[each.where].id in ours}
    return free, {where: mine for where, mine in had.items() if where in free}


def _before(page: Waiting) -> Fingerprint:
    """The fingerprint that a page had."""
    assert page.fingerprint_id is not None
    assert page.place is not None
    assert page.simhash is not None
    return Fingerprint(page.fingerprint_id, page.where, page.place, page.simhash)


def compare(tx: Connection, lot: Sequence[DuePrint], known: Mapping[int, Reading] = _NO_TEXTS) -> Compared:
    """Compare pages, the earliest first, and queue those that this may change: younger ones, and what repeated one.

    known: texts of those that are known
    """
    crawl_id, prints = lot[0].crawl_id, {each.id: each.print for each in lot}
    likes = _likes(tx, lot, prints)
    pages = [each for each in lot if each.id not in likes.waiting]
    judged = judge(tx, read(tx, lot, likes.within, likes.earlier, likes.waiting, known))
    repeat = [each for each in pages if repeats_another(judged.notes.get(each.where))]
    ids = {each.id for each in repeat}
    originals = [each for each in pages if each.id not in ids and each.id not in judged.crowded]
    younger = {prints[each.id]: likes.younger[each.id] for each in originals if each.is_new}
    rows.queue_prints(tx, crawl_id, rows.missed(tx, crawl_id, younger))
    rows.drop_due(tx, [prints[each.id] for each in pages])
    rows.drop_keys(tx, [prints[each.id] for each in pages if not each.is_new])
    rows.put_keys(tx, [prints[each.id] for each in originals])
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


def _likes(tx: Connection, lot: Sequence[DuePrint], prints: Mapping[int, Fingerprint]) -> _Likes:
    crawl_id, own = lot[0].crawl_id, {each.id: each for each in lot}
    within = Within([each.value for each in prints.values()], DUPLICATE_BITS)
    others = rows.due_beside(tx, crawl_id, list(own), place=lot[-1].place)
    beside = Prints.of_bytes(others).alike(_prints(prints.values()), bits=DUPLICATE_BITS, most=MOST_BESIDE)
    waiting = {like.id for like in beside if like.place <= own[like.id].place}
    left = [each for each in prints.values() if each.id not in waiting]
    with_keys = by_key(tx, left, own.keys())  # after: what was beside may have keys now
    older = _grouped(like for like in with_keys if like.place <= own[like.id].place)
    of_host = _of_hosts(tx, left)
    before = {like.other for likes in (*older.values(), *of_host.values()) for like in likes}
    held = rows.hold(tx, crawl_id, before - own.keys())
    places = {id: (each.place, each.key) for all_of in (own, held) for id, each in all_of.items()}
    earlier = dict.fromkeys(own, Earlier((), ()))
    for id in older.keys() | of_host.keys():
        alike, on_host = older.get(id, []), of_host.get(id, [])
        if any(like.other not in places for like in alike + on_host):
            waiting.add(id)
        earlier[id] = _earlier(_closes(alike, places), _closes(on_host, places), own.keys())
    younger: dict[int, dict[int, int]] = {each.id: {} for each in left}
    for like in (*with_keys, *beside):
        if like.id in younger and _is_younger(like, places):
            younger[like.id][like.other] = like.place
    _wait_for(waiting, lot, within, earlier)
    return _Likes(within, earlier, younger, waiting)


def _grouped(likes: Iterable[Like]) -> dict[int, list[Like]]:
    """By the fingerprint that they are like."""
    found = defaultdict[int, list[Like]](list)
    for like in likes:
        found[like.id].append(like)
    return found


def _is_younger(like: Like, places: Mapping[int, tuple[int, bytes]]) -> bool:
    """Whether the other page is behind the one of the lot: by its place, of pages with one place by their keys."""
    mine = places[like.id]
    return like.place > mine[0] or (like.other in places and places[like.other] >= mine)


def _closes(likes: Iterable[Like], places: Mapping[int, tuple[int, bytes]]) -> set[Close]:
    """Those of pages before, as far as nobody else holds them."""
    return {
        Close(like.bits, *places[like.other], like.other)
        for like in likes
        if like.other in places and places[like.other] < places[like.id]
    }


def _earlier(closes: Set[Close], of_host: Set[Close], own: Set[int]) -> Earlier:
    """The closest of the crawl, and of the page's host."""
    of_its_host = sorted(of_host)[:MOST_OF_HOST]
    outside = sorted(close for close in {*closes, *of_its_host} if close.id not in own)[:MOST_LIKE]
    return Earlier(outside, of_its_host)


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


def by_key(tx: Connection, lot: Sequence[Fingerprint], own: Set[int], *, most: int = KEYED_AT_ONCE) -> list[Like]:
    """Those of the crawl but of these, the closest. Each value is looked up once: mirrors share it.

    most: fingerprints that are read; where there are more, as in a large family, of each key the oldest
    """
    values = list({each.value: each for each in lot}.values())
    found = rows.by_keys(tx, values, own, most=most) if values else b""
    if len(found) == most * PRINT_BYTES:
        found = rows.by_keys(tx, values, own, most=MOST_OF_KEY, of_each=True)
    return Prints.of_bytes(found).alike(_prints(lot), bits=DUPLICATE_BITS, most=MOST_LIKE, most_younger=MOST_BESIDE)


def _of_hosts(tx: Connection, lot: Sequence[Fingerprint]) -> dict[int, list[Like]]:
    """Those of their own hosts that are no younger, which may be for review."""
    prints, of_host = _prints(lot), defaultdict[tuple[int, int], list[int]](list)
    hosts_of = {each.id: each.where[:2] for each in lot}
    for at, id in enumerate(prints.ids.tolist()):
        of_host[hosts_of[id]].append(at)
    hosts, found = list(of_host), defaultdict[int, list[Like]](list)
    for first in range(0, len(hosts), HOSTS_AT_ONCE):
        some = rows.of_hosts(tx, hosts[first : first + HOSTS_AT_ONCE], within=WITHIN_HOST)
        for host, sent in some.items():
            own = prints.some(of_host[host])
            for like in Prints.of_bytes(sent).alike(own, bits=REVIEW_BITS, most=MOST_OF_HOST, most_younger=0):
                found[like.id].append(like)
    return found


def _prints(lot: Iterable[Fingerprint]) -> Prints:
    return Prints.of(Print(each.id, each.place, each.value) for each in lot)
