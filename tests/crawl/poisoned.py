"""Readers whose parser is poisoned: tests/faults/poison/sitecustomize.py says what a document may hold."""

import sys
from pathlib import Path

from app.crawl.readers import Readers

ROOT = Path(__file__).parents[2]
CODE = f"""
import runpy, sys
sys.path.insert(0, {str(ROOT)!r})
runpy.run_path({str(ROOT / "tests" / "faults" / "poison" / "sitecustomize.py")!r})
from app.crawl.reader import main
main(int(sys.argv[1]))
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
    return {int(pid) for pid in _children() if _is_reader(pid)}


def _children() -> list[str]:
    tasks = Path("/proc/self/task")
    return [pid for task in tasks.iterdir() for pid in (task / "children").read_text().split()]


def _is_reader(pid: str) -> bool:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return not line or b"app.crawl.reader" in line
