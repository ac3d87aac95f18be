"""Near duplicates of a crawl: fingerprints, their keys, and notes of pages that are alike (promise C1).

One query of near.sql each, in the caller's transaction. Fingerprints are signed here, as Postgres' bigint is.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypedDict

from sqlalchemy import Connection

from app.clock import EPOCH
from app.features.near import fingerprint
from app.features.near.likeness import START_CHARS, Likeness, Reading
from app.store import db
from app.store.url_rows import Where, places

_sql = db.queries("near", __file__)
KEYS_AT_ONCE = 50_000
BEHIND = 2_500  # fingerprints that others may be comparing: those of five processes
_PLACE_BITS = 11  # of the key, below the microseconds; near.sql shifts by as many
SIGN = 1 << 63
_KEY_BITS = 25  # of a key of `fingerprint.keys`; a crawl's id stands above
_PROBES = {
    "turned_blocks": db.array_param([n for n, _ in fingerprint.PROBES]),
    "turned": db.array_param([turned for _, turned in fingerprint.PROBES]),
}


class Waiting(NamedTuple):
    """A page of the queue.

    fetched_at      of the page; None: it is not there any more
    fingerprint_id  place and simhash: as they were; None: it has none
    main_text       None: it is not compared, and loses the fingerprint that it may have
    noted           as being like another: near or review
    held_by         the transaction that took it
    """

    id: int
    host_id: int
    crawl_id: int
    key: bytes
    url: str | None
    title: str | None
    fetched_at: datetime | None
    fingerprint_id: int | None
    place: int | None
    simhash: int | None
    main_text: str | None
    noted: str | None
    is_gone: bool
    held_by: str

    @property
    def where(self) -> Where:
        return self.host_id, self.crawl_id, self.key


class Fingerprint(NamedTuple):
    """The fingerprint of a page.

    place  in the order of the crawl's pages (`place_of`);   value: from 0 to 2**64 - 1
    """

    id: int
    where: Where
    place: int
    value: int


class AtHand(NamedTuple):
    """Pages to which a transaction gave fingerprints, by the ids of these, and their texts: to be compared at once."""

    made_by: str | None = None
    pages: Mapping[int, Waiting] = {}
    texts: Mapping[int, Reading] = {}


NONE_AT_HAND = AtHand()


class DuePrint(NamedTuple):
    """A fingerprint to be compared, and its page.

    is_new    it was not compared before, or repeated another: those that are younger may repeat it
    is_known  nobody had the page since it got its fingerprint
    url       None: the page is not there any more
    noted     as being like another: near or review
    is_gone   the page repeats nothing, and may come back
    """

    id: int
    host_id: int
    crawl_id: int
    key: bytes
    place: int
    simhash: int
    is_new: bool
    is_known: bool
    url: str | None
    title: str | None
    noted: str | None
    is_gone: bool

    @property
    def where(self) -> Where:
        return self.host_id, self.crawl_id, self.key

    @property
    def print(self) -> Fingerprint:
        return Fingerprint(self.id, self.where, self.place, _unsigned(self.simhash))


class Like(NamedTuple):
    """A fingerprint that differs from fingerprint `id` in so many bits.   place: of the other"""

    id: int
    other: int
    bits: int
    place: int


class HeldPrint(NamedTuple):
    """A fingerprint that was compared, and stays as it is until the end of the transaction."""

    id: int
    place: int
    key: bytes


class OlderPage(NamedTuple):
    """A page that another may repeat, by its fingerprint's id. start: of its main text"""

    id: int
    host_id: int
    key: bytes
    url: str
    title: str | None
    start: str


class QueuedLink(NamedTuple):
    """A link that waits for its first fetch."""

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    lane: int


class Orphan(NamedTuple):
    """A duplicate whose original is gone."""

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    kind: str
    of_url: str


class Note(TypedDict):
    """A page that is like another. of_host_id, of_key: of the other."""

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    kind: str
    of_url: str
    of_host_id: int
    of_key: bytes
    bits: int


def repeats_another(note: Note | None) -> bool:
    """Whether a page is a near duplicate. It is no original, so nothing looks for it, until it is compared anew."""
    return note is not None and note["kind"] == Likeness.NEAR


def place_of(fetched_at: datetime, key: bytes) -> int:
    """A page's place in the order of (fetched_at, key): microseconds, and the first bits of the key.

    Of two at one place the key decides.
    """
    of_key = int.from_bytes(key[:2].ljust(2, b"\0")) >> 16 - _PLACE_BITS
    return (fetched_at - EPOCH) // timedelta(microseconds=1) << _PLACE_BITS | of_key


