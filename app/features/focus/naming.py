"""Raises the score of a URL that waits, where further pages that name it say that it is worth more (promise S3).

Most URLs of a site are named first by a table of contents, which is about anything. What counts is the mean relevance
of all pages that name a URL, and the best of their anchors. Only URLs of the visited host are raised: nobody else
writes them. Nothing is lowered, and nothing changes its lane.

The memory is a table of fixed size, of which most URLs of a visited host fit: one that it does not know keeps the score
that it has.
"""

from array import array
from typing import NamedTuple

from app.crawl.state.part import SettlePart
from app.crawl.state.seen import TAG_AND_SLOT
from app.crawl.state.settling import Settling
from app.policy.focus.score import Parts
from app.store import urls
from app.store.url_rows import Raise

_MOST_COUNTED = 65_000  # threads may count at once beyond it; "H" holds 65,535


class Named(NamedTuple):
    """A URL that pages name.   relevance: their mean, 0 to 1;   parts: of its score, packed"""

    relevance: float
    parts: int


class Namings:
    """A direct-mapped table: a new URL evicts the one in its slot. 1.2 MB, made when the first is noted."""

    SLOTS = 1 << 16

    def __init__(self) -> None:
        self._tags = array("Q")
        self._sums, self._counts, self._parts = array("f"), array("H"), array("i")

    def hear(self, crawl_id: int, key: bytes, relevance: float) -> Named | None:
        """One more page of so much relevance names the URL. None: it is not known."""
        slot, tag = self._place(crawl_id, key)
        if not self._tags or self._tags[slot] != tag:
            return None
        if self._counts[slot] < _MOST_COUNTED:
            self._counts[slot] += 1
            self._sums[slot] += relevance
        return Named(min(self._sums[slot] / self._counts[slot], 1.0), self._parts[slot])

    def note(self, crawl_id: int, key: bytes, relevance: float, parts: int) -> None:
        """Remember a URL that a page of so much relevance is the first to name, as far as is known."""
        if not self._tags:
            self._sums = array("f", [0]) * self.SLOTS
            self._counts, self._parts = array("H", [0]) * self.SLOTS, array("i", [0]) * self.SLOTS
            self._tags = array("Q", [0]) * self.SLOTS
        slot, tag = self._place(crawl_id, key)
        self._tags[slot], self._sums[slot], self._counts[slot], self._parts[slot] = tag, relevance, 1, parts

    def raised(self, crawl_id: int, key: bytes, parts: int) -> None:
        """Note the parts of its score from now on."""
        slot, tag = self._place(crawl_id, key)
        if self._tags and self._tags[slot] == tag:
            self._parts[slot] = parts

    def clear(self) -> None:
        """Forget all. The table stays as large as it is: other threads may be looking into it."""
        if self._tags:
            self._tags = array("Q", [0]) * self.SLOTS

    def _place(self, crawl_id: int, key: bytes) -> tuple[int, int]:
        tag, slot = TAG_AND_SLOT(key)
        return (slot ^ crawl_id) % self.SLOTS, tag ^ crawl_id or 1


def raised_row(host_id: int, crawl_id: int, key: bytes, parts: Parts) -> Raise:
    return {
        "host_id": host_id,
        "crawl_id": crawl_id,
        "key": key,
        "score": parts.score,
        "score_parts": parts.packed(),
    }


def _write(settling: Settling) -> None:
    last = {(row["crawl_id"], row["key"]): row for row in settling.rows(RAISES)}
    urls.raise_scores(settling.tx, list(last.values()))


RAISES: SettlePart[Raise] = SettlePart(name="raises", rank=30, write=_write, words=lambda _: "a raised score")
