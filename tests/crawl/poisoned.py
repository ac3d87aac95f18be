"""Readers whose parser is poisoned: tests/faults/poison/sitecustomize.py says what a document may hold."""

import os
import sys
from pathlib import Path

from app.sandbox.readers import Readers

ROOT = Path(__file__).parents[2]
CODE = f"""
import runpy, socket, sys
sys.path.insert(0, {str(ROOT)!r})
runpy.run_path({str(ROOT / "tests" / "faults" / "poison" / "sitecustomize.py")!r})
from app.sandbox.reader import main
from app.sandbox.wire import Wire
main(Wire(socket.socket(fileno=int(sys.argv[1]))), int(sys.argv[2]))
"""
MEMORY_BYTES = 512 * 1024 * 1024
HTML = "text/html; charset=utf-8"


def poisoned_readers(**changes: object) -> Readers:
    """deadline_s is 0.5; what else Readers takes may be given."""
    options = {"deadline_s": 0.5, "memory_bytes": MEMORY_BYTES, "argv": (sys.executable, "-c", CODE), **changes}
    return Readers(**options)  # type: ignore[arg-type]


def poison(deed: str) -> str:
    """A document."""
    return f"<!doctype html><title>Poison</title><p>POISON:{deed}<p>Take care."


def reader_pids() -> set[int]:
    """Readers of this process, dead ones that nobody waited for too."""
    return {pid for pid in children() if _is_reader(pid)}


def children() -> set[int]:
    """Of this process, whatever they are."""
    while True:
        try:
            return {
                int(pid)
                for task in Path("/proc/self/task").iterdir()
                for pid in (task / "children").read_text().split()
            }
        except OSError:
            continue  # a thread ended while we looked


def _is_reader(pid: int) -> bool:
    """The dead have no command line any more: told by what they were, Python leading a group of its own in our
    session."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
    except OSError:
        return False
    _, _, group, session = rest.split()[:4]
    if line:
        return b"app.sandbox.reader" in line
    return name.startswith("python") and int(group) == pid and int(session) == os.getsid(0)
