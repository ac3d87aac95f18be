"""A process's memory of the bodies that its archive holds, and where: the next answer with the same one is a revisit.

Records lie one after another in a ring of bytes, which is as large from the start as it will ever be; a table finds
them by digest. As objects in a map, ten thousand took 7 MB, filled late, and left holes where they were replaced.
"""

import threading
from array import array
from datetime import UTC, datetime, timedelta
from struct import Struct
from typing import NamedTuple

from app.store.captures import Original

_HEAD = Struct("<q32sqqI")  # crawl, digest, capture, microseconds since 1970, bytes of the URL
_SLOT = Struct("<I").unpack_from
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)


class HeldBody(NamedTuple):
    """A capture that holds a body: what a revisit says of it."""

    id: int
    url: str
    fetched_at: datetime
    payload_sha256: bytes


def held(original: Original) -> HeldBody:
    return HeldBody(original.id, original.url, original.fetched_at, original.payload_sha256)


class KnownBodies:
    """The last bodies that were archived: some 10,000, by the length of their URLs. Threads share it."""

    BYTES = 3 << 19  # 1.5 MiB
    SLOTS = 1 << 15  # 0.25 MiB; of two bodies with one slot the later is known

    def __init__(self, size: int = BYTES) -> None:
        self._ring = bytearray(b"\0") * size  # written, so that its memory is there from the start
        self._begins = array("Q", bytes(8 * self.SLOTS))  # by slot: 1 + bytes written before its record; 0: none
        self._written = 0
        self._lock = threading.Lock()

    def put(self, crawl_id: int, body: HeldBody) -> None:
        """Remember a body. It takes the place of the oldest ones."""
        url = body.url.encode("utf-8", "surrogatepass")
        ticks = (body.fetched_at - _BEGINNING) // _TICK
        record = _HEAD.pack(crawl_id, body.payload_sha256, body.id, ticks, len(url)) + url
        size, length = len(self._ring), len(record)
        if length > size:
            return
        with self._lock:
            at = self._written % size
            if at + length > size:  # a record is in one piece
                self._written += size - at
                at = 0
            self._ring[at : at + length] = record
            self._written += length
            self._begins[self._slot(crawl_id, body.payload_sha256)] = self._written - length + 1

    def get(self, crawl_id: int, payload_sha256: bytes) -> HeldBody | None:
        """The capture of this crawl that holds a body with this digest."""
        size = len(self._ring)
        with self._lock:
            begun = self._begins[self._slot(crawl_id, payload_sha256)] - 1
            if begun < 0 or self._written - begun > size:
                return None
            at = begun % size
            of_crawl, digest, id, ticks, length = _HEAD.unpack_from(self._ring, at)
            if of_crawl != crawl_id or digest != payload_sha256:
                return None
            url = self._ring[at + _HEAD.size : at + _HEAD.size + length]
        return HeldBody(id, url.decode("utf-8", "surrogatepass"), _BEGINNING + ticks * _TICK, digest)

    def _slot(self, crawl_id: int, payload_sha256: bytes) -> int:
        start: int = _SLOT(payload_sha256)[0]
        return (start ^ crawl_id) % self.SLOTS
