"""An open segment: a WARC file that one process appends to, and its index beside it.

While it is open its names end in `.open`, and the process holds a lock on the file: whoever finds such a file without a
lock knows that its writer died (app.features.archive.keeper). Closed, it is final: the index is sorted, both files
lose the ending. Several threads append; records lie one after another, whole. What was not synced may be lost with the
machine, so no row may point beyond `synced`.
"""

import fcntl
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from heapq import merge
from itertools import groupby, islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from app.errors import ArchiveStopped
from app.features.archive import record
from app.net.sockets import REMEDY, is_ours

OPEN = ".open"
WARC = ".warc.gz"
INDEX = ".cdxj"
MODE = 0o640  # pages may be behind a login


class SegmentFile:
    """One segment's files. Threads share it.

    name    without ending;   id: of its row;   filename: that it gets when it is closed, without the folder
    size    bytes written so far;   synced: of these, known to be on the disk;   records: response and revisit records
    begun   monotonic second when it was opened
    is_retired  nothing more is written to it;   is_final: its files have their final names
    """

    def __init__(self, folder: Path, name: str, *, crawl_id: int, begun: float) -> None:
        """Create the files. Raises ArchiveStopped."""
        self.name, self.crawl_id, self.begun = name, crawl_id, begun
        self.id = 0
        self.size = self.synced = self.records = 0
        self._indexed = 0  # bytes of the index
        self.is_retired = self.is_final = False
        self._is_broken = False
        self._folder = folder
        self._writing, self._syncing = threading.Lock(), threading.Lock()
        self.path = folder / f"{name}{WARC}{OPEN}"
        self.filename = final(self.path).name
        self._opened: list[int] = []
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._index = self._open(index_of(self.path), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            sync_folder(self.path.parent)
        except OSError as error:
            self.abandon()
            raise stopped(self.path, error) from error

    def append(self, members: Sequence[bytes], line: Callable[[int], bytes] | None) -> int | None:
        """Write records, and the index line of the first. Returns its offset; None where the segment is retired.

        line: makes the line from that offset. Raises ArchiveStopped; nothing of them is left then.
        """
        octets = b"".join(members)
        with self._writing:
            if self.is_retired:
                return None
            at = self.size
            try:
                _write(self._file, octets)
                _write(self._index, listed := b"" if line is None else line(at))
            except OSError as error:
                self._take_back(at, self._indexed)
                raise stopped(self.path, error) from error
            self.size += len(octets)
            self._indexed += len(listed)
            self.records += line is not None
        return at

    def sync(self, until: int) -> None:
        """Return when the first `until` bytes are on the disk.

        One thread syncs for all that wait. Raises ArchiveStopped.

        After a failure the system may have dropped what was not synced: it is gone, and this raises for it each time.
        """
        with self._syncing:
            if until <= self.synced:
                return
            size = self.size
            try:
                if self._is_broken:
                    raise OSError(f"what was written from byte {self.synced} on is lost")
                _sync(self._file)
            except OSError as error:
                self._is_broken = self.is_retired = True
                raise stopped(self.path, error) from error
            self.synced = size

    def close(self) -> None:
        """Make it final.

        What a failed sync left in doubt is cut off. Raises ArchiveStopped: then it is to be closed again.
        """
        with self._writing:
            self.is_retired = True
        try:
            self.sync(self.size)
        except ArchiveStopped:
            if not self._is_broken:
                raise
        try:
            if self.size > self.synced:
                self._take_back(self.synced, self._indexed_until(self.synced))
            finish(self.path)
        except OSError as error:
            raise stopped(self.path, error) from error
        self.is_final = True
        self._close_files()

    def abandon(self) -> None:
        """Remove a segment that has no row, and so no record that anything points to."""
        for path in (self.path, index_of(self.path)) if self._opened else ():
            path.unlink(missing_ok=True)
        self._close_files()

    def _open(self, path: Path, flags: int) -> int:
        self._opened.append(file := os.open(path, flags | os.O_CLOEXEC, MODE))
        return file

    def _close_files(self) -> None:
        """Close the descriptors, of which a segment that could not be opened has some."""
        while self._opened:
            os.close(self._opened.pop())

    def _indexed_until(self, size: int) -> int:
        """How many bytes of the index list records of the first `size` bytes. They lie in the order of the records."""
        lines = index_of(self.path).read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if record.offset(line) < size]
        self.records = len(kept)
        return sum(map(len, kept))

    def _take_back(self, size: int, indexed: int) -> None:
        """Cut what a failed write left. Where even that fails nothing more is written: it is cut at the next start."""
        try:
            os.ftruncate(self._file, size)
            os.ftruncate(self._index, indexed)
        except OSError:
            self.is_retired = True
        else:
            self.size, self._indexed = size, indexed


def index_of(path: Path) -> Path:
    """The index beside a segment, open or final."""
    return path.with_name(path.name.replace(WARC, INDEX))


def final(path: Path) -> Path:
    """The name without `.open`."""
    return path.with_name(path.name.removesuffix(OPEN))


def finish(path: Path) -> None:
    """Sort the index of an open segment, and give both files their final names. Raises OSError.

    It may be repeated after a crash or a failure: the segment comes last, since its ending says that something is left
    to do.
    """
    index = index_of(path)
    if index.exists():
        with open(index, "rb") as lines, open(final(index), "wb", opener=_private) as file:
            file.writelines(_ordered(lines, index.parent))
            file.flush()
            os.fsync(file.fileno())
        index.unlink()
    if path.exists() or not final(path).exists():
        path.rename(final(path))
    sync_folder(path.parent)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, MODE)


def _ordered(lines: Iterable[bytes], folder: Path) -> Iterator[bytes]:
    """The whole lines in order, each once. Sorted runs of them lie in files of the folder until they are merged."""
    whole = (line for line in lines if line.endswith(b"\n"))
    with ExitStack() as stack:
        runs: list[IO[bytes]] = []
        # Lines sorted at once take 4 MB. The index of a segment of revisits has a quarter of a million.
        while run := sorted(islice(whole, 10_000)):
            runs.append(stack.enter_context(TemporaryFile(dir=folder)))
            runs[-1].writelines(run)
            runs[-1].seek(0)
        for line, _ in groupby(merge(*runs)):
            yield line


def sync_folder(folder: Path) -> None:
    """Make the names in a folder outlast the machine."""
    file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def stopped(path: Path, error: OSError) -> ArchiveStopped:
    """The error for a person: what cannot be written, and what would help."""
    why = error.strerror or str(error)
    remedy = REMEDY if is_ours(error) else "free or mend the disk, or turn it off"
    return ArchiveStopped(f"archive at {path.parent}", f"cannot be written ({why}); {remedy}")


def _write(file: int, octets: bytes) -> None:
    """Write all, however much the system takes at once. Raises OSError."""
    left = memoryview(octets)
    while left:
        left = left[os.write(file, left) :]


def _sync(file: int) -> None:
    """Flush to the disk what is needed to read the file back; macOS has no fdatasync."""
    getattr(os, "fdatasync", os.fsync)(file)
