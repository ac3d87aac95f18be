"""Segments: the files of the archive, and where each is.

One query of segments.sql each, in the caller's transaction.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import Connection

from app.model import Segment
from app.store import db

_sql = db.queries("segments")


def open(tx: Connection, *, crawl_id: int, node: str, worker: str, name: str) -> int:
    """Write the row of a segment that is begun. Returns its id."""
    where = {"crawl_id": crawl_id, "node": node, "worker": worker, "name": name}
    return int(db.run(tx, _sql["open"], where).scalar_one())


def crawl_of(tx: Connection, crawl_id: int) -> tuple[str, datetime]:
    """A crawl's name, and the database's time. A crawl that was deleted has its id for a name."""
    found = db.run(tx, _sql["crawl_of"], {"crawl_id": crawl_id}).one_or_none()
    return (found.name, found.now) if found is not None else (f"crawl-{crawl_id}", datetime.now(UTC))


def close(tx: Connection, *, id: int, bytes: int, records: int) -> None:
    """A segment is final, on the disk of its node. One that was deleted meanwhile stays so."""
    db.run(tx, _sql["close"], {"id": id, "bytes": bytes, "records": records})


def by_id(tx: Connection, id: int) -> Segment | None:
    found = db.run(tx, _sql["by_id"], {"id": id}).of(Segment)
    return found[0] if found else None


def by_name(tx: Connection, name: str) -> Segment | None:
    found = db.run(tx, _sql["by_name"], {"name": name}).of(Segment)
    return found[0] if found else None


def open_ones(tx: Connection) -> list[Segment]:
    """Segments that are open by their rows, of all nodes."""
    return db.run(tx, _sql["open_ones"]).of(Segment)


def of_crawl(tx: Connection, crawl_id: int | None, *, after: int = 0, n: int = 1_000) -> list[Segment]:
    """The segments of a crawl with ids above `after`, those that are gone too, the oldest first.

    None: of all crawls
    """
    return db.run(tx, _sql["of_crawl"], {"crawl_id": crawl_id, "after": after, "n": n}).of(Segment)


def uploaded(tx: Connection, *, id: int, place: str) -> None:
    """A closed segment is in the object store."""
    db.run(tx, _sql["uploaded"], {"id": id, "place": place})


class ArchiveNode(NamedTuple):
    """A machine that writes the archive.

    stopped_because  nothing is fetched there until this ends;   trouble: what fails while it goes on
    seen_ago_s       seconds since it said so
    """

    node: str
    place: str
    free_bytes: int
    waiting_bytes: int
    stopped_because: str | None
    stopped_for_s: float | None
    trouble: str | None
    seen_ago_s: float


def note_node(
    tx: Connection,
    *,
    node: str,
    place: str,
    free_bytes: int,
    waiting_bytes: int,
    stopped_because: str | None,
    trouble: str | None,
) -> None:
    where = {
        "node": node,
        "place": place,
        "free_bytes": free_bytes,
        "waiting_bytes": waiting_bytes,
        "stopped_because": stopped_because,
        "trouble": trouble,
    }
    db.run(tx, _sql["note_node"], where)


def nodes(tx: Connection) -> list[ArchiveNode]:
    """Machines that reported within SEEN_S: others write nothing."""
    return db.run(tx, _sql["nodes"], {"seen_s": 120.0}).of(ArchiveNode)


def expired(tx: Connection, *, crawl_id: int, days: int) -> list[Segment]:
    """Closed segments of a crawl that are older than this, the oldest first."""
    return db.run(tx, _sql["expired"], {"crawl_id": crawl_id, "days": days}).of(Segment)


def with_withdrawn(tx: Connection, crawl_id: int) -> list[Segment]:
    """Closed segments of a crawl that hold records of pages that their owners withdrew, the oldest first."""
    return db.run(tx, _sql["with_withdrawn"], {"crawl_id": crawl_id}).of(Segment)


def lock(tx: Connection, ids: Sequence[int]) -> list[int]:
    """Lock segments that are to be deleted. Returns those that are still closed or uploaded."""
    return [row.id for row in db.run(tx, _sql["lock"], {"ids": db.array_param(ids)})]


def mark_gone(tx: Connection, ids: Sequence[int]) -> None:
    """Segments are deleted, and the log's pointers to them; their files go after the commit."""
    where = {"ids": db.array_param(ids)}
    db.run(tx, _sql["unpoint"], where)
    db.run(tx, _sql["gone"], where)


def mark_crawl_gone(tx: Connection, crawl_id: int) -> None:
    """All segments of a crawl are deleted, with the log's pointers to them."""
    ids = [row.id for row in db.run(tx, _sql["crawl_gone"], {"crawl_id": crawl_id})]
    db.run(tx, _sql["unpoint"], {"ids": db.array_param(ids)})


def left_over(tx: Connection, n: int = 100) -> list[Segment]:
    """Segments that are gone, and whose objects are still in the store."""
    return db.run(tx, _sql["left_over"], {"n": n}).of(Segment)


def taken_away(tx: Connection, id: int) -> None:
    db.run(tx, _sql["taken_away"], {"id": id})


def crawls(tx: Connection) -> list[int]:
    """Crawls that have segments."""
    return [row.crawl_id for row in db.run(tx, _sql["crawls"])]


def pointed_at(tx: Connection, id: int) -> set[tuple[int, int]]:
    """Offset and length of the records in a segment that requests of the log point to."""
    return {(row.at_offset, row.length) for row in db.run(tx, _sql["pointed_at"], {"id": id})}


class SegmentTotals(NamedTuple):
    """The segments of a crawl in one state, counted.   crawl: its name; None: it was deleted"""

    crawl_id: int
    crawl: str | None
    state: str
    segments: int
    bytes: int
    records: int
    since: datetime
    until: datetime


def summary(tx: Connection, crawl_id: int | None) -> list[SegmentTotals]:
    """The segments of a crawl, or of all, counted by crawl and state."""
    return db.run(tx, _sql["summary"], {"crawl_id": crawl_id}).of(SegmentTotals)
