"""Near duplicates of a crawl: fingerprints, their keys, and notes of pages that are alike (promise C1).

One query of near.sql each, in the caller's transaction. Fingerprints are signed here, as Postgres' bigint is.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from sqlalchemy import Connection

from app.features.near import fingerprint
from app.features.near.likeness import START_CHARS
from app.store import db
from app.store.url_rows import Where, places

_sql = db.queries("near", __file__)
KEYS_AT_ONCE = 50_000
_SIGN = 1 << 63
_KEY_BITS = 25  # of a key of `fingerprint.keys`; a crawl's id stands above


class Waiting(NamedTuple):
    """A page of the queue.

    main_text       None: it is not compared, and loses the fingerprint that it may have
    fingerprint_id  and simhash: as they were; None: it has none
    noted           as being like another: near or review
    is_gone         it repeats nothing, and may come back
    """

    id: int
    host_id: int
    crawl_id: int
    key: bytes
    url: str | None
    title: str | None
    fingerprint_id: int | None
    simhash: int | None
    main_text: str | None
    noted: str | None
    is_gone: bool

    @property
    def where(self) -> Where:
        return self.host_id, self.crawl_id, self.key


class Fingerprint(NamedTuple):
    """The fingerprint of a page. value: from 0 to 2**64 - 1"""

    id: int
    where: Where
    value: int


class Keyed(NamedTuple):
    """Fingerprints of a crawl that have keys, by the id of the last.   compared_by: the last transaction"""

    crawl_id: int
    up_to: int
    compared_by: int


class Like(NamedTuple):
    """An older fingerprint that differs from fingerprint `id` in so many bits."""

    id: int
    fingerprint_id: int
    bits: int


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


def crawls(tx: Connection) -> list[int]:
    """Crawls with pages in the queue, the one whose page has waited longest first."""
    return [row.crawl_id for row in db.run(tx, _sql["crawls"])]


def lot(tx: Connection, crawl_id: int, n: int, *, most_bytes: int) -> list[Waiting]:
    """A crawl's oldest pages of the queue: `n` of them, or fewer whose texts have so many bytes.

    From now on the transaction plans for the tables as they are.
    """
    db.run(tx, _sql["fresh_plans"])
    found = db.run(tx, _sql["lot"], {"crawl_id": crawl_id, "n": n, "most_bytes": most_bytes}).of(Waiting)
    return [each if each.simhash is None else each._replace(simhash=_unsigned(each.simhash)) for each in found]


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


def put(tx: Connection, values: Mapping[Where, int]) -> list[Fingerprint]:
    """Store fingerprints of pages in this order. What a page had before was dropped."""
    if not values:
        return []
    rows = [
        {"host_id": host_id, "crawl_id": crawl_id, "key": key, "simhash": _signed(value), "n": n}
        for n, ((host_id, crawl_id, key), value) in enumerate(values.items())
    ]
    return [
        Fingerprint(row.id, where, values[where])
        for row in db.run(tx, _sql["put"], {"rows": db.rows_param(rows)})
        for where in [(row.host_id, row.crawl_id, row.key)]
    ]


def keyed(tx: Connection, crawl_id: int) -> Keyed:
    """Up to which fingerprint of a crawl keys are written."""
    return next(iter(db.run(tx, _sql["keyed"], {"crawl_id": crawl_id}).of(Keyed)), Keyed(crawl_id, 0, 0))


def compared(tx: Connection, keyed: Keyed) -> Keyed:
    """Store up to which fingerprint keys are written, and that this transaction compared pages."""
    where = {"crawl_id": keyed.crawl_id, "up_to": keyed.up_to}
    return keyed._replace(compared_by=db.run(tx, _sql["compared"], where).scalar_one())


def held(tx: Connection, crawl_id: int, *, beyond: int) -> bytes:
    """A crawl's fingerprints behind an id, for `Prints.of_bytes`."""
    return bytes(db.run(tx, _sql["held"], {"crawl_id": crawl_id, "beyond": beyond}).scalar_one())


def put_keys(tx: Connection, prints: Sequence[Fingerprint]) -> None:
    """Store the keys by which others find these. What has been deleted meanwhile gets none."""
    if prints:
        db.run(tx, _sql["put_keys"], {"rows": db.rows_param([_keyed(each) for each in prints])})


def drop_keys(tx: Connection, prints: Sequence[Fingerprint]) -> None:
    if prints:
        rows = [{"id": each.id, "keys": _keys(each)} for each in prints]
        db.run(tx, _sql["drop_keys"], {"rows": db.rows_param(rows)})


def drop(tx: Connection, crawl_id: int, prints: Sequence[Fingerprint]) -> None:
    """Delete fingerprints of a crawl, not their keys."""
    if prints:
        db.run(tx, _sql["drop"], {"crawl_id": crawl_id, "ids": db.array_param([each.id for each in prints])})


def by_key(tx: Connection, prints: Sequence[Fingerprint], *, most: int) -> list[Like]:
    """Older ones of the crawl that differ in DUPLICATE_BITS at most, the closest first: all, up to `most` each."""
    where = {"rows": db.rows_param([_keyed(each) for each in prints]), "bits": fingerprint.DUPLICATE_BITS, "most": most}
    return db.run(tx, _sql["by_key"], where).of(Like)


def on_host(tx: Connection, prints: Sequence[Fingerprint], *, within: int, most: int) -> list[Like]:
    """Older ones of the same host that differ in REVIEW_BITS at most, among `within` of them."""
    rows = [
        {"id": each.id, "host_id": each.where[0], "crawl_id": each.where[1], "simhash": _signed(each.value)}
        for each in prints
    ]
    where = {"rows": db.rows_param(rows), "bits": fingerprint.REVIEW_BITS, "within": within, "most": most}
    return db.run(tx, _sql["on_host"], where).of(Like)


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
    """The number of a crawl's pages in the queue, at most `most`."""
    return int(db.run(tx, _sql["waiting"], {"crawl_id": crawl_id, "most": most}).scalar_one())


def drop_queued(tx: Connection, crawl_id: int) -> None:
    """Take a crawl's pages out of the queue, and forget how far its fingerprints have keys."""
    tx.execute(_sql["drop_queued"], {"crawl_id": crawl_id})
    tx.execute(_sql["drop_keyed"], {"crawl_id": crawl_id})


def drop_crawl(tx: Connection, crawl_id: int, n: int = KEYS_AT_ONCE) -> int:
    """Delete keys of a crawl's fingerprints, which are deleted with its pages. Returns how many; 0: none are left."""
    where = {"first": crawl_id << _KEY_BITS, "beyond": crawl_id + 1 << _KEY_BITS, "n": n}
    return tx.execute(_sql["drop_crawl"], where).rowcount


def _keyed(each: Fingerprint) -> dict[str, object]:
    return {"id": each.id, "crawl_id": each.where[1], "simhash": _signed(each.value), "keys": _keys(each)}


def _keys(each: Fingerprint) -> list[int]:
    of_crawl = each.where[1] << _KEY_BITS
    return [of_crawl | key for key in fingerprint.keys(each.value)]


def _signed(value: int) -> int:
    return value - (1 << 64) if value & _SIGN else value


def _unsigned(value: int) -> int:
    return value + (1 << 64) if value < 0 else value
