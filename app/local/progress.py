"""What a person sees of a running crawl: at most a screen that is drawn anew; a line now and then where no terminal is.

It asks nothing of the database: `Look` is what a look at it found.
"""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Self, TextIO

from app.store.progress import Counts, HostRow
from app.words import counted, harmless, rounded

if TYPE_CHECKING:
    from rich.console import Console, Group, RenderableType
    from rich.live import Live

PLAIN_EVERY_S = 10.0
RATE_OVER_S = 30.0
MOST_CLASSES = 4
MOST_REASONS = 3
LINES_BESIDE_HOSTS = 7  # title, three facts, heading, a blank line, the cursor's


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """queued: as it is to be read ("over 10,000").   failures: (class, requests) of the last minute."""

    counts: Counts
    queued: str
    failures: Sequence[tuple[str, int]]
    hosts: Sequence[HostRow]


@dataclass(slots=True, kw_only=True)
class Progress:
    """Context manager. stream: standard error, and whether it is a terminal decides."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _seen: list[tuple[float, int]] = field(default_factory=list)
    _shown_at: float | None = None
    _live: "Live | None" = None

    def __enter__(self) -> Self:
        if self.stream.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(file=self.stream), auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last screen standing."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def show(self, look: Look) -> None:
        now = time.monotonic()
        pages = look.counts.pages
        self._seen = [(at, seen) for at, seen in self._seen if now - at <= RATE_OVER_S] + [(now, pages)]
        if self._live is not None:
            self._live.update(screen(look, self._rate(), self._live.console), refresh=True)
        elif self._shown_at is None or now - self._shown_at >= PLAIN_EVERY_S:
            print(line(look, self._rate()), file=self.stream, flush=True)
            self._shown_at = now

    def _rate(self) -> float:
        (first_at, first), (last_at, last) = self._seen[0], self._seen[-1]
        return max(last - first, 0) / (last_at - first_at) if last_at > first_at else 0.0


def line(look: Look, rate: float) -> str:
    """`docs: 12 pages (1.0/s), 34 queued, 0 failed, 0.1 MB; end in 0:00:48 (max_pages); hosts: 1 being visited`."""
    counts = look.counts
    parts = [
        f"{counts.name}: {counted(counts.pages, 'page')} ({rate:.1f}/s), {look.queued} queued, {counts.failed:,} failed, "
        f"{_size(counts.bytes)}"
    ]
    if end := until_budget(counts, rate):
        parts.append(end)
    reasons = Counter(host.waits_for for host in look.hosts).most_common(MOST_REASONS)
    if reasons:
        parts.append("hosts: " + ", ".join(f"{n} {reason}" for reason, n in reasons))
    return harmless("; ".join(parts))


def until_budget(counts: Counts, rate: float) -> str | None:
    """`end in 0:00:48 (max_pages)`: by the budget that is reached first at this rate; None where there is none to reckon by."""
    ends: list[tuple[float, str]] = []
    if counts.max_pages is not None and rate > 0:
        ends.append(((counts.max_pages - counts.pages) / rate, "max_pages"))
    if counts.max_bytes is not None and rate > 0 and counts.pages and counts.bytes:
        ends.append(((counts.max_bytes - counts.bytes) / (rate * counts.bytes / counts.pages), "max_bytes"))
    if counts.max_seconds is not None:
        ends.append((counts.max_seconds - counts.active_s, "max_seconds"))
    if not ends or counts.state != "active":
        return None
    seconds, budget = min(ends)
    return f"end in {_duration(seconds)} ({budget})"


def screen(look: Look, rate: float, console: "Console") -> "Group":
    """As many hosts as the terminal has lines left for."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    counts = look.counts
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column(no_wrap=True)
    facts.add_column(overflow="ellipsis", no_wrap=True)
    of = f" of {counts.max_pages:,}" if counts.max_pages is not None else ""
    end = until_budget(counts, rate)
    brought = [f"{counts.pages:,}{of}", f"{rate:.1f}/s", *([end] if end else [])]
    facts.add_row("pages", ", ".join(brought))
    facts.add_row("so far", f"{_size(counts.bytes)}, {look.queued} queued, {counted(counts.hosts, 'host')} asked")
    facts.add_row("failed", _failures(look))
    title = Text(harmless(f"{counts.name}  {counts.state}  {_duration(counts.active_s)}"), style="bold", no_wrap=True)
    parts: list[RenderableType] = [title, facts]
    room = console.height - LINES_BESIDE_HOSTS
    if look.hosts and room > 0:
        parts.append(_hosts(look.hosts, room))
    return Group(*parts)


def _hosts(hosts: Sequence[HostRow], room: int) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    made.add_column("host", ratio=5, no_wrap=True, overflow="ellipsis")
    made.add_column("waits for", ratio=4, no_wrap=True, overflow="ellipsis")
    made.add_column("next", no_wrap=True, justify="right")
    shown = hosts[:room] if len(hosts) <= room else hosts[: room - 1]
    for host in shown:
        made.add_row(Text(harmless(host.host)), Text(harmless(_waits_for(host))), _next(host))
    if len(shown) < len(hosts):
        made.add_row(Text("… and others", style="dim"), "", "")
    return made


def _waits_for(host: HostRow) -> str:
    return f"its delay of {rounded(host.delay_s)} s" if host.waits_for == "its delay" else host.waits_for


def _next(host: HostRow) -> str:
    if host.next_s is None:
        return ""
    return (
        "now"
        if host.next_s <= 0
        else f"in {_duration(host.next_s)}"
        if host.next_s >= 10
        else f"in {host.next_s:.1f} s"
    )


def _failures(look: Look) -> str:
    classes = [f"{name} {n:,}" for name, n in look.failures[:MOST_CLASSES]]
    return harmless(f"{look.counts.failed:,}" + (f"; in the last minute: {', '.join(classes)}" if classes else ""))


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=max(round(seconds), 0)))


def _size(n: int) -> str:
    return f"{n / 1e6:,.1f} MB" if n >= 1e6 else f"{n / 1e3:,.1f} kB"
