"""Compares the fingerprints of a lot of pages with the others of their crawl.

`app.features.near.compare` reads the texts of those that are alike. Imported when there is a page to
compare, for numpy's sake.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from app.features.near import rows
from app.features.near.alike import Prints
from app.features.near.compare import JudgedLot, Likes, judge, repeats_another
from app.features.near.fingerprint import DUPLICATE_BITS
from app.features.near.likeness import START_CHARS, Likeness, Reading
from app.features.near.memory import MOST_LIKE, MOST_READ, CrawlMemory, among, prints_of
from app.features.near.rows import Fingerprint, Like, Note, OlderPage, Waiting
from app.features.near.simhash import simhash
from app.store.url_rows import Where

WITHIN_HOST = 50_000  # fingerprints of its own host that a page is compared with


@dataclass(slots=True, kw_only=True)
class _Compared:
    """Pages that are compared together.

    readings  of their texts;   prints: by page;   notes: what they are like
    crowded   fingerprints with as many older originals of the same value as are ever read: nobody would look for them
    """

    waiting: Sequence[Waiting]
    readings: Mapping[Where, Reading]
    many_of_host: int
    prints: Mapping[Where, Fingerprint] = field(default_factory=dict)
    notes: Mapping[Where, Note] = field(default_factory=dict)
    crowded: set[int] = field(default_factory=set)


def compare(
    tx: Connection, waiting: Sequence[Waiting], memory: CrawlMemory, *, many_of_host: int
) -> tuple[int, Mapping[Where, Note]]:
    """Compare pages. Returns how many have a fingerprint, and a note for each that is like another.

    many_of_host: pages for which all fingerprints of their host are read once, and compared at once
    """
    texts = {each.where: Reading(each.main_text) for each in waiting if each.main_text is not None}
    lot = _Compared(waiting=waiting, readings=texts, many_of_host=many_of_host)
    memory.read(tx)
    _replace(tx, lot, memory)
    if lot.prints:
        lot.notes, lot.crowded = _alike(tx, lot, memory)
        wanted = {each.id: _is_looked_for(lot, each) for each in lot.prints.values()}
        memory.look_for(wanted)
        rows.put_keys(tx, [each for each in lot.prints.values() if memory.has_keys(each) and wanted[each.id]])
    memory.write(tx)
    return len(lot.prints), lot.notes


def _replace(tx: Connection, lot: _Compared, memory: CrawlMemory) -> None:
    """Replace the fingerprints that the pages had. A new text has a new id: it is younger than all that stand.

    An original that says what it said stays as old as it was, and its likes are not asked again: two pages for review
    would each make the other wait, for ever.
    """
    values = {where: simhash(text.words_once()) for where, text in lot.readings.items()}
    before = {
        each.where: Fingerprint(each.fingerprint_id, each.where, each.simhash)
        for each in lot.waiting
        if each.fingerprint_id is not None and each.simhash is not None
    }
    same = {where for where, mine in before.items() if values.get(where) == mine.value}
    stand = same - {each.where for each in lot.waiting if each.noted == Likeness.NEAR}
    gone = [mine for where, mine in before.items() if where not in stand]
    rows.drop_keys(tx, [each for each in before.values() if memory.has_keys(each)])
    rows.drop(tx, memory.crawl_id, gone)
    rows.queue_likes(tx, [where for where in before if where not in same])
    made = rows.put(tx, {where: value for where, value in values.items() if value is not None and where not in stand})
    lot.prints = {each.where: each for each in [*(before[where] for where in stand), *made]}
    memory.replace([each.id for each in gone], made)
    memory.look_for({each.id: False for each in lot.prints.values()})  # they are compared with each other apart


def _alike(tx: Connection, lot: _Compared, memory: CrawlMemory) -> JudgedLot:
    """A note for each page that is like another: the closest original that it repeats, else the closest for review."""
    prints = list(lot.prints.values())
    before: dict[int, set[tuple[int, int]]] = defaultdict(set)
    within: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for like in [*memory.alike(prints), *_older(tx, lot, memory)]:
        before[like.id].add((like.bits, like.fingerprint_id))
    for like in among(prints_of(prints), prints, most=len(prints)):
        if like.bits <= DUPLICATE_BITS:
            within[like.id].append((like.bits, like.fingerprint_id))
    nearest = {id: sorted(found)[:MOST_LIKE] for id, found in before.items()}
    own = _own(lot)
    originals = _originals(
        tx, memory.crawl_id, [[other for _, other in found if other not in own] for found in nearest.values()]
    )
    return judge(tx, lot.waiting, lot.prints, Likes(nearest, within, originals | own), lot.readings)


def _own(lot: _Compared) -> dict[int, OlderPage]:
    """Pages of the lot that can be originals of others of it, by fingerprint. Their notes are void."""
    return {
        id: OlderPage(id, page.host_id, page.key, page.url, page.title, page.main_text[:START_CHARS])
        for page in lot.waiting
        if page.main_text is not None and page.url is not None and not page.is_gone and page.where in lot.prints
        for id in [lot.prints[page.where].id]
    }


def _originals(tx: Connection, crawl_id: int, nearest: Sequence[Sequence[int]]) -> dict[int, OlderPage]:
    """Those of the nearest fingerprints that can be originals. The further ones are asked for where some are none."""
    originals = rows.originals(tx, crawl_id, {other for found in nearest for other in found[:MOST_READ]})
    further = {
        other for found in nearest if not originals.keys() >= set(found[:MOST_READ]) for other in found[MOST_READ:]
    }
    return originals | rows.originals(tx, crawl_id, further) if further else originals


def _is_looked_for(lot: _Compared, mine: Fingerprint) -> bool:
    """Whether a fingerprint needs keys. Without them it costs nothing: a thousand mirrors are found by four of them."""
    return mine.id not in lot.crowded and not repeats_another(lot.notes.get(mine.where))


def _older(tx: Connection, lot: _Compared, memory: CrawlMemory) -> list[Like]:
    """Those that are not held, and alike. Those of the lot have no keys meanwhile: they are compared apart."""
    if not memory.has_older:
        return []
    prints = list(lot.prints.values())
    return [*rows.by_key(tx, prints, most=MOST_LIKE), *_on_host(tx, prints, lot.many_of_host)]


def _on_host(tx: Connection, prints: Sequence[Fingerprint], many_of_host: int) -> list[Like]:
    """Older ones of the same host that are alike: of a host with a few pages in the lot, as Postgres finds them."""
    pages = Counter(each.where[:2] for each in prints)
    many = {host for host, n in pages.items() if n >= many_of_host}
    few = [each for each in prints if each.where[:2] not in many]
    found = rows.on_host(tx, few, within=WITHIN_HOST, most=MOST_READ) if few else []
    for host, of_host in (rows.of_hosts(tx, many, within=WITHIN_HOST) if many else {}).items():
        found += among(Prints.of_bytes(of_host), [each for each in prints if each.where[:2] == host])
    return found
