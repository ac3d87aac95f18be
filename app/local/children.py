"""Starts and stops child processes that never outlive us.

A child leads its own process group, so a terminal's Ctrl-C reaches us alone and we decide in which order children
end. Linux signals it when we die, even by SIGKILL (`PR_SET_PDEATHSIG`, prctl(2)). Two caveats: the kernel sends that
signal when the parent *thread* ends, so spawn from a thread that stays, best the main one; and macOS has nothing like
it, so there a child of a killed parent keeps running (the servers do not: see `app.local.supervisor`).
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO

from app import owned

PR_SET_PDEATHSIG = 1  # linux/prctl.h
LOG_BYTES_MAX = 8 * 1024 * 1024  # a log beyond this becomes `<name>.1` at the next start
LOG_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_interrupts: list[int] = []  # signals that came in an `interruptible`
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None  # looked up here: not safe after a fork


def spawn(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    log_path: Path | None,
    death_signal: int,
    user: int | None = None,
    group: int | None = None,
    cwd: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start argv in its own process group, its output appended to log_path (None: to ours), nothing on its stdin.

    death_signal: sent to it when our thread dies (Linux).   user, group: ids to become, for root only.
    Raises OSError if argv[0] cannot be run.
    """
    with _log(log_path) as log, _interrupts_deferred():
        return subprocess.Popen(
            argv,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=None if log is None else subprocess.STDOUT,
            process_group=0,
            user=user,
            group=group,
            extra_groups=None if user is None else [],
            # Runs after the change of user, which would have cleared the signal.
            preexec_fn=_die_with(os.getpid(), death_signal),
        )


def stop(process: subprocess.Popen[bytes], *, signal: int, timeout_s: float) -> None:
    """Ask the child to end, wait, and kill its whole group if it does not. Returns when it is gone."""
    if process.poll() is None:
        process.send_signal(signal)
    await_end(process, timeout_s=timeout_s)


def await_end(process: subprocess.Popen[bytes], *, timeout_s: float) -> None:
    """Wait for a child that was signalled already, and kill its group if it does not end.

    It sends no second signal, which could interrupt the handler of the first."""
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        _kill_group(process.pid)
        process.wait()


@contextmanager
def interruptible() -> Iterator[None]:
    """Context in which SIGTERM, and SIGHUP of a terminal that closes, end us like Ctrl-C. `nohup` is respected.

    Python drops what is raised in a callback of the garbage collector or of an import, a KeyboardInterrupt too: who
    loops calls `heed_interrupts`.
    """
    _interrupts.clear()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    taken = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in taken:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)
        _interrupts.clear()


def heed_interrupts() -> None:
    """Raise the KeyboardInterrupt of a signal that came, in case it was dropped. Nothing without `interruptible`."""
    if _interrupts:
        raise KeyboardInterrupt


def _interrupt(number: int, _: object) -> None:
    _interrupts.append(number)
    raise KeyboardInterrupt


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Run the handlers of SIGINT, SIGTERM and SIGHUP after the fork.

    In a hook of the fork (`os.register_at_fork`) Python would drop the KeyboardInterrupt that they raise, and so a
    Ctrl-C."""
    arrived: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        for number, handler in before.items():
            if callable(handler):
                signal.signal(number, lambda caught, _: arrived.append(caught))
        yield
    finally:
        for number, handler in before.items():
            if callable(handler):
                signal.signal(number, handler)
        for caught in arrived:
            signal.raise_signal(caught)


def _die_with(parent: int, death_signal: int) -> Callable[[], None]:
    def in_child() -> None:
        if _prctl is not None:
            _prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
            if os.getppid() != parent:  # the parent died before the kernel knew
                os._exit(1)

    return in_child


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


def _log(log_path: Path | None) -> AbstractContextManager[BinaryIO | None]:
    if log_path is None:
        return nullcontext()
    if log_path.exists() and log_path.lstat().st_size > LOG_BYTES_MAX:
        log_path.replace(log_path.with_name(log_path.name + ".1"))
    return os.fdopen(owned.open_file(log_path, LOG_FLAGS), "ab")
