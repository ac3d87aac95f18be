"""Moves closed segments to the object store: the index, the segment, its row, and then the files here go.

Several processes of a node share the folder; each file is locked by whoever uploads it. A crash anywhere repeats the
upload of one segment, which ends in the same object.
"""

import fcntl
from collections.abc import Collection
from pathlib import Path

import structlog
from sqlalchemy import Engine

from app.errors import ServiceError
from app.features.archive import segment
from app.features.archive.place import Remote
from app.model import Segment, SegmentState
from app.store import db, segments

_log = structlog.get_logger()


def upload_closed(engine: Engine, folder: Path, remote: Remote, strays: set[Path]) -> int:
    """Upload the closed segments of a folder.

    strays: gets those that no row knows, such as another database's; they stay

    Returns how many. Raises ServiceError, OSError at the first that fails.
    """
    return sum(_upload(engine, folder, remote, path, strays) for path in sorted(folder.rglob(f"*{segment.WARC}")))


def waiting_bytes(folder: Path, *, but: Collection[Path]) -> int:
    """Bytes of closed segments that are in the folder still.   but: of those that wait for nothing"""
    found = 0
    for path in folder.rglob(f"*{segment.WARC}"):
        if path in but:
            continue
        try:
            found += path.stat().st_size
        except FileNotFoundError:  # it was uploaded meanwhile
            continue
    return found


def remove(path: Path) -> None:
    """Delete a segment's files here."""
    path.unlink(missing_ok=True)
    segment.index_of(path).unlink(missing_ok=True)


def _upload(engine: Engine, folder: Path, remote: Remote, path: Path, strays: set[Path]) -> bool:
    """Whether this segment was uploaded."""
    try:
        file = open(path, "rb")  # noqa: SIM115  # its lock is held to the end
    except FileNotFoundError:
        return False
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        name = str(path.relative_to(folder))
        with db.transaction(engine) as tx:
            row = segments.by_name(tx, name)
        if row is None:
            strays.add(path)
            return False
        if row.state == SegmentState.OPEN:  # its writer has not told yet that it is final
            return False
        if row.state == SegmentState.CLOSED:
            _put(engine, remote, row, path)
        remove(path)
        return row.state == SegmentState.CLOSED


def _put(engine: Engine, remote: Remote, row: Segment, path: Path) -> None:
    index = segment.index_of(path)
    if index.exists():
        remote.put(index, str(segment.index_of(Path(row.name))))
    remote.put(path, row.name)
    stored, here = remote.size(row.name), path.stat().st_size
    if stored != here:
        raise ServiceError(
            f"archive at {remote}", f"{row.name} has {stored} bytes there and {here} here; it is kept here"
        )
    with db.transaction(engine) as tx:
        segments.uploaded(tx, id=row.id, place=remote.place_of(row.name))
    _log.info("archive.uploaded", segment=row.name, bytes=here)
