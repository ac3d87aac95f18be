"""Keeps a process's archive in order, beside the visits that write to it: in a thread of its own, and one that moves.

It closes segments that are old enough, uploads what is closed, watches the disk, and reports to `archive_nodes`. While
the archive is stopped (`check` raises), nothing may be fetched: what is fetched could not be kept.

    tend   closes, looks and reports: quick, whatever the object store does
    move   uploads, and deletes what is old: as slow as the store is

    stopped   a write failed, and still does; the disk has less free than the reserve; more waits for the store than
              the bound
    trouble   the object store does not serve: segments wait on the disk, within the bound

What a dead process left open is closed at the next start on its node. A segment whose writer lives is locked. One that
is not locked is cut after its last whole record, its index is made anew, and it becomes final. Rows point only to what
was synced, and that is whole.
"""

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import structlog
from sqlalchemy import Engine

from app.errors import ArchiveMissing, ArchiveStopped, InputError, ServiceError
from app.features.archive import scan, segment
from app.features.archive.place import ArchivePlace, upload_closed, waiting_bytes
from app.features.archive.recording import Recording, RenderedDocument
from app.features.archive.scan import BrokenRecord
from app.features.archive.segment import stopped
from app.features.archive.writer import ArchiveWriter
from app.model import Capture
from app.net.sockets import is_ours
from app.runtime.once import Once
from app.store import db, segments
from app.words import sized

_log = structlog.get_logger()
LOOK_S = 1.0  # between two looks at the disk
REPORT_S = 15.0  # between two reports of the same
UPLOAD_AGAIN_S = 10.0
PROBE = ".writable"
PROBE_BYTES = 64 * 1024
_USUAL, _LAST = "usual", "last"  # moves
RECOVER_MOST_S = 60.0  # between two tries: each reads the segments that were left


