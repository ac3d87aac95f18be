"""Closes what a dead process left open, at the next start on its node.

A segment whose writer lives is locked. One that is not locked is cut after its last whole record, its index is made
anew, and it becomes final. Rows point only to what was synced, and that is whole.
"""

import fcntl
import os
from pathlib import Path
from typing import BinaryIO

import structlog
from sqlalchemy import Engine

from app.archive import scan, segment
from app.archive.scan import BrokenRecord
from app.store import db, segments

_log = structlog.get_logger()


def recover(engine: Engine, folder: Path) -> list[str]:
    """Close the segments of dead processes. Returns their names. Raises ServiceError, OSError."""
    found = []
    for path in sorted(folder.rglob(f"*{segment.WARC}{segment.OPEN}")):
        name = _close_if_left(engine, folder, path)
        if name is not None:
            found.append(name)
    _tell_closed(engine, folder)
    return found


def _close_if_left(engine: Engine, folder: Path, path: Path) -> str | None:
    """Close one segment; None where its writer lives, or another process was quicker."""
    try:
        file = open(path, "r+b")  # noqa: SIM115  # its lock is held until the file has its final name
    except FileNotFoundError:
        return None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        if not path.exists():  # it was closed while we waited
            return None
        lines = _trim(file, segment.final(path).name)
        name = str(segment.final(path).relative_to(folder))
        with db.transaction(engine) as tx:
            known = segments.by_name(tx, name)
        if known is None and not lines:
            path.unlink()
            segment.index_of(path).unlink(missing_ok=True)
            return None
        segment.index_of(path).write_bytes(b"".join(lines))
        segment.finish(path)
    if known is not None:
        with db.transaction(engine) as tx:
            segments.close(tx, id=known.id, bytes=segment.final(path).stat().st_size, records=len(lines))
    _log.info("archive.recovered", segment=name, records=len(lines), has_row=known is not None)
    return name


def _trim(file: BinaryIO, name: str) -> list[bytes]:
    """Cut what comes after the last whole record.

    Returns the index lines of those before.   name: of the file, when final
    """
    lines: list[bytes] = []
    try:
        for found in scan.records(file):
            if found.is_answer:
                lines.append(scan.index_line(found, name))
    except BrokenRecord as error:
        _log.warning("archive.trimmed", segment=name, at=error.at, why=str(error))
        file.truncate(error.at)
        os.fsync(file.fileno())
    return lines


def _tell_closed(engine: Engine, folder: Path) -> None:
    """Write that segments are final whose writers died between their last name and their row."""
    with db.transaction(engine) as tx:
        for row in segments.open_ones(tx):
            path = folder / row.name
            if path.exists():
                segments.close(tx, id=row.id, bytes=path.stat().st_size, records=_answers(path))


def _answers(path: Path) -> int:
    index = segment.index_of(path)
    return len(index.read_bytes().splitlines()) if index.exists() else 0
