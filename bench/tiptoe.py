"""Tiptoe as a user runs it: `tiptoe crawl` with a fresh TIPTOE_HOME, two worker processes, embedded services.

Starting and stopping those services is not in the figures, which begin with the first request at the
origin. What the command leaves running is counted and ended here: a process is ours if its environment
names our home.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bench.children import group, tail, wait
from bench.report import ROOT, BenchError

COMMAND = Path(sys.executable).with_name("tiptoe")


# Nothing waits here: with delay 0 on loopback more threads only pass the interpreter's lock around (32: a quarter
# slower).
THREADS = "3"


def unhurried(*, is_lean: bool) -> dict[str, str]:
    """Settings of a crawl that waits for nothing: what the software costs, and not how it should be used."""
    return {
        "TIPTOE_DEFAULT_DELAY_S": "0",
        "TIPTOE_ADDRESS_GAP_S": "0",
        "TIPTOE_CONSTANT_LATENCY_FACTOR": "0",
        "TIPTOE_KEEP_TEXT": "0" if is_lean else "1",
        "TIPTOE_CONCURRENCY": THREADS,
    }


class Seeded(Protocol):
    """A web: what to begin with."""

    @property
    def seeds(self) -> list[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What the command said on its last line, and how many processes it left running (should be none)."""

    said: dict[str, Any]
    left_running: int


@contextmanager
def fresh_home() -> Iterator[Path]:
    """A temporary TIPTOE_HOME; whatever still runs for it at the end is ended."""
    home = Path(tempfile.mkdtemp(prefix="tiptoe-bench-home-"))
    home.chmod(0o711)  # as root Postgres runs as nobody, who must get in
    try:
        yield home
    finally:
        for pid in processes(home):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(home, ignore_errors=True)


def crawl(
    web: Seeded,
    home: Path,
    *,
    env: dict[str, str],
    arguments: tuple[str, ...] = (),
    timeout_s: float,
    tick: Callable[[], None] = lambda: None,
) -> Result:
    """One crawl of the web's hosts to its end. Raises BenchError."""
    if not COMMAND.exists():
        raise BenchError(f"no {COMMAND}; install Tiptoe into this environment: pip install -e '.[local]'")
    command = [str(COMMAND), "crawl", *web.seeds, "--scope", "host", "--name", "bench", "--json", *arguments]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TIPTOE_")}
    ours = {"TIPTOE_HOME": str(home), "TIPTOE_ALLOW_NETWORKS": "127.0.0.0/8", "TIPTOE_PROCESSES": "2"}
    ours |= {"TIPTOE_CONSTANT_SERVICES_STAY_S": "0"}
    log = home.with_suffix(".log")
    try:
        with group(command, log=log, env={**clean, **ours, **env}, cwd=ROOT) as child:
            wait([child], timeout_s, tick)
            lines = (child.stdout.read() if child.stdout else "").strip().splitlines()
            if child.returncode:
                raise BenchError(f"tiptoe crawl ended with {child.returncode}: {tail(log)}")
        left = len(processes(home))
        try:
            return Result(said=json.loads(lines[-1]), left_running=left)
        except (IndexError, ValueError) as error:
            raise BenchError(f"tiptoe crawl --json: its last line is no JSON object: {lines[-1:]}") from error
    finally:
        log.unlink(missing_ok=True)


def processes(home: Path) -> list[int]:
    """Living processes whose environment or command names this home (which is new, so that they are ours)."""
    wanted = str(home).encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (folder / "environ").read_bytes() or wanted in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


def workers_rss(home: Path) -> dict[int, float]:
    """Resident MiB of each Celery worker process of this home, by process id."""
    found = {}
    for pid in processes(home):
        with suppress(OSError, StopIteration):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"worker" in words and any(b"celery" in word for word in words):
                status = Path(f"/proc/{pid}/status").read_text().splitlines()
                found[pid] = int(next(line for line in status if line.startswith("VmRSS:")).split()[1]) / 1024
    return found
