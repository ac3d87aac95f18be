"""TIPTOE_HOME on disk: its layout, the memory between starts, and the locks between commands.

    <home>/
      services.json      ports, passwords, data directory (0600)
      pgpass             the database's password as libpq reads it (0600)
      lock               held while a command starts or joins a server
      run/<name>.users   every command that uses the server holds this shared, for as long as it does
      run/<name>.keeper  held by the server's keeper while it lives; inside are its process id and what it runs
      run/serves-<hash>  held shared by every `tiptoe crawl` of one crawl; its name is inside (`app.local.serving`)
      run/up             held shared by every `tiptoe up`
      logs/<name>.log    what the server and its keeper print
      postgres/          the database (as root it may have to lie outside: see `app.local.postgres`)
      valkey/            the broker's working directory; nothing is kept in it
      programs-<n>/      as root: a copy of the Postgres wheel, where nobody cannot run the original

It is its owner's alone: 0700, as each folder in it. As root others may pass (0711), to what the server's user owns.

Locks are flock(2): the kernel drops them when their holder dies, however it dies.
"""

import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app import owned
from app.errors import ServiceError, SettingError
from app.words import scalar

POLL_S = 0.02
PATIENCE_S = 120.0  # for another command to finish its start, or a server its stop
TELL_AFTER_S = 2.0
MAKES_IT = "name the home of a crawl with --home, or make one with `tiptoe crawl URL…`"

_PRIVATE = ("run", "logs", "archive", "valkey")
_MAY_BE_FIRST = frozenset({*_PRIVATE, "demo", "signing-key.json", "lost+found"})  # in a folder that becomes a home

Log = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """The folder, made and writable. root: absolute path."""

    root: Path

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def recall(self, name: str) -> dict[str, Any]:
        """The remembered facts of a server; empty if there are none."""
        return dict(self._memory().get(name, {}))

    def remember(self, name: str, facts: dict[str, Any]) -> None:
        """Replace the remembered facts of a server, all or nothing (0600). Call it under `starting`."""
        draft = self.root / "services.json.new"
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(self._memory() | {name: facts}, file, indent=2)
        draft.replace(self.root / "services.json")

    def fact(self, name: str, fact: str) -> str:
        """One remembered fact of a server that is remembered. Raises ServiceError where it is not among them."""
        try:
            return str(self.recall(name)[fact])
        except KeyError:
            raise self._damaged(f"{name} has no {fact}") from None

    def _memory(self) -> dict[str, dict[str, Any]]:
        try:
            with os.fdopen(owned.open_file(self.root / "services.json", os.O_RDONLY), "rb") as file:
                memory: dict[str, dict[str, Any]] = json.loads(file.read(65_536))  # bytes of services.json
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError) as error:
            raise self._damaged(str(error)) from error
        if not isinstance(memory, dict) or not all(map(_are_facts, memory.values())):
            raise self._damaged("it holds no facts of servers")
        return memory

    def _damaged(self, why: str) -> ServiceError:
        remedy = "restore it, or remove it: then a database that stands here is set aside, and a new one is made"
        return ServiceError(str(self.root / "services.json"), f"is damaged ({why}); {remedy}")

    @contextmanager
    def starting(self, log: Log) -> Iterator[None]:
        """Lock under which one command at a time starts or joins servers here."""
        lock = take(self.root / "lock", fcntl.LOCK_EX, waiting_for="another command that is starting up", log=log)
        try:
            yield
        finally:
            os.close(lock)


def _are_facts(found: object) -> bool:
    kinds = {"port": int, "data": str, "password": str, "admin_password": str}
    return isinstance(found, dict) and all(
        isinstance(value, kinds.get(name, object)) and (not isinstance(value, str) or scalar(value) == value)
        for name, value in found.items()
    )


