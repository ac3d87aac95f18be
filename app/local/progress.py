"""What a person sees of a running crawl: pages, rate, what hosts wait for, errors; plain lines when nobody watches."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TextIO

from app.store.crawls import Totals

PLAIN_EVERY_S = 10.0
RATE_OVER_S = 10.0
_WORDS = {
    "visited": "being visited",
    "delay": "wait their delay",
    "turn": "wait for a worker",
    "paused": "paused",
}


@dataclass(slots=True, kw_only=True)
class Progress:
    """Shows totals as they come. stream: standard error; a terminal gets one live line, anything else a line now and then."""

    name: str
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _seen: list[tuple[float, int]] = field(default_factory=list)
    _shown_at: float | None = None
    _width: int = 0

    def show(self, totals: Totals, queued: str, waiting: Sequence[tuple[str, int]]) -> None:
        """waiting: (reason, hosts). queued: as it is to be read ("over 10,000")."""
        now = time.monotonic()
        self._seen = [(at, pages) for at, pages in self._seen if now - at <= RATE_OVER_S] + [(now, totals.pages)]
        line = self._line(totals, queued, waiting)
        if self.stream.isatty():
            self.stream.write("\r" + line.ljust(self._width))
            self._width = len(line)
            self.stream.flush()
        elif self._shown_at is None or now - self._shown_at >= PLAIN_EVERY_S:
            print(line, file=self.stream, flush=True)
            self._shown_at = now

    def end(self) -> None:
        """Leave the live line standing."""
        if self.stream.isatty() and self._width:
            print(file=self.stream)

    def _line(self, totals: Totals, queued: str, waiting: Sequence[tuple[str, int]]) -> str:
        hosts = ", ".join(f"{count} {_WORDS.get(reason, 'rest: ' + reason)}" for reason, count in waiting)
        return (
            f"{self.name}: {totals.pages:,} pages ({self._rate():.1f}/s), {queued} queued, {totals.failed:,} failed, "
            f"{totals.bytes / 1e6:,.1f} MB" + (f" | hosts: {hosts}" if hosts else "")
        )

    def _rate(self) -> float:
        (first_at, first), (last_at, last) = self._seen[0], self._seen[-1]
        return (last - first) / (last_at - first_at) if last_at > first_at else 0.0
