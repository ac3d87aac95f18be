"""What every fault test found, printed at the end and written as the table of docs/reliability.md between two marks.

A row travels from a test to the end of the session as one of its `user_properties`, which pytest-xdist carries too.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"
PROPERTY = "fault"
HEAD = ("test", "form", "fault", "requests", "missed", "repeats", "least gap", "recovered", "verdict", "besides")
_SHOWN = ("requests", "missed", "repeats", "repeats_allowed", "gap_min_s", "recovered_s")


@dataclass(slots=True, kw_only=True)
class Row:
    """One test. fault: what was done, in words.   form: quick or long."""

    name: str
    fault: str
    form: str
    seed: int
    figures: dict[str, Any] = field(default_factory=dict)
    verdict: str = "failed"
    seconds: float = 0.0


def rows(reports: Iterable[Any]) -> list[Row]:
    """Of pytest's reports of calls, in the order of the tests' names."""
    found = []
    for report in reports:
        for name, value in getattr(report, "user_properties", ()):
            if name == PROPERTY and report.when == "call":
                verdict = "known gap" if hasattr(report, "wasxfail") else report.outcome
                found.append(Row(**{**value, "verdict": verdict, "seconds": report.duration}))
    return sorted(found, key=lambda row: _by_number(row.name))


def _by_number(name: str) -> list[tuple[int, str]]:
    """FT2 before FT10."""
    return [(int(digits or 0), words) for words, digits in re.findall(r"(\D*)(\d*)", name)]


def table(found: Iterable[Row], kept: Iterable[str] = ()) -> str:
    """Markdown. kept: lines of an older table; they stay where there is no newer one of the same test."""
    lines = {_name(line): line for line in kept} | {row.name: _line(row) for row in found}
    head = [f"| {' | '.join(HEAD)} |", f"|{' --- |' * len(HEAD)}"]
    return "\n".join([*head, *(lines[name] for name in sorted(lines, key=_by_number))])


def _name(line: str) -> str:
    return line.split("|")[1].strip()


def _line(row: Row) -> str:
    figures = row.figures
    besides = [
        f"{name.replace('_', ' ')} {value}"
        for name, value in figures.items()
        if name not in _SHOWN and _tells(name, value)
    ]
    cells = (
        row.name,
        row.form,
        row.fault,
        figures.get("requests", ""),
        figures.get("missed", ""),
        f"{figures['repeats']} of {figures['repeats_allowed']}" if "repeats_allowed" in figures else "",
        f"{figures['gap_min_s']} s" if "gap_min_s" in figures else "",
        f"{figures['recovered_s']} s" if "recovered_s" in figures else "",
        row.verdict,
        "; ".join(besides),
    )
    return f"| {' | '.join(str(cell) for cell in cells)} |"


_QUIET = {
    "open",
    "ended",
    "doubled",
    "strange",
    "settled_unseen",
    "stored_unseen",
    "gaps_short",
    "disallowed",
    "before_robots",
    "written_twice",
    "unleased",
    "stale_leases",
    "idle_in_transaction",
    "fenced",
    "unread",
    "mended",
}
_DULL = {"most_lines", "concurrent", "robots_most", "counted", "resumed_s", "rss"}


def _tells(name: str, value: object) -> bool:
    """Figures that are as they have to be are left out."""
    return name not in _DULL and not (name in _QUIET and not value)


def write(path: Path, found: Iterable[Row]) -> None:
    """Between the marks; what stands around them stays, and so do the rows of tests that did not run."""
    text = path.read_text()
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    assert after, f"{path} has no marks"
    kept = [line for line in old.splitlines() if line.startswith("| FT")]
    path.write_text(f"{before}{BEGIN}\n{table(found, kept)}\n{END}{after}")
