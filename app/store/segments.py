"""Segments: the files of the archive, and where each is. One query of segments.sql each, in the caller's transaction."""

from sqlalchemy import Connection

from app.model import Segment
from app.store import db

_sql = db.queries("segments")


def open(tx: Connection, *, crawl_id: int, node: str, worker: str, name: str) -> int:
    """Write the row of a segment that is begun. Returns its id."""
    where = {"crawl_id": crawl_id, "node": node, "worker": worker, "name": name}
    return int(db.run(tx, _sql["open"], where).scalar_one())


def by_id(tx: Connection, id: int) -> Segment | None:
    found = db.run(tx, _sql["by_id"], {"id": id}).of(Segment)
    return found[0] if found else None
