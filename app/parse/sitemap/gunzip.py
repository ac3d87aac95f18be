"""Undoes gzip as a stream, in constant memory: the readable part of a cut or broken file, the allowed part of a bomb.

The bytes decide whether something is packed, not names or content types. It stops where there is too much content, or
too little in too much gzip, and notes why. Source: RFC 1952.
"""

import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

_PIECE_BYTES = 64 * 1024
_GZIP = b"\x1f\x8b"  # RFC 1952 section 2.3.1
_HOLLOW_BYTES = 1024 * 1024  # of gzip that may hold nothing; past it, gzip may be twice as long as its content
_SIP_BYTES = 1024  # of gzip at a time: where it is broken, the content of the last ones is lost


def unpacked(chunks: Iterator[bytes], max_bytes: int, note: Callable[[str], None]) -> Iterator[bytes]:
    """The content, through two layers of gzip at most: some servers pack twice.

    Content that is not packed is unchanged.

    max_bytes  as received, and again after each layer
    note       is called with a line for a person if the content ends early
    """
    chunks = _capped(chunks, max_bytes, note)
    for _ in range(2):
        head = take(chunks, len(_GZIP))
        chunks = chain([head], chunks)
        if not head.startswith(_GZIP):
            break
        chunks = _capped(_inflated(chunks, note), max_bytes, note)
    return chunks


def take(chunks: Iterator[bytes], size: int) -> bytes:
    """The next bytes: at least `size`, unless there are no more."""
    taken, length = [], 0
    for chunk in chunks:
        taken.append(chunk)
        length += len(chunk)
        if length >= size:
            break
    return b"".join(taken)


def _capped(chunks: Iterable[bytes], max_bytes: int, note: Callable[[str], None]) -> Iterator[bytes]:
    left = max_bytes
    for chunk in chunks:
        yield chunk[:left]
        left -= len(chunk)
        if left < 0:
            note(f"cut at {max_bytes / 2**20:.3g} MiB")
            return


def _inflated(chunks: Iterator[bytes], note: Callable[[str], None]) -> Iterator[bytes]:
    """The content of all members, piece by piece. A broken end or check sum does not undo earlier pieces."""
    packed = _Packed(chunks, note)
    inflating = gzip.GzipFile(fileobj=packed, mode="rb")
    try:
        while piece := inflating.read1(_PIECE_BYTES):
            packed.unpacked_bytes += len(piece)
            yield piece
    except EOFError:
        note("gzip stream is cut")
    except (gzip.BadGzipFile, zlib.error):
        note("gzip stream is broken")


class _Packed:
    """Chunks as a file for `GzipFile`. It ends early where much gzip holds next to nothing.

    A member costs 10 µs even when it is empty, which takes 20 bytes: 25 s for a file of 50 MiB.
    """

    def __init__(self, chunks: Iterator[bytes], note: Callable[[str], None]) -> None:
        self._chunks = chunks
        self._note = note
        self._chunk = b""
        self._packed_bytes = 0
        self.unpacked_bytes = 0

    def read(self, size: int) -> bytes:
        if self._packed_bytes > _HOLLOW_BYTES + 2 * self.unpacked_bytes:
            self._note("cut where gzip holds next to nothing")
            return b""
        size = min(size, _SIP_BYTES)
        while len(self._chunk) < size and (more := next(filter(None, self._chunks), b"")):
            self._chunk += more  # whole sips: the content of a broken stream must not depend on how it arrived
        taken, self._chunk = self._chunk[:size], self._chunk[size:]
        self._packed_bytes += len(taken)
        return taken

    def seek(self, _offset: int) -> int:
        raise io.UnsupportedOperation("a stream is read once")