def crawls(tx: Connection) -> dict[int, bool]:
    """Crawls with pages to compare, the one whose page has waited longest first, and whether some have fingerprints."""
    return {row.crawl_id: row.is_due for row in db.run(tx, _sql["crawls"])}


def lot(tx: Connection, crawl_id: int, n: int, *, most_bytes: int) -> list[Waiting]:
    """A crawl's oldest pages of the queue, held: `n` of them, or fewer whose texts have so many bytes.

    From now on the transaction plans for the tables as they are.
    """
    db.run(tx, _sql["begin"])
    found = db.run(tx, _sql["lot"], {"crawl_id": crawl_id, "n": n, "most_bytes": most_bytes}).of(Waiting)
    return [each if each.simhash is None else each._replace(simhash=_unsigned(each.simhash)) for each in found]


def due(tx: Connection, crawl_id: int, n: int, *, most_bytes: int, at_hand: AtHand = NONE_AT_HAND) -> list[DuePrint]:
    """A crawl's oldest fingerprints to be compared, held: as many as of `lot`, and planned as there.

    Pages at hand are not looked up, nor counted in `most_bytes`.
    """
    db.run(tx, _sql["begin"])
    where = {"crawl_id": crawl_id, "n": n, "most_bytes": most_bytes, "made_by": at_hand.made_by}
    found = db.run(tx, _sql["due"], where).of(DuePrint)
    return [_as_known(each, at_hand.pages[each.id]) if each.is_known else each for each in found]


def _as_known(each: DuePrint, page: Waiting) -> DuePrint:
    return each._replace(url=page.url, title=page.title, noted=page.noted, is_gone=page.is_gone)


def due_beside(tx: Connection, crawl_id: int, ids: Sequence[int], *, place: int) -> bytes:
    """Other fingerprints of a crawl to be compared, for `Prints.of_bytes`: all up to a place, and some behind."""
    where = {"crawl_id": crawl_id, "ids": db.array_param(ids), "place": place, "behind": BEHIND}
    return bytes(db.run(tx, _sql["due_beside"], where).scalar_one())


def claim(tx: Connection, crawl_id: int, ids: Sequence[int]) -> set[int]:
    """Those of these fingerprints that nobody else holds: they are ours to replace."""
    where = {"crawl_id": crawl_id, "ids": db.array_param(ids)}
    return {row.id for row in db.run(tx, _sql["claim"], where)} if ids else set()


def hold(tx: Connection, crawl_id: int, ids: Collection[int]) -> dict[int, HeldPrint]:
    """Those of these fingerprints that were compared. None of them is compared again until the transaction ends."""
    where = {"crawl_id": crawl_id, "ids": db.array_param(sorted(ids))}
    return {each.id: each for each in db.run(tx, _sql["hold"], where).of(HeldPrint)} if ids else {}


def missed(tx: Connection, crawl_id: int, younger: Mapping[Fingerprint, Mapping[int, int]]) -> set[int]:
    """Those of younger fingerprints that were compared without the older one, or are just being.

    younger: their ids and places, by the older one, which is still to be compared
    """
    rows = [
        {"id": id, "place": place, "older_id": older.id, "older_place": older.place}
        for older, places in younger.items()
        for id, place in places.items()
    ]
    where = {"crawl_id": crawl_id, "rows": db.rows_param(rows)}
    return {row.id for row in db.run(tx, _sql["missed"], where)} if rows else set()


def queue(tx: Connection, pages: Collection[Where]) -> None:
    """Have pages compared, in crawls that ask for it."""
    if pages:
        db.run(tx, _sql["queue"], {"rows": places(pages)})


def queue_gone(tx: Connection, pages: Collection[Where]) -> None:
    """Have pages that were deleted lose their fingerprints."""
    if pages:
        db.run(tx, _sql["queue_gone"], {"rows": places(pages)})


def backlog(tx: Connection) -> int:
    """About how many pages are in the queue: how far its newest is from its oldest."""
    return int(db.run(tx, _sql["backlog"]).scalar_one())


def done(tx: Connection, crawl_id: int, ids: Sequence[int]) -> None:
    db.run(tx, _sql["done"], {"crawl_id": crawl_id, "ids": db.array_param(ids)})


