"""Joins or starts an embedded server, Postgres or Valkey, and leaves it.

A `Server` defines its data, its configuration and how to recognise it when it answers. This module decides how
several commands share it, with the locks of `app.local.home` and a process from `app.local.supervisor`. The last user
stops it, or leaves it running for the next one: its keeper ends it after `stay_s` without a user.
"""

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from app import owned
from app.errors import ServiceError
from app.local.children import LOG_FLAGS
from app.local.home import POLL_S, TELL_AFTER_S, Home, Log, is_held, take, try_exclusive
from app.local.supervisor import Recipe, keeper_id, keeper_version, server_environment

READY_S = 300.0  # crash recovery replays up to max_wal_size
STARTS = 3
ORPHAN_S = 60.0
TAIL_LINES = 3


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
    return " | ".join(line.strip() for line in lines[-TAIL_LINES:]) or "(empty)"
