"""How a benchmark tells: a plain table on stdout, one JSON line in bench/results/<name>.jsonl."""

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
FIGURES = ROOT / "bench" / "figures.json"
Cell = str | int | float | None


class BenchError(Exception):
    """The benchmark cannot be run, or its run is worth nothing; the message says why and what would do."""


def _text(cell: Cell) -> str:
    match cell:
        case None:
            return "-"
        case float():
            return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:,.3g}"
        case int():
            return f"{cell:,}"
        case _:
            return cell


def table(title: str, rows: Sequence[Mapping[str, Cell]]) -> None:
    """Print rows under the keys of the first."""
    print(f"\n{title}")
    if not rows:
        return
    heads = list(rows[0])
    lines = [heads, *([_text(row[head]) for head in heads] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    for line in lines:
        first, *rest = (
            cell.ljust(w) if n == 0 else cell.rjust(w) for n, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        print("  " + "  ".join([first, *rest]), flush=True)


def _commit() -> str:
    if shutil.which("git") is None:
        return "?"
    run = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return run.stdout.strip()


def save(name: str, result: Mapping[str, object]) -> None:
    """Append the result, with what one needs to judge it later, and say where."""
    RESULTS.mkdir(exist_ok=True)
    machine = {"cores": os.cpu_count(), "load_1min": os.getloadavg()[0], "python": platform.python_version()}
    line = {
        "bench": name,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "machine": machine,
    }
    path = RESULTS / f"{name}.jsonl"
    with path.open("a") as file:
        file.write(json.dumps({**line, **result}) + "\n")
    print(f"  -> {path.relative_to(ROOT)}", flush=True)


def quote(name: str, figures: Mapping[str, str]) -> None:
    """Write the figures that the docs may quote of this bench into bench/figures.json, as they are to be written."""
    known = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    known[name] = {
        "command": " ".join(["python -m bench", *sys.argv[1:]]),
        "machine": f"{os.cpu_count()} cores, {_processor()}, Python {platform.python_version()}",
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
        "figures": dict(figures),
    }
    FIGURES.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")
    print(f"  -> {FIGURES.relative_to(ROOT)}", flush=True)


def _processor() -> str:
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line for line in lines if line.startswith("model name")).partition(": ")[2]
    return platform.machine()
