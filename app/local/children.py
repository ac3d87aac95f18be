"""Child processes that never outlive us: how they are born and how they are ended.

A child leads its own process group, so a terminal's Ctrl-C reaches us alone and we decide the order of
leaving. Linux tells it when we die, even by SIGKILL (`PR_SET_PDEATHSIG`, prctl(2)). Two things to mind: the
kernel sends that signal when the parent *thread* ends, so spawn from a thread that stays, best the main one;
and macOS has nothing like it, so there a child of a killed parent goes on (the servers do not: see
`app.local.supervisor`).
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

PR_SET_PDEATHSIG = 1  # linux/prctl.h
LOG_BYTES_MAX = 8 * 1024 * 1024  # a log beyond this becomes `<name>.1` at the next start
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None  # looked up here: not safe after a fork


def spawn(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    log_path: Path,
    death_signal: int,
    user: int | None = None,
    group: int | None = None,
    cwd: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start argv in its own process group, its output appended to log_path, nothing on its stdin.

    death_signal: what it gets when our thread dies (Linux).   user, group: ids to become, for root only.
    Raises OSError if argv[0] cannot be run.
    """
    _rotate(log_path)
    with log_path.open("ab") as log:
        return subprocess.Popen(
            argv,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
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
    """The same of one that was asked already: a second signal could meet it in the handler of the first."""
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        _kill_group(process.pid)
        process.wait()


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


def _rotate(log_path: Path) -> None:
    if log_path.exists() and log_path.stat().st_size > LOG_BYTES_MAX:
        log_path.replace(log_path.with_name(log_path.name + ".1"))