def put(tx: Connection, values: Mapping[Where, tuple[int, int]]) -> list[Fingerprint]:
    """Store fingerprints of pages that have none, to be compared: place and value.

    A page that has got one meanwhile is left out.
    """
    rows = [
        {"host_id": host_id, "crawl_id": crawl_id, "key": key, "place": place, "simhash": _signed(value)}
        for (host_id, crawl_id, key), (place, value) in values.items()
    ]
    return [
        Fingerprint(row.id, where, *values[where])
        for row in (db.run(tx, _sql["put"], {"rows": db.rows_param(rows)}) if rows else ())
        for where in [(row.host_id, row.crawl_id, row.key)]
    ]


def put_due(tx: Connection, prints: Sequence[Fingerprint], *, is_new: bool) -> None:
    """Have fingerprints compared anew."""
    if prints:
        rows = [_numbers(each) | {"is_new": is_new} for each in prints]
        db.run(tx, _sql["put_due"], {"rows": db.rows_param(rows)})


def drop_due(tx: Connection, prints: Sequence[Fingerprint]) -> None:
    """Take fingerprints from those that are to be compared."""
    if prints:
        db.run(tx, _sql["drop_due"], {"rows": db.rows_param([_numbers(each) for each in prints])})


def put_keys(tx: Connection, prints: Sequence[Fingerprint]) -> None:
    """Store the keys by which others find these."""
    if prints:
        rows = [_numbers(each) | {"keys": _keys(each)} for each in prints]
        db.run(tx, _sql["put_keys"], {"rows": db.rows_param(rows)})


def drop_keys(tx: Connection, prints: Sequence[Fingerprint]) -> None:
    if prints:
        rows = [{"id": each.id, "keys": _keys(each)} for each in prints]
        db.run(tx, _sql["drop_keys"], {"rows": db.rows_param(rows)})


def drop(tx: Connection, crawl_id: int, prints: Sequence[Fingerprint]) -> None:
    """Delete fingerprints of a crawl, and what finds them."""
    if prints:
        drop_keys(tx, prints)
        drop_due(tx, prints)
        db.run(tx, _sql["drop"], {"crawl_id": crawl_id, "ids": db.array_param([each.id for each in prints])})


def by_keys(
    tx: Connection, prints: Collection[Fingerprint], ids: Collection[int], *, most: int, of_each: bool = False
) -> bytes:
    """Originals of the crawl, for `Prints.of_bytes`: `most` of them, in which are all that differ in DUPLICATE_BITS.

    ids: of these none;   of_each: of each key the `most` oldest, which takes three times as long
    """
    keys = {key: block for each in prints for block, key in enumerate(_keys(each))}
    where = {"keys": db.array_param(list(keys)), "blocks": db.array_param(list(keys.values())), "most": most}
    query = _sql["by_each_key"] if of_each else _sql["by_keys"]
    return bytes(db.run(tx, query, where | _PROBES | {"ids": db.array_param(list(ids))}).scalar_one())


def of_hosts(tx: Connection, hosts: Collection[tuple[int, int]], *, within: int) -> dict[tuple[int, int], bytes]:
    """The fingerprints of hosts in crawls, `within` of each, for `Prints.of_bytes`.   hosts: host and crawl"""
    rows = [{"host_id": host_id, "crawl_id": crawl_id} for host_id, crawl_id in sorted(hosts)]
    found = db.run(tx, _sql["of_hosts"], {"rows": db.rows_param(rows), "within": within})
    return {(row.host_id, row.crawl_id): bytes(row.prints) for row in found}


def originals(tx: Connection, crawl_id: int, ids: Collection[int]) -> dict[int, OlderPage]:
    """The pages of these fingerprints of a crawl that can be originals, by fingerprint."""
    where = {"crawl_id": crawl_id, "ids": db.array_param(sorted(ids)), "start": START_CHARS}
    found = db.run(tx, _sql["originals"], where).of(OlderPage)
    return {each.id: each for each in found}


def texts(tx: Connection, crawl_id: int, ids: Collection[int]) -> dict[int, str]:
    """The main texts of fingerprints of a crawl."""
    if not ids:
        return {}
    found = db.run(tx, _sql["texts"], {"crawl_id": crawl_id, "ids": db.array_param(sorted(ids))})
    return {row.id: row.main_text for row in found}


def note(tx: Connection, rows: Sequence[Note]) -> None:
    if rows:
        db.run(tx, _sql["note"], {"rows": db.rows_param(rows)})


