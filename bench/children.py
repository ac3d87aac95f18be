"""Crawlers as child processes: run together, waited for, and ended with their whole group."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.report import BenchError

Child = subprocess.Popen[str]
TERM_S = 20.0


@contextmanager
def group(
    command: Sequence[str], *, log: Path, env: dict[str, str] | None = None, cwd: Path | None = None
) -> Iterator[Child]:
    """A child in a process group of its own; stdout is a pipe, stderr goes to log."""
    with log.open("w") as errors:
        child = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=env,
            cwd=cwd,
            start_new_session=True,
        )
    try:
        yield child
    finally:
        if is_running(child):
            os.killpg(child.pid, signal.SIGTERM)
            end = time.monotonic() + TERM_S
            while is_running(child) and time.monotonic() < end:
                time.sleep(0.1)
        take_leave(child)


def is_running(child: Child) -> bool:
    """Whether it has yet to end. Nobody waits for it here, so that its number, and its group's, stay its own."""
    if child.returncode is not None:
        return False
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def take_leave(child: Child) -> None:
    """Kill what is left of its group, and take its exit code; after that its number may be somebody else's."""
    if child.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def wait(children: Sequence[Child], timeout_s: float, tick: Callable[[], None] = lambda: None) -> None:
    """Until all have ended, calling tick every half second. Raises BenchError after the timeout."""
    end = time.monotonic() + timeout_s
    while any(map(is_running, children)):
        if time.monotonic() > end:
            raise BenchError(f"not done after {timeout_s:.0f} s")
        tick()
        time.sleep(0.5)
    for child in children:
        take_leave(child)


def tail(log: Path, lines: int = 5) -> str:
    """The end of a log, for an error's message."""
    return "\n".join(log.read_text(errors="replace").strip().splitlines()[-lines:])
