"""Segments: the files of the archive, and where each is. One query of segments.sql each, in the caller's transaction."""

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
    """The segments of a crawl with ids above `after`, those that are gone too, the oldest first.   None: of all crawls"""
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
    return db.run(tx, _sql["nodes"]).of(ArchiveNode)
