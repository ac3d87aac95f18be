"""URL keys whose rows are committed, so that a link seen before needs no round trip."""

import math
from array import array
from struct import Struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


_TAG_AND_SLOT = Struct("<QI").unpack_from


class KnownKeys:
    """Keys whose rows are committed: a link seen before needs no round trip (SPEC F12).

    A direct-mapped table of fixed size: a newcomer evicts whoever has its slot, so memory is flat from the start. A key
    counts as known by 64 bits beside the 18 of its slot, all of SHA-256: a false "known" is out of reach of chance.
    """

    SLOTS = 1 << 18  # 2 MiB
    KEPT_S = 3_600.0

    def __init__(self) -> None:
        self._tags = array("Q", bytes(8 * self.SLOTS))
        self._until = -math.inf

    def has(self, crawl_id: int, key: bytes) -> bool:
        slot, tag = self._place(crawl_id, key)
        return self._tags[slot] == tag

    def add(self, crawl_id: int, key: bytes) -> None:
        slot, tag = self._place(crawl_id, key)
        self._tags[slot] = tag

    def forget(self, crawl_id: int, key: bytes) -> None:
        """Its row is gone: a link to it is new again."""
        slot, tag = self._place(crawl_id, key)
        if self._tags[slot] == tag:
            self._tags[slot] = 0

    def forget_all(self) -> None:
        self._tags = array("Q", bytes(8 * self.SLOTS))

    def renew(self, now: float) -> None:
        """Rows may have left the frontier by other processes: whatever is known is known for an hour."""
        if now >= self._until:
            self._until = now + self.KEPT_S
            self.forget_all()

    def _place(self, crawl_id: int, key: bytes) -> tuple[int, int]:
        tag, slot = _TAG_AND_SLOT(key)
        return (slot ^ crawl_id) % self.SLOTS, tag ^ crawl_id or 1
