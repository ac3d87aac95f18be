"""Tracks which crawls of a home a living `tiptoe crawl` serves, and which ones a killed command left behind.

Such a command holds a shared lock on run/serves-<hash>, with the crawl's name inside, for as long as it lives; the
kernel releases it when the command dies. At a clean end it removes the file. So an unlocked file is a killed command's.
`tiptoe up` holds run/up: it serves every active crawl. All of this happens under the home's lock, which orders starts
and ends.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from app.local.home import Home, Log, take, try_exclusive

_PATIENCE = "another command that starts or ends"


@contextmanager
def serving(home: Home, crawl: str, log: Log, *, at_end: Callable[[], None]) -> Iterator[None]:
    """Lock the crawl's file. at_end: called at a clean end if no other command serves the crawl; if it fails, the file
    stays."""
    path = _path(home, crawl)
    with home.starting(log):
        lock = take(path, fcntl.LOCK_SH, waiting_for=_PATIENCE, log=log)
        path.write_text(crawl)
    try:
        yield
    finally:
        try:
            with home.starting(log):
                if try_exclusive(lock):
                    if not is_up(home):
                        at_end()
                    path.unlink(missing_ok=True)
        finally:
            os.close(lock)


@contextmanager
def up(home: Home, log: Log) -> Iterator[None]:
    """Lock run/up while `tiptoe up` runs."""
    lock = take(home.run / "up", fcntl.LOCK_SH, waiting_for=_PATIENCE, log=log)
    try:
        yield
    finally:
        os.close(lock)


def is_up(home: Home) -> bool:
    return not _is_free(home.run / "up")


def leave_aside(home: Home, log: Log, *, pause: Callable[[str], None]) -> None:
    """Call `pause` with each crawl that a killed command left behind, unless `tiptoe up` serves it."""
    with home.starting(log):
        if is_up(home):
            return
        for path in sorted(home.run.glob("serves-*")):
            crawl = path.read_text()
            if _is_free(path):
                if crawl:  # killed before it wrote the name, it had not made the crawl
                    pause(crawl)
                path.unlink(missing_ok=True)


def _path(home: Home, crawl: str) -> Path:
    return home.run / f"serves-{sha256(crawl.encode()).hexdigest()[:16]}"


def _is_free(path: Path) -> bool:
    """Whether no process holds the lock, not even shared."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return True
    try:
        return try_exclusive(descriptor)
    finally:
        os.close(descriptor)
