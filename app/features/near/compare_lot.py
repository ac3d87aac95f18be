"""Compares a lot of pages with the others of their crawl: first their texts' fingerprints, then those that are alike.

A fingerprint is committed before it is compared. So of two processes that compare two pages at once, one at least finds
the other's. What another process holds is not waited for: whoever depends on it is left for a later lot.

`app.features.near.compare` reads the texts. Imported when there is a page to compare, for numpy's sake.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from app.features.near import rows
from app.features.near.alike import Print, Prints
from app.features.near.compare import MOST_OF_HOST, Close, Earlier, judge, read, repeats_another
from app.features.near.fingerprint import DUPLICATE_BITS, REVIEW_BITS
from app.features.near.likeness import Likeness, Reading
from app.features.near.rows import DuePrint, Fingerprint, Like, Note, Waiting
from app.features.near.simhash import simhash
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
    judged = judge(tx, read(tx, pages, likes.earlier))
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

    earlier  of pages before
    younger  of pages behind that are not of the lot, with their places; a host's own come in order: it has one visitor
    waiting  those of the lot that depend on others which are not compared yet
    """

    earlier: Mapping[int, Earlier]
    younger: Mapping[int, dict[int, int]]
    waiting: set[int]


def _likes(tx: Connection, lot: Sequence[DuePrint]) -> _Likes:
    crawl_id, own, prints = lot[0].crawl_id, {each.id: each for each in lot}, _prints(lot)
    within = prints.alike(prints, bits=DUPLICATE_BITS, most=len(lot))
    others = rows.due_beside(tx, crawl_id, list(own), place=lot[-1].place)
    beside = Prints.of_bytes(others).alike(prints, bits=DUPLICATE_BITS, most=MOST_BESIDE)
    waiting = {like.id for like in beside if like.place <= own[like.id].place}
    left = [each for each in lot if each.id not in waiting]
    keyed = rows.by_key(tx, [each.print for each in left], most=MOST_OF_KEY)  # after: what was beside may have keys now
    of_host = _of_hosts(tx, left)
    before = {like.other for like in (*keyed, *of_host) if like.place <= own[like.id].place} - own.keys()
    held = rows.hold(tx, crawl_id, before)
    places = {id: (each.place, each.key) for all_of in (own, held) for id, each in all_of.items()}
    earlier, younger = {id: Earlier(set(), set()) for id in own}, {id: dict[int, int]() for id in own}
    for likes, is_of_host in ((within, False), (beside, False), (keyed, False), (of_host, True)):
        for mine, other, bits, place in likes:
            if places.get(other, (place, b"")) < places[mine]:
                if other in places:
                    found = earlier[mine].of_host if is_of_host else earlier[mine].of_crawl
                    found.add(Close(bits, *places[other], other))
                else:
                    waiting.add(mine)
            elif other not in own and not is_of_host:
                younger[mine][other] = place
    for each in lot:  # the earliest first
        if any(like.id in waiting for found in earlier[each.id] for like in found):
            waiting.add(each.id)
    return _Likes(earlier, younger, waiting)


def _of_hosts(tx: Connection, lot: Sequence[DuePrint]) -> list[Like]:
    """Those of their own hosts, which may be for review."""
    of_host = defaultdict[tuple[int, int], list[DuePrint]](list)
    for each in lot:
        of_host[each.where[:2]].append(each)
    hosts, found = list(of_host), list[Like]()
    for first in range(0, len(hosts), HOSTS_AT_ONCE):
        some = rows.of_hosts(tx, hosts[first : first + HOSTS_AT_ONCE], within=WITHIN_HOST)
        for host, prints in some.items():
            found += Prints.of_bytes(prints).alike(_prints(of_host[host]), bits=REVIEW_BITS, most=MOST_OF_HOST)
    return found


def _prints(lot: Sequence[DuePrint]) -> Prints:
    return Prints.of(Print(each.id, each.place, each.print.value) for each in lot)
