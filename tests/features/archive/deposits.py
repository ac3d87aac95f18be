"""Puts answers into the archive as a settle does: append, sync, rows."""

from collections.abc import Callable

from sqlalchemy import Engine

from app.features.archive.recording import Recording
from app.features.archive.writer import ArchiveWriter
from app.model import Capture
from app.store import captures, db


def deposit(writer: ArchiveWriter, *answers: Recording, mark: Callable[[str], object] = str) -> list[Capture]:
    """Archive answers in one settle. Returns the captures of those that have one.   mark: is told each step"""
    rows = []
    for answer in answers:
        row = writer.append(answer)
        mark("appended")
        rows += [] if row is None else [row]
    writer.sync(rows)
    mark("synced")
    with db.transaction(writer.engine) as tx:
        ids = captures.add(tx, rows)
    mark("committed")
    writer.committed(rows, ids)
    found = []
    with db.transaction(writer.engine) as tx:
        for row in rows:
            capture = captures.by_id(tx, crawl_id=row.crawl_id, id=ids[row.segment_id, row.at_offset])
            assert capture is not None
            found.append(capture)
    return found


def all_captures(engine: Engine, crawl_id: int) -> list[Capture]:
    with db.transaction(engine) as tx:
        return captures.after(tx, crawl_id=crawl_id, n=100_000)
