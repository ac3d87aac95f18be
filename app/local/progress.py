"""Shows a running crawl: one screen, redrawn, on a terminal; elsewhere a line now and then.

It never queries the database: `app.admin.board.pulse` does.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Self, TextIO

from app.admin.board.pulse import MOST_QUEUED, Look
from app.model.reasons import HostWait, words
from app.store.live import HostRow
from app.words import counted, harmless, rounded, sized, told_if_it_can_be

if TYPE_CHECKING:
    from rich.console import Console, Group, RenderableType
    from rich.live import Live
    from rich.text import Text

PLAIN_EVERY_S = 10.0
RATE_OVER_S = 10.0  # at least: from the last look before
BAR_CHARACTERS = 30
LINES_BESIDE_FACTS = 4  # title, heading of the hosts, a blank line, the cursor's


@dataclass(slots=True, kw_only=True)
class LiveView:
    """Context manager that shows a crawl on `stream`, standard error; whether that is a terminal decides the form.

    gap_s     seconds between two requests to one address, which may be longer than a host's delay
    is_quiet  nothing is shown, and no look is due
    """

    gap_s: float = 0.0
    is_quiet: bool = False
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    monotonic: Callable[[], float] = time.monotonic
    _seen: list[tuple[float, int]] = field(default_factory=list)
    _shown_at: float | None = None
    _live: "Live | None" = None
    _size: tuple[int, int] | None = None

    def __enter__(self) -> Self:
        if self.stream.isatty() and not self.is_quiet:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(file=self.stream), auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Leave the last screen standing: what is said from now on stands below it."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def is_due(self) -> bool:
        """Whether a look is shown now. Off a terminal that is seldom."""
        if self.is_quiet or self._live is not None:
            return not self.is_quiet
        return self._shown_at is None or self.monotonic() - self._shown_at >= PLAIN_EVERY_S

    def show(self, look: Look) -> None:
        """Show a look, if it is due and full."""
        if self.is_quiet:
            return
        now = self.monotonic()
        if look.is_full:
            self._seen.append((now, look.pages))
            while len(self._seen) > 2 and now - self._seen[1][0] >= RATE_OVER_S:
                del self._seen[0]
        if self._live is not None:
            self._start_anew_if_resized(self._live.console)
            self._live.update(screen(look, self._rate(look), self._live.console, self.gap_s), refresh=True)
        elif look.is_full and self.is_due():
            with told_if_it_can_be():
                print(line(look, self._rate(look)), file=self.stream, flush=True)
            self._shown_at = now

    def _start_anew_if_resized(self, console: "Console") -> None:
        """Erase a terminal whose size has changed: it broke the lines of the last screen anew, so that nobody knows how
        many there are."""
        if self._size not in (None, tuple(console.size)):
            console.clear()
        self._size = (console.size.width, console.size.height)

    def _rate(self, look: Look) -> float:
        """Pages a second; of a crawl that has just begun by the looks so far."""
        if look.pages_s is not None:
            return look.pages_s
        if not self._seen:
            return 0.0
        (first_at, first), (last_at, last) = self._seen[0], self._seen[-1]
        return max(last - first, 0) / (last_at - first_at) if last_at > first_at else 0.0


def line(look: Look, rate: float) -> str:
    """`docs: 12 pages (1.0/s), 34 queued, 0 failed, 0.1 MB; end in 0:00:48 (max_pages); hosts: 1 being visited`.

    An estimate is marked.
    """
    parts = [
        f"{look.crawl.name}: {counted(look.pages, 'page')} ({rate:.1f}/s), {_queued(look)} queued, "
        f"{_failed(look)} failed, {sized(look.bytes)}"
    ]
    if end := until_budget(look, rate):
        parts.append(end)
    if look.stopped is not None:
        parts.append(f"stopped: {look.stopped}")
    if look.newest is not None:
        parts.append(f"latest: {look.newest}")
    reasons = Counter((host.because, host.waits_for or "its delay") for host in look.hosts).most_common(3)
    if reasons:
        parts.append("hosts: " + ", ".join(_hosts_that(*reason, n) for reason, n in reasons))
    return harmless("; ".join(parts))


def _hosts_that(because: str, wait_for: str, n: int) -> str:
    """`1 being visited`, `2 wait (its delay)`, `1 waits (robots.txt out of reach)`."""
    if because in {HostWait.VISITED, HostWait.PAUSED}:  # these wait for nothing
        return f"{n:,} {wait_for}"
    return f"{n:,} {'waits' if n == 1 else 'wait'} ({because.partition(': ')[2] or wait_for})"


def until_budget(look: Look, rate: float) -> str | None:
    """`end in 0:00:48 (max_pages)`, for the budget that is reached first at this rate; None where there is none."""
    crawl, ends = look.crawl, list[tuple[float, str]]()
    if crawl.max_pages is not None and rate > 0:
        ends.append(((crawl.max_pages - look.pages) / rate, "max_pages"))
    if crawl.max_bytes is not None and rate > 0 and look.pages and look.bytes:
        ends.append(((crawl.max_bytes - look.bytes) / (rate * look.bytes / look.pages), "max_bytes"))
    if crawl.max_seconds is not None:
        ends.append((crawl.max_seconds - crawl.active_s, "max_seconds"))
    if not ends or crawl.state != "active":
        return None
    seconds, budget = min(ends)
    return f"end in {_duration(seconds)} ({budget})"


def share_done(look: Look) -> float | None:
    """Pages as a share of the page budget, else of the pages and what is queued; None where that is not counted."""
    if look.crawl.max_pages is not None:
        return min(look.pages / look.crawl.max_pages, 1.0)
    known = look.pages + look.queued
    return look.pages / known if known and look.queued < MOST_QUEUED else None


def _bar(share: float) -> str:
    """`##########--------------------  33 %`."""
    full = round(share * BAR_CHARACTERS)
    return f"{'#' * full}{'-' * (BAR_CHARACTERS - full)}  {share:.0%}"


def screen(look: Look, rate: float, console: "Console", gap_s: float = 0.0) -> "Group":
    """The lines of the screen, with as many hosts as fit the terminal.   gap_s: as in `LiveView`"""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    crawl = look.crawl
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column(no_wrap=True)
    facts.add_column(overflow="ellipsis", no_wrap=True, max_width=max(console.width - len("stopped  "), 1))
    of = f" of {crawl.max_pages:,}" if crawl.max_pages is not None else ""
    end = until_budget(look, rate)
    facts.add_row("pages", ", ".join([f"{look.pages:,}{of}", f"{rate:.1f}/s", *([end] if end else [])]))
    is_low = console.height < 12  # lines; a lower one has neither the bar nor the newest URL
    if (share := share_done(look)) is not None and not is_low:
        facts.add_row("done", _cell(_bar(share)))
    facts.add_row("so far", f"{sized(look.bytes)}, {_queued(look)} queued")
    facts.add_row("failed", _failures(look))
    if look.newest is not None and not is_low:
        facts.add_row("latest", _cell(look.newest))
    if look.stopped is not None:
        facts.add_row("stopped", harmless(look.stopped))
    title = Text(harmless(f"{crawl.name}  {crawl.state}  {_duration(crawl.active_s)}"), style="bold", no_wrap=True)
    parts: list[RenderableType] = [title, facts]
    room = console.height - LINES_BESIDE_FACTS - facts.row_count
    if look.hosts and room > 0:
        parts.append(_hosts(look.hosts, room, gap_s))
    return Group(*parts)


def _hosts(hosts: Sequence[HostRow], room: int, gap_s: float) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    made.add_column("host")  # cells that are too long are cut; were the columns `no_wrap`, all three would shrink alike
    made.add_column("waits for")
    made.add_column("next", no_wrap=True, justify="right")
    shown = hosts[:room] if len(hosts) <= room else hosts[: room - 1]
    for host in shown:
        made.add_row(_cell(host.host), _cell(_waits_for(host, gap_s)), _next(host))
    if len(shown) < len(hosts):
        made.add_row(Text("… and others", style="dim"), "", "")
    return made


def _cell(text: str) -> "Text":
    from rich.text import Text

    return Text(harmless(text), no_wrap=True, overflow="ellipsis")


def _waits_for(host: HostRow, gap_s: float) -> str:
    """The wait of a host. Of its delay and its address's gap, the longer one rules."""
    delay = f"its delay of {rounded(host.delay_s)} s"
    gap = f"its address's gap of {rounded(gap_s)} s (TIPTOE_ADDRESS_GAP_S)"
    return words(host.waits_for or (gap if host.delay_s < gap_s else delay), host.detail)


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
    classes = [f"{name} {n:,}" for name, n in look.failures[:4]]
    return harmless(_failed(look) + (f"; in the last minute: {', '.join(classes)}" if classes else ""))


def _failed(look: Look) -> str:
    return f"{look.failed:,}" if look.is_exact else f"about {look.failed:,}"


def _queued(look: Look) -> str:
    return f"over {look.queued:,}" if look.queued >= MOST_QUEUED else f"{look.queued:,}"


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=max(round(seconds), 0)))
