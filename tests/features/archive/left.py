"""What a dead process leaves in the folder of the archive."""

import fcntl
from pathlib import Path

from app.features.archive.writer import ArchiveWriter


def open_ones(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.open"))


def abandoned(writer: ArchiveWriter, folder: Path) -> Path:
    """The writer's segment as its death leaves it: without a lock."""
    (path,) = folder.rglob("*.warc.gz.open")
    (file,) = writer._files.values()  # noqa: SLF001  # a process that dies drops its locks: nothing else does
    fcntl.flock(file._file, fcntl.LOCK_UN)  # noqa: SLF001  # the same
    return path
