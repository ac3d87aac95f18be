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
        if child.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                os.killpg(child.pid, signal.SIGTERM)
                child.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def wait(children: Sequence[Child], timeout_s: float, tick: Callable[[], None] = lambda: None) -> None:
    """Until all have ended, calling tick every half second. Raises BenchError after the timeout."""
    end = time.monotonic() + timeout_s
    while any(child.poll() is None for child in children):
        if time.monotonic() > end:
            raise BenchError(f"not done after {timeout_s:.0f} s")
        tick()
        time.sleep(0.5)


def tail(log: Path, lines: int = 5) -> str:
    """The end of a log, for an error's message."""
    return "\n".join(log.read_text(errors="replace").strip().splitlines()[-lines:])
