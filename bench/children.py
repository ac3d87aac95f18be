"""Crawlers as child processes: run together, waited for, and ended with their whole group."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
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


def together(
    name: str,
    commands: Sequence[Sequence[str]],
    timeout_s: float,
    *,
    env: Mapping[str, str] | None = None,
    tick: Callable[[], None] = lambda: None,
) -> None:
    """Run them side by side to their ends; env: beside ours. Raises BenchError where one fails."""
    with tempfile.TemporaryDirectory(prefix="tiptoe-bench-") as folder, ExitStack() as stack:
        logs = [Path(folder) / f"{n}.log" for n in range(len(commands))]
        whole = {**os.environ, **(env or {})}
        children = [
            stack.enter_context(group(command, log=log, cwd=Path(folder), env=whole))
            for command, log in zip(commands, logs, strict=True)
        ]
        wait(children, timeout_s, tick)
        for child, log in zip(children, logs, strict=True):
            if child.returncode:
                raise BenchError(f"{name} failed: {tail(log)}")


def installed(home: Path, package: str, extras: str = "") -> Path:
    """The python of an environment of its own with this package, made at the first run. Raises BenchError."""
    python, done = home / "bin" / "python", home / "installed"
    if not done.exists():
        print(f"  installing {package} into {home.parent.name}/{home.name} …", flush=True)
        for command in (
            [sys.executable, "-m", "venv", str(home)],
            [str(python), "-m", "pip", "install", "-q", package + extras],
        ):
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode:
                why = run.stderr.strip()[-300:]
                raise BenchError(f"{package} could not be installed (leave it out with --only): {why}")
        done.touch()
    return python


def version_of(python: Path, package: str) -> str:
    asked = [str(python), "-c", f"import {package}; print({package}.__version__)"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def tail(log: Path, lines: int = 5) -> str:
    """The end of a log, for an error's message."""
    return "\n".join(log.read_text(errors="replace").strip().splitlines()[-lines:])