def find_home(path: Path) -> Home:
    """The home, which must be there: nothing of another folder is touched. Raises SettingError naming the path and the
    remedy."""
    if not path.is_dir():
        raise SettingError(f"TIPTOE_HOME={str(path)!r}", f"there is no such folder; {MAKES_IT}")
    owned.check(path, f"TIPTOE_HOME={str(path)!r}")
    if not os.path.lexists(path / "services.json"):
        raise SettingError(f"TIPTOE_HOME={str(path)!r}", f"holds no database yet; {MAKES_IT}")
    return open_home(path)


def open_home(path: Path) -> Home:
    """Make the folder and what it needs. Raises SettingError, and InputError where it is not ours alone; both name the
    path and the remedy."""
    try:
        is_new = not path.exists()
        path.mkdir(mode=0o755, parents=True, exist_ok=True)  # whatever the umask: nobody else may write to it
        owned.check(path, f"TIPTOE_HOME={str(path)!r}")
        home = Home(root=path.resolve())  # the servers report resolved paths
        if not is_new:
            _check_is_for_us(home.root, path)
        for folder in (home.root / name for name in _PRIVATE):
            if os.path.lexists(folder) and not folder.is_dir():
                raise SettingError(f"the folder {folder}", "is no folder; remove what has its name")
            owned.check(folder, f"the folder {folder}")
        for folder in (home.run, home.logs):
            folder.mkdir(mode=0o755, exist_ok=True)
        _keep_private(home.root, is_new=is_new)
        os.close(_open(home.root / "lock"))
    except OSError as error:
        remedy = f"cannot be written ({error.strerror}); set TIPTOE_HOME to a folder of your own"
        raise SettingError(f"TIPTOE_HOME={str(path)!r}", remedy) from error
    return home


def _check_is_for_us(root: Path, path: Path) -> None:
    """Raises SettingError for a folder of other things that others use, such as a web server's: a home is closed."""
    is_home = (root / "services.json").exists() or ((root / "lock").is_file() and (root / "run").is_dir())
    if is_home or not stat.S_IMODE(root.stat().st_mode) & ~_whole():
        return
    strange = next((name for name in os.listdir(root) if name not in _MAY_BE_FIRST), None)
    if strange is not None:
        remedy = f"holds other things ({strange}), and a home is closed to other users; name a new or an empty folder"
        raise SettingError(f"TIPTOE_HOME={str(path)!r}", remedy)


def _whole() -> int:
    """The mode of a home."""
    return 0o711 if os.geteuid() == 0 else 0o700


def _keep_private(root: Path, *, is_new: bool) -> None:
    """Take from others what they may do here. Homes of earlier versions could be read by all."""
    for folder, most in ((root, _whole()), *((root / name, 0o700) for name in _PRIVATE)):
        with suppress(FileNotFoundError):
            found = folder.lstat()
            mode = most if is_new else stat.S_IMODE(found.st_mode) & most  # never more than somebody chose
            is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
            if is_ours and mode != stat.S_IMODE(found.st_mode):
                folder.chmod(mode)


def take(path: Path, kind: int, *, waiting_for: str, log: Log) -> int:
    """Take a lock; wait at most PATIENCE_S and say so. Returns the descriptor: closing it releases the lock."""
    descriptor, began, told = _open(path), time.monotonic(), False
    while not _try(descriptor, kind):
        waited = time.monotonic() - began
        if waited > PATIENCE_S:
            os.close(descriptor)
            raise ServiceError(str(path), f"still locked after {PATIENCE_S:.0f} s by {waiting_for}; end it")
        if waited > TELL_AFTER_S and not told:
            log(f"waiting for {waiting_for}")
            told = True
        time.sleep(POLL_S)
    return descriptor


def try_exclusive(descriptor: int) -> bool:
    """Turn a held lock into an exclusive one, or lose it."""
    return _try(descriptor, fcntl.LOCK_EX)


def is_held(path: Path) -> bool:
    """Whether a process holds this lock exclusively. False if home is not there, or was removed meanwhile."""
    try:
        descriptor = owned.open_file(path, os.O_RDWR)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        return not _try(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _try(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open(path: Path) -> int:
    return owned.open_file(path, os.O_RDWR | os.O_CREAT)
