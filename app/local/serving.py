"""Tracks which crawls of a home a living `tiptoe crawl` serves, and which ones a killed command left behind.

Such a command holds a shared lock on run/serves-<hash>, with the crawl's name inside, for as long as it lives; the
kernel releases it when the command dies. At a clean end it removes the file. So an unlocked file is a killed command's.
`tiptoe up` holds run/up: it serves every active crawl. All of this happens under the home's lock, which orders starts
and ends.

The workers of all these commands serve every active crawl of the home. So a command sets aside the active crawls that
no living command serves: they are paused, named in run/aside, and resumed by the end of the last command, or by
`tiptoe up`, whichever comes first. And the commands must treat sites alike: each
file says how its command does, and one that differs from a living one is refused.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from app import owned
from app.config import Settings
from app.errors import InputError, ServiceError
from app.local.home import Home, Log, take, try_exclusive

_PATIENCE = "another command that starts or ends"
_ALIKE = {"contact": "--contact", "default_delay_s": "--delay", "allow_networks": "--allow-network"}


@contextmanager
def serving(
    home: Home,
    crawl: str,
    settings: Settings,
    log: Log,
    *,
    at_end: Callable[[], None],
    restore: Callable[[str], None] = lambda _: None,
) -> Iterator[None]:
    """Lock the crawl's file. at_end: called at a clean end if no other command serves the crawl; if it fails, the file
    stays. restore: called at the end of the last command with each crawl that was set aside.

    Raises InputError if a living command treats sites otherwise."""
    path = _path(home, crawl)
    with home.starting(log):
        _check_alike(home, settings)
        lock = take(path, fcntl.LOCK_SH, waiting_for=_PATIENCE, log=log)
        path.write_text(f"{crawl}\n{json.dumps(_treats(settings))}")
        _write_aside(home, _read_aside(home) - {crawl})
    try:
        yield
    finally:
        try:
            with home.starting(log):
                if try_exclusive(lock):
                    if not is_up(home):
                        at_end()
                    path.unlink(missing_ok=True)
                    if not _served(home):
                        _restore(home, restore)
        finally:
            os.close(lock)


@contextmanager
def up(home: Home, settings: Settings, log: Log, *, restore: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Lock run/up while `tiptoe up` runs. restore: called at the start with each crawl that was set aside.

    Raises InputError if a living command treats sites otherwise."""
    path = home.run / "up"
    with home.starting(log):
        _check_alike(home, settings)
        lock = take(path, fcntl.LOCK_SH, waiting_for=_PATIENCE, log=log)
        path.write_text(f"\n{json.dumps(_treats(settings))}")
        _restore(home, restore)
    try:
        yield
    finally:
        os.close(lock)


def is_up(home: Home) -> bool:
    return not _is_free(home.run / "up")


def leave_aside(
    home: Home, log: Log, *, pause: Callable[[str], None], active: Callable[[], Iterable[str]] = tuple
) -> list[str]:
    """Call `pause` with each crawl that a killed command left behind, and with each active one that no command serves.

    Returns all that are set aside. With `tiptoe up` there are none: it serves all.
    """
    with home.starting(log):
        if is_up(home):
            return []
        for path in sorted(home.run.glob("serves-*")):
            crawl = path.read_text().partition("\n")[0]
            if _is_free(path):
                if crawl:  # killed before it wrote the name, it had not made the crawl
                    pause(crawl)
                path.unlink(missing_ok=True)
        served = _served(home)
        if aside := [crawl for crawl in active() if crawl not in served]:
            _write_aside(home, _read_aside(home) | set(aside))
            for crawl in aside:
                pause(crawl)
        return sorted(_read_aside(home))


def _served(home: Home) -> set[str]:
    """The crawls that living commands serve."""
    paths = [path for path in home.run.glob("serves-*") if not _is_free(path)]
    return {path.read_text().partition("\n")[0] for path in paths}


def _restore(home: Home, restore: Callable[[str], None]) -> None:
    for crawl in sorted(_read_aside(home)):
        restore(crawl)
    _write_aside(home, set())


def _read_aside(home: Home) -> set[str]:
    path = home.run / "aside"
    try:
        return set(json.loads(path.read_text()))
    except FileNotFoundError:
        return set()
    except (ValueError, TypeError, RecursionError) as error:  # the machine lost power as it was written, say
        remedy = "remove it, and run `tiptoe crawl resume NAME` for crawls that were paused for another"
        raise ServiceError(str(path), f"is damaged; {remedy}") from error


def _write_aside(home: Home, crawls: set[str]) -> None:
    """Write the crawls that are set aside, whole or not at all: those of a lost list would stay paused."""
    path = home.run / "aside"
    if not crawls:
        path.unlink(missing_ok=True)
        return
    path.with_suffix(".new").write_text(json.dumps(sorted(crawls)))
    path.with_suffix(".new").replace(path)


def _treats(settings: Settings) -> dict[str, str]:
    """How the workers of a command treat sites, by the name of the setting; as a person would write it."""
    networks = ",".join(sorted({str(network) for network in settings.allow_networks}))
    delay = f"{settings.default_delay_s:g}"
    return {"contact": settings.contact or "", "default_delay_s": delay, "allow_networks": networks}


def _check_alike(home: Home, settings: Settings) -> None:
    for path in (home.run / "up", *sorted(home.run.glob("serves-*"))):
        if _is_free(path):
            continue
        crawl, _, text = path.read_text().partition("\n")
        who = f"crawl {crawl}" if crawl else "tiptoe up"
        theirs: dict[str, str] = json.loads(text or "{}")
        for name, ours in _treats(settings).items():
            if theirs.get(name, ours) != ours:
                raise InputError(
                    f"{_ALIKE[name]} {ours or 'none'}",
                    f"{who} runs in this home with {theirs[name] or 'none'}, and workers serve all crawls of a home: "
                    "use the same, wait for its end, or choose another --home",
                )


def _path(home: Home, crawl: str) -> Path:
    return home.run / f"serves-{sha256(crawl.encode()).hexdigest()[:16]}"


def _is_free(path: Path) -> bool:
    """Whether no process holds the lock, not even shared."""
    try:
        descriptor = owned.open_file(path, os.O_RDWR)
    except FileNotFoundError:
        return True
    try:
        return try_exclusive(descriptor)
    finally:
        os.close(descriptor)
