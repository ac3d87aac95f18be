"""Prints how much of each room its tests run, lines and branches together, from what `make coverage` measured.

Exit 1: a room is below its bar.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from coverage import Coverage

BARS = {"app/policy": 95.0, "app/parse": 95.0, "app/crawl": 95.0}  # percent
MOST_NAMED = 5


class Covered(NamedTuple):
    """Lines and branches, and how many of them ran."""

    all: int = 0
    ran: int = 0

    @property
    def percent(self) -> float:
        return 100 * self.ran / self.all if self.all else 100.0

    def plus(self, other: "Covered") -> "Covered":
        return Covered(self.all + other.all, self.ran + other.ran)


def main() -> int:
    with TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        measured = Coverage()
        measured.load()
        measured.json_report(outfile=str(report))
        files = {name: _covered(found["summary"]) for name, found in json.loads(report.read_text())["files"].items()}
    rooms = by_room(files)
    for room, covered in rooms.items():
        print(f"{room:<12}{covered.percent:6.1f} % of {covered.all:,} lines and branches (at least {BARS[room]:g} %)")
    for name in most_missed(files):
        print(f"{name:<44}{files[name].percent:6.1f} %, {files[name].all - files[name].ran} missed")
    return int(any(covered.percent < BARS[room] for room, covered in rooms.items()))


def _covered(summary: Mapping[str, Any]) -> Covered:
    return Covered(
        summary["num_statements"] + summary["num_branches"], summary["covered_lines"] + summary["covered_branches"]
    )


def by_room(files: Mapping[str, Covered]) -> dict[str, Covered]:
    """The sums over the rooms that have a bar. A room without a file counts as not covered at all."""
    rooms: dict[str, Covered] = defaultdict(Covered)
    for room in BARS:
        for name, covered in files.items():
            if name.startswith(f"{room}/"):
                rooms[room] = rooms[room].plus(covered)
    return {room: rooms[room] if room in rooms else Covered(1, 0) for room in BARS}


def most_missed(files: Mapping[str, Covered]) -> list[str]:
    """The files with the most that did not run."""
    worst = sorted(files, key=lambda name: (files[name].ran - files[name].all, name))
    return [name for name in worst[:MOST_NAMED] if files[name].ran < files[name].all]


if __name__ == "__main__":
    sys.exit(main())
