"""What a person sees of a running crawl: pages, rate, what hosts wait for, errors; plain lines when nobody watches."""

import sys
import time
from dataclasses import dataclass, field
from typing import TextIO

from app.crawl.live import MOST_QUEUED, Look

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
    """Shows looks as they come. stream: standard error; a terminal gets one live line, anything else a line now and then."""

    name: str
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _seen: list[tuple[float, int]] = field(default_factory=list)
    _shown_at: float | None = None
    _width: int = 0

    def show(self, look: Look) -> Look:
        """The same look, for whoever has more to do with it."""
        now = time.monotonic()
        if look.is_whole:
            self._seen = [(at, pages) for at, pages in self._seen if now - at <= RATE_OVER_S] + [(now, look.pages)]
        line = self._line(look)
        if self.stream.isatty():
            self.stream.write("\r" + line.ljust(self._width))
            self._width = len(line)
            self.stream.flush()
        elif self._shown_at is None or now - self._shown_at >= PLAIN_EVERY_S:
            print(line, file=self.stream, flush=True)
            self._shown_at = now
        return look

    def end(self) -> None:
        """Leave the live line standing."""
        if self.stream.isatty() and self._width:
            print(file=self.stream)

    def _line(self, look: Look) -> str:
        """Numbers that are not whole are too low, and are said to be."""
        hosts = ", ".join(f"{count:,} {_WORDS.get(reason, 'rest: ' + reason)}" for reason, count in look.waiting)
        over = "" if look.is_whole else "over "
        queued = f"over {look.queued:,}" if look.queued >= MOST_QUEUED else f"{look.queued:,}"
        return (
            f"{self.name}: {over}{look.pages:,} pages ({self._rate():.1f}/s), {queued} queued, {look.failed:,} failed, "
            f"{look.bytes / 1e6:,.1f} MB" + (f" | hosts: {hosts}" if hosts else "")
        )

    def _rate(self) -> float:
        if not self._seen:
            return 0.0
        (first_at, first), (last_at, last) = self._seen[0], self._seen[-1]
        return (last - first) / (last_at - first_at) if last_at > first_at else 0.0