def forget(tx: Connection, pages: Sequence[Where]) -> None:
    """Delete the notes of pages that are like no other any more."""
    if pages:
        db.run(tx, _sql["forget"], {"rows": places(pages)})


def queue_likes(tx: Connection, pages: Sequence[Where]) -> None:
    """Queue the pages that were noted to be like these, which have changed or are gone."""
    if pages:
        db.run(tx, _sql["queue_likes"], {"rows": places(pages)})


def queue_prints(tx: Connection, crawl_id: int, ids: Collection[int]) -> None:
    """Queue the pages of these fingerprints of a crawl."""
    if ids:
        db.run(tx, _sql["queue_prints"], {"crawl_id": crawl_id, "ids": db.array_param(sorted(ids))})


def queued_links(tx: Connection, pages: Sequence[tuple[int, int, str]]) -> list[QueuedLink]:
    """Links of pages to their own host that wait for a first fetch. pages: host id, crawl id, URL"""
    rows = [{"host_id": host_id, "crawl_id": crawl_id, "url": url} for host_id, crawl_id, url in pages]
    return db.run(tx, _sql["queued_links"], {"rows": db.rows_param(rows)}).of(QueuedLink)


def set_lane(tx: Connection, links: Sequence[QueuedLink]) -> None:
    """Move queued links to the lanes that these say. Their hosts are locked."""
    if links:
        rows = [{"host_id": u.host_id, "crawl_id": u.crawl_id, "key": u.key, "lane": u.lane} for u in links]
        db.run(tx, _sql["set_lane"], {"rows": db.rows_param(rows)})


def orphans(tx: Connection, n: int, *, blocks: int) -> list[Orphan]:
    """Duplicates whose original is gone, among those in so many blocks of their table, which differ each time."""
    return db.run(tx, _sql["orphans"], {"n": n, "blocks": blocks}).of(Orphan)


def part(tx: Connection, orphans: Sequence[Orphan]) -> list[int]:
    """Delete the notes of these, and queue those again that were aliases. Returns the hosts of these."""
    rows = [
        {"host_id": each.host_id, "crawl_id": each.crawl_id, "key": each.key, "of_url": each.of_url} for each in orphans
    ]
    db.run(tx, _sql["part"], {"rows": db.rows_param(rows)})
    return [row.host_id for row in db.run(tx, _sql["requeue"], {"rows": db.rows_param(rows)})]


def listed(tx: Connection, *, crawl_id: int, kind: str | None, n: int) -> list[dict[str, Any]]:
    """Duplicates of a crawl, the latest first."""
    found = tx.execute(_sql["listed"], {"crawl_id": crawl_id, "kind": kind, "n": n})
    return [dict(row) for row in found.mappings()]


def waiting(tx: Connection, *, crawl_id: int, most: int) -> int:
    """The number of a crawl's pages that are to be compared, at most `most`."""
    return int(db.run(tx, _sql["waiting"], {"crawl_id": crawl_id, "most": most}).scalar_one())


def drop_crawl(tx: Connection, crawl_id: int, n: int = KEYS_AT_ONCE) -> int:
    """Delete keys of a crawl's fingerprints, which are deleted with its pages. Returns how many; 0: none are left."""
    tx.execute(_sql["drop_queued"], {"crawl_id": crawl_id})
    where = {"first": crawl_id << _KEY_BITS, "beyond": crawl_id + 1 << _KEY_BITS, "n": n}
    return tx.execute(_sql["drop_crawl"], where).rowcount


def _numbers(each: Fingerprint) -> dict[str, object]:
    return {"id": each.id, "crawl_id": each.where[1], "place": each.place, "simhash": _signed(each.value)}


def _keys(each: Fingerprint) -> list[int]:
    of_crawl = each.where[1] << _KEY_BITS
    return [of_crawl | key for key in fingerprint.keys(each.value)]


def _signed(value: int) -> int:
    return value - (1 << 64) if value & SIGN else value


def _unsigned(value: int) -> int:
    return value + (1 << 64) if value < 0 else value


def hosts_deleted(tx: Connection, crawl_id: int, *, after: int, until: int) -> None:
    """Delete the rows of a crawl that is deleted, of the hosts with ids above `after`, up to `until`."""
    db.run(tx, _sql["hosts_deleted"], {"crawl_id": crawl_id, "after": after, "until": until})
