"""Looks at the disk of an archive's folder: whether it can be written, and how much of it is free."""

import os
from pathlib import Path

from app.errors import ArchiveStopped
from app.words import sized

PROBE = ".writable"
PROBE_BYTES = 64 * 1024


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
