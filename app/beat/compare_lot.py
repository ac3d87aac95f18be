"""Compares the fingerprints of a lot of pages with the others of their crawls, beside other processes that do.

A page's likeness depends on pages with older texts alone. So it does not matter who compares first: fingerprints are
stored before they are compared, and a page that comes after a younger one that is like it has that compared again.
`app.beat.compare_near` reads the texts of those that are alike. Imported when there is a page to compare, for numpy's
sake.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from sqlalchemy import Connection

from app.beat.compare_near import notes_of, repeats_another
from app.beat.near_memory import MOST_LIKE, MOST_READ, NearMemory, prints_of
from app.policy.focus.alike import Prints
from app.policy.focus.fingerprint import Alike
from app.policy.focus.near import Likeness, Reading
from app.policy.focus.simhash import simhash
from app.store import near
from app.store.near import Fingerprint, Note, OlderPage, Waiting
from app.store.search import Where

WITHIN_HOST = 50_000  # fingerprints of its own host that a page is compared with
MANY_OF_HOST = 5  # pages of a lot: all fingerprints of their host are read once, and compared at once
MOST_UNDATED = 4 * MOST_LIKE  # of these that are alike; the closest, before it is known which are older


@dataclass(slots=True, kw_only=True)
class Compared:
    """Pages that are compared together, the oldest text first.

    readings  of their texts;   values: their fingerprints' values;   prints: by page, when they are stored
    notes     what they are like;   closest: (bits, fingerprint) of their originals, by fingerprint
    new       fingerprints that others may not have met
    crowded   fingerprints with as many older originals of the same value as are ever read: nobody would look for them
    late      younger ones, which may have been compared without these;   last: the last id when these were stored
    """

    waiting: Sequence[Waiting]
    readings: Mapping[Where, Reading]
    values: Mapping[Where, int | None]
    prints: Mapping[Where, Fingerprint] = field(default_factory=dict)
    notes: Mapping[Where, Note] = field(default_factory=dict)
    originals: Mapping[int, OlderPage] = field(default_factory=dict)
    closest: Mapping[int, Sequence[tuple[int, int]]] = field(default_factory=dict)
    new: Set[int] = frozenset()
    crowded: Set[int] = frozenset()
    late: Sequence[Alike] = ()
    last: int = 0


def read(waiting: Sequence[Waiting]) -> Compared:
    """Read texts, and make their fingerprints: most of the work, which waits for nobody."""
    readings = {each.where: Reading(each.main_text) for each in waiting if each.main_text is not None}
    values = {where: simhash(text.words_once()) for where, text in readings.items()}
    return Compared(
        waiting=sorted(waiting, key=lambda each: (each.text_at or 0, each.key)), readings=readings, values=values
    )


def store(tx: Connection, lot: Compared, memory: NearMemory) -> None:
    """Store fingerprints in place of those that the pages had. The memory is locked.

    An original that says what it said keeps its own, and its likes are not asked again. A near duplicate, as any that
    nobody looks for, gets a new one that others find; it is no duplicate until it is compared.
    """
    before = {
        each.where: Fingerprint(each.fingerprint_id, each.where, each.simhash, each.text_at or 0)
        for each in lot.waiting
        if each.fingerprint_id is not None and each.simhash is not None
    }
    near_ones = {each.where for each in lot.waiting if each.noted == Likeness.NEAR}
    same = {where for where, mine in before.items() if lot.values.get(where) == mine.value}
    unwanted = memory.unwanted()
    stand = {where for where in same - near_ones if before[where].id not in unwanted}
    gone = [mine for where, mine in before.items() if where not in stand]
    near.drop_keys(tx, [each for each in gone if memory.has_keys(each)])
    near.drop(tx, gone)
    near.queue_likes(tx, [where for where in before if where not in same])
    near.forget(tx, sorted(near_ones))
    values = {
        each.where: (value, each.text_at or 0)
        for each in lot.waiting
        if each.where not in stand and (value := lot.values.get(each.where)) is not None
    }
    made = near.put(tx, values)
    lot.prints = {each.where: each for each in [*(before[where] for where in stand), *made]}
    first = {each.where for each in lot.waiting if not each.again}
    lot.new = {each.id for each in made} | {each.id for where, each in lot.prints.items() if where in first}
    memory.replace([each.id for each in gone], made)
    lot.last = memory.last
    memory.tell(tx, gone=[each.id for each in gone])


def compare(tx: Connection, lot: Compared, memory: NearMemory) -> None:
    """Note of each page what it is like: the closest original that it repeats, else the closest for review."""
    prints = list(lot.prints.values())
    ages = {each.id: each.age for each in prints}
    likes: dict[int, set[tuple[int, int, int, int]]] = defaultdict(set)
    older, lot.late = memory.alike(prints)
    keyed = _keyed(tx, prints, memory)
    for like in older + [each for each in keyed if (each.at, each.tie, each.other) < ages[each.id]]:
        likes[like.id].add((like.bits, like.at, like.tie, like.other))
    lot.late = [*lot.late, *(each for each in keyed if ages[each.id] < (each.at, each.tie, each.other))]
    nearest = {id: [(each[0], each[3]) for each in sorted(found)[:MOST_LIKE]] for id, found in likes.items()}
    lot.originals = _originals(tx, [[other for _, other in found] for found in nearest.values()], prints)
    lot.closest = {
        id: [(bits, other) for bits, other in found if other in lot.originals][:MOST_READ]
        for id, found in nearest.items()
    }
    lot.notes = notes_of(tx, lot.waiting, lot.prints, lot.closest, lot.originals, lot.readings)
    repeats = {lot.prints[where].id for where, note in lot.notes.items() if repeats_another(note)}
    lot.crowded = {
        id
        for id, found in lot.closest.items()
        if sum(bits == 0 and other not in repeats for bits, other in found) == MOST_READ
    }


def undone(tx: Connection, lot: Compared) -> set[Where]:
    """Pages whose closest are originals no longer, as another process has found since, and pages that are like these.

    They stay in the queue.
    """
    own = {each.id for each in lot.prints.values()}
    of_others = {other for found in lot.closest.values() for _, other in found} - own
    fallen = of_others - near.standing(tx, of_others)
    found = set()
    for page in lot.waiting if fallen else ():
        mine = lot.prints.get(page.where)
        if mine is not None and _rests_on(lot, page.where, mine.id, fallen):
            fallen.add(mine.id)
            found.add(page.where)
    return found


def _rests_on(lot: Compared, where: Where, mine: int, fallen: Set[int]) -> bool:
    """Whether one of these may have decided what a page is like: those behind the one that it repeats did not."""
    note = lot.notes.get(where)
    repeated = (note["of_host_id"], note["of_key"]) if note is not None and repeats_another(note) else None
    for _, other in lot.closest.get(mine, ()):
        if other in fallen:
            return True
        if repeated == (lot.originals[other].host_id, lot.originals[other].key):
            break
    return False


def finish(tx: Connection, lot: Compared, memory: NearMemory, left: Set[Where]) -> None:
    """Store what follows for others: of whom they look for no longer, and what is to be compared again.

    The memory is locked.   left: pages that stay in the queue
    """
    repeating = {where for where, note in lot.notes.items() if repeats_another(note)} - left
    unwanted = [
        each
        for where, each in lot.prints.items()
        if where not in left and (where in repeating or each.id in lot.crowded)
    ]
    keyed = [each for where, each in lot.prints.items() if where not in left and memory.has_keys(each)]
    near.drop_keys(tx, keyed)
    near.put_keys(tx, [each for each in keyed if each not in unwanted])
    near.queue_likes(tx, sorted(repeating))
    own = {each.id for each in lot.prints.values()}
    originals = {each.id: each for where, each in lot.prints.items() if where not in repeating | left}
    since = memory.younger([each for id, each in originals.items() if id in lot.new], beyond=lot.last)
    late = [each for each in lot.late if each.id in originals and each.id in lot.new]
    near.queue_late(tx, [each for each in late + since if each.other not in own])
    memory.look_for({each.id: False for each in unwanted})
    ids = [each.id for each in unwanted]
    memory.tell(tx, wanted=sorted((lot.new & originals.keys()) - set(ids)), unwanted=ids)


def _originals(tx: Connection, nearest: Sequence[Sequence[int]], prints: Sequence[Fingerprint]) -> dict[int, OlderPage]:
    """Those of the nearest fingerprints that can be originals. The further ones are asked for where some are none."""
    own = [each.id for each in prints]
    originals = near.originals(tx, {other for found in nearest for other in found[:MOST_READ]}, own=own)
    further = {
        other for found in nearest if not originals.keys() >= set(found[:MOST_READ]) for other in found[MOST_READ:]
    }
    return originals | near.originals(tx, further, own=own) if further else originals


def _keyed(tx: Connection, prints: Sequence[Fingerprint], memory: NearMemory) -> list[Alike]:
    """Those that are not held, and alike, however old."""
    asking = [each for each in prints if memory.may_be_like_keyed(each)]
    return [*near.by_key(tx, asking, most=MOST_LIKE), *_on_host(tx, asking)] if asking else []


def _on_host(tx: Connection, prints: Sequence[Fingerprint]) -> list[Alike]:
    """Those of the same host that are alike: of a host with a few pages in the lot, as Postgres finds them."""
    pages = Counter(each.where[:2] for each in prints)
    many = {host for host, n in pages.items() if n >= MANY_OF_HOST}
    few = [each for each in prints if each.where[:2] not in many]
    found = near.on_host(tx, few, within=WITHIN_HOST, most=MOST_UNDATED) if few else []
    undated: list[Alike] = []
    for host, of_host in (near.of_hosts(tx, many, within=WITHIN_HOST) if many else {}).items():
        of_lot = prints_of(each for each in prints if each.where[:2] == host)
        undated += Prints.of_bytes(of_host).closest(of_lot, most=MOST_UNDATED)
    return found + (near.dated(tx, undated) if undated else [])