class ArchiveKeeper:
    """The archive as visits use it. Threads share it; make it after the fork.

    reserve_bytes  free space of the disk below which nothing is fetched
    spool_bytes    closed segments that may wait for the object store
    clean          deletes what is old, and what is left of what is gone; called once an hour
    make_room      gives up what holds file descriptors and can be had again; called when none is left
    """

    def __init__(
        self,
        writer: ArchiveWriter,
        place: ArchivePlace,
        *,
        reserve_bytes: int,
        spool_bytes: int,
        clean: Callable[[], object] = lambda: None,
        make_room: Callable[[], object] = lambda: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clean, self._make_room = clean, make_room
        self._writer, self._place = writer, place
        self._reserve_bytes, self._spool_bytes = reserve_bytes, spool_bytes
        self._monotonic = monotonic
        self._looking = threading.Lock()
        self._looked_at = -LOOK_S
        self._stopped: ArchiveStopped | None = None
        self._has_failed = False
        self._trouble: str | None = None
        self._waiting, self._strays = 0, set[Path]()
        self._reported: tuple[float, str | None, str | None] | None = None
        self._upload_at = self._clean_at = self._tend_at = 0.0
        self._failures = 0  # of `tend`, in a row
        self._recovered, self._recover_at, self._recover_wait_s = False, 0.0, LOOK_S
        self._ended = threading.Event()
        self._tending: threading.Thread | None = None
        self._moves = Once(self._move, kept_s=lambda _: 0.0)

    def start(self) -> None:
        """Close what dead processes left, and tend the archive from now on, in a thread.

        Call it once, after the fork.
        """
        self._tending = threading.Thread(target=self._keep_tending, name="archive", daemon=True)
        self._tending.start()

    def check(self) -> None:
        """Raises ArchiveStopped while the archive cannot be written."""
        if self._monotonic() - self._looked_at >= LOOK_S and self._looking.acquire(blocking=False):
            try:
                self._look()
            finally:
                self._looking.release()
        if self._stopped is not None:
            raise self._stopped

    def append(self, answer: Recording) -> Capture | None:
        """Write an answer's records. As `ArchiveWriter.append`."""
        try:
            return self._writer.append(answer)
        except ArchiveStopped as error:
            self._fail(error)
            raise

    def append_rendered(self, document: RenderedDocument) -> Capture:
        """Write the records of what a browser made. As `ArchiveWriter.append_rendered`."""
        try:
            return self._writer.append_rendered(document)
        except ArchiveStopped as error:
            self._fail(error)
            raise

    def sync(self, rows: Iterable[Capture]) -> None:
        """Return when the records of these rows are on the disk. Raises ArchiveStopped."""
        try:
            self._writer.sync(rows)
        except ArchiveStopped as error:
            self._fail(error)
            raise

    def committed(self, rows: Sequence[Capture], ids: Mapping[tuple[int, int], int]) -> None:
        self._writer.committed(rows, ids)

    def close_left(self) -> None:
        """Close what dead processes of this node left, once. While Postgres or the disk fails, try ever less often."""
        if self._recovered or self._monotonic() < self._recover_at:
            return
        try:
            recover(self._writer.engine, self._place.folder)
            self._recovered = True
        except (ServiceError, OSError) as error:
            _log.error("archive.not_recovered", error=str(error))
            self._recover_wait_s = min(2 * self._recover_wait_s, RECOVER_MOST_S)
            self._recover_at = self._monotonic() + self._recover_wait_s

    def tend(self) -> None:
        """Close what is to be closed, look at the disk, report. Never raises for a service: it is tried again.

        While Postgres is away, or a segment cannot be closed, that is ever less often. The disk is looked at each time.
        """
        with suppress(ArchiveStopped):
            self.check()
        if self._monotonic() < self._tend_at:
            return
        is_well = self._close_overdue()
        is_well = self._has_reported() and is_well
        self._failures = 0 if is_well else self._failures + 1
        wait_s = 0.0 if is_well else min(LOOK_S * 2.0**self._failures, REPORT_S)
        self._tend_at = self._monotonic() + wait_s

    def _close_overdue(self) -> bool:
        for file in self._writer.overdue():
            try:
                self._writer.close(file)
            except ServiceError as error:
                _log.warning("archive.not_closed", segment=file.name, error=str(error))
                return False
        return True

    def _has_reported(self) -> bool:
        try:
            self._report()
        except ServiceError as error:
            _log.warning("archive.not_reported", error=str(error))
            return False
        return True

    def move(self) -> None:
        """Upload what is closed, and delete what is old. Never raises for a service, as `tend`."""
        self._upload()
        try:
            self._clean_up()
        except (ServiceError, ArchiveMissing, OSError) as error:
            _log.warning("archive.not_cleaned", error=str(error))

    def close(self) -> None:
        """Make the open segments final, at the end of the process, and upload them if the store serves soon.

        What it does not take now is uploaded by the next process of this node.
        """
        self._ended.set()
        if self._tending is None:
            self._writer.close_all()
            self._move(_LAST)
        else:
            self._tending.join()
            self._writer.close_all()
            self._moves.of(_LAST, wait_s=10.0)
        with suppress(ServiceError):
            self._report()

    def _keep_tending(self) -> None:
        self._turn(self.close_left)
        while not self._ended.wait(LOOK_S):
            self._turn(self.close_left)
            self._turn(self.tend)
            self._moves.of(_USUAL, wait_s=0)

    def _move(self, which: str) -> None:
        """Move what there is, in another thread: one upload that hangs holds up no other work."""
        if which == _LAST:
            self._upload_at = 0.0
            self._turn(self._upload)
        else:
            self._turn(self.move)

    def _turn(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception:  # noqa: BLE001  # the thread must outlive a bug in one turn
            _log.exception("archive.keeper_failed")

    def _fail(self, error: ArchiveStopped) -> None:
        if self._stopped is None:
            _log.error("archive.stopped", error=str(error))
        self._stopped, self._has_failed = error, True
        self._make_room_after(error.__cause__)

    def _make_room_after(self, error: BaseException | None) -> None:
        """Where the system has no descriptor left, idle connections may hold the one that is needed here."""
        if isinstance(error, OSError) and is_ours(error):
            self._make_room()

    def _look(self) -> None:
        """Find out whether the archive can be written."""
        was = self._stopped
        try:
            self._place.folder.mkdir(parents=True, exist_ok=True)
            if self._has_failed:
                probe(self._place.folder)
            free = free_bytes(self._place.folder)
            if self._place.remote is not None:
                self._waiting = waiting_bytes(self._place.folder, but=self._strays)
        except OSError as error:
            self._stopped = stopped(self._place.folder / PROBE, error)
            self._make_room_after(error)
        else:
            self._has_failed = False
            self._stopped = too_little(self._place.folder, free, self._reserve_bytes) or self._too_much()
        if self._stopped is not None and was is None:
            _log.error("archive.stopped", error=str(self._stopped))
        if self._stopped is None and was is not None:
            _log.info("archive.resumed", place=str(self._place))
        self._looked_at = self._monotonic()

    def _too_much(self) -> ArchiveStopped | None:
        if self._waiting <= self._spool_bytes:
            return None
        return ArchiveStopped(
            f"archive at {self._place}",
            f"{sized(self._waiting)} wait for it in {self._place.folder}, the most that may; "
            f"{self._trouble or 'it is slow'}",
        )

    def _upload(self) -> None:
        remote = self._place.remote
        if remote is None or self._monotonic() < self._upload_at:
            return
        try:
            upload_closed(self._writer.engine, self._place.folder, remote, self._strays)
            self._trouble = None
        except (ServiceError, InputError, ArchiveMissing, OSError) as error:
            if self._trouble is None:
                _log.error("archive.not_uploaded", error=str(error))
            self._trouble = error.remedy if isinstance(error, ServiceError | InputError) else str(error)
            self._upload_at = self._monotonic() + UPLOAD_AGAIN_S

    def _clean_up(self) -> None:
        now = self._monotonic()
        if now >= self._clean_at:
            self._clean_at = now + 3_600.0
            self._clean()

    def _report(self) -> None:
        """Write how the archive fares, when that changed or was long ago."""
        why = None if self._stopped is None else str(self._stopped)
        now, said = self._monotonic(), (why, self._trouble)
        if self._reported is not None and self._reported[1:] == said and now - self._reported[0] < REPORT_S:
            return
        try:
            free = free_bytes(self._place.folder)
        except OSError:
            free = 0
        with db.transaction(self._writer.engine) as tx:
            segments.note_node(
                tx,
                node=self._writer.node,
                place=str(self._place),
                free_bytes=free,
                waiting_bytes=self._waiting,
                stopped_because=why,
                trouble=self._trouble,
            )
        self._reported = (now, *said)


def probe(folder: Path) -> None:
    """Write a little: free space alone does not tell of quotas and broken disks. Raises OSError."""
    path = folder / f"{PROBE}-{os.getpid()}"
    try:
        with open(path, "wb") as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    finally:
        path.unlink(missing_ok=True)


def free_bytes(folder: Path) -> int:
    """Raises OSError."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def too_little(folder: Path, free: int, reserve_bytes: int) -> ArchiveStopped | None:
    """The error for a person where less is free than the reserve."""
    if free >= reserve_bytes:
        return None
    return ArchiveStopped(
        f"archive at {folder}",
        f"its disk has {sized(free)} free of the {sized(reserve_bytes)} that it needs; free some, or prune it",
    )


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
