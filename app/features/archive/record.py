"""WARC 1.1 records (ISO 28500:2017) as gzip members: one record, one member, so that each is read by itself. Pure.

A writer of ours: warcio takes half as long again (bench/archive.py). The tests have warcio and fastwarc read what it
writes. It is packed by ISA-L, in two fifths of zlib's time; a page takes 4 % more room.
"""

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import BinaryIO
from uuid import UUID

from isal import igzip_lib, isal_zlib

LEVEL = 2  # 3 takes 60 % longer, for 3 % less room (bench/archive.py)
SMALL_LEVEL, SMALL_BYTES = 1, 4096  # a small record is no smaller at 2
PACKED_LEVEL = 1  # for what the server packed already: more finds nothing
# ISA-L's buffer for a record: 90 kB in place of 280 to 350, which malloc maps and unmaps each time where it keeps such
# blocks out of its arenas (app/local/stack.py). Documents of 4 to 64 kB get no larger by it, longer ones by 0.1 %.
BUFFER_LEVEL = 2
GZIP = 16 + isal_zlib.MAX_WBITS
PIECE_BYTES = 64 * 1024

Payload = bytes | BinaryIO
Fields = Sequence[tuple[str, str]]


def member(fields: Fields, *block: Payload, level: int = LEVEL) -> bytes:
    """A record of these header fields and this block. Content-Length is added.

    The fields' values hold neither CR nor LF.   level: ISA-L's
    """
    length = sum(map(size, block))
    named = "".join([f"{name}: {value}\r\n" for name, value in fields])
    head = f"WARC/1.1\r\n{named}Content-Length: {length}\r\n\r\n".encode()
    plain = [part for part in block if isinstance(part, bytes)]
    if len(plain) == len(block):
        octets = b"".join((head, *plain, b"\r\n\r\n"))
        level = level if len(octets) > SMALL_BYTES else SMALL_LEVEL
        return igzip_lib.compress(octets, level, igzip_lib.COMP_GZIP, BUFFER_LEVEL)
    packer = _packer(level)
    packed = [packer.compress(head)]
    packed += [packer.compress(piece) for part in block for piece in pieces(part)]
    return b"".join((*packed, packer.compress(b"\r\n\r\n"), packer.flush()))


def _packer(level: int) -> isal_zlib.Compress:
    return isal_zlib.compressobj(level, isal_zlib.DEFLATED, GZIP, BUFFER_LEVEL)


def size(payload: Payload) -> int:
    return len(payload) if isinstance(payload, bytes) else payload.seek(0, os.SEEK_END)


def pieces(payload: Payload) -> Iterator[bytes]:
    """The payload from its start, in pieces."""
    if isinstance(payload, bytes):
        yield payload
        return
    payload.seek(0)
    while piece := payload.read(PIECE_BYTES):
        yield piece


def digest(*block: Payload) -> bytes:
    """The SHA-256 of the block."""
    sha = sha256()
    for part in block:
        for piece in (part,) if isinstance(part, bytes) else pieces(part):
            sha.update(piece)
    return sha.digest()


def labelled(sha: bytes) -> str:
    """A digest as WARC writes it: labelled, here in hexadecimal digits."""
    return f"sha256:{sha.hex()}"


def new_id() -> str:
    """A random UUID (RFC 9562 5.4) as a URN: a third of the time of `uuid4`, which makes a number of it first."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"<urn:uuid:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}>"


def named_id(uuid: UUID) -> str:
    return f"<{uuid.urn}>"


@lru_cache(maxsize=64)  # the records of an answer share theirs
def date(moment: datetime) -> str:
    """WARC-Date: UTC, to the microsecond (ISO 28500:2017 5.4)."""
    return f"{moment.astimezone(UTC).isoformat(timespec='microseconds')[:-6]}Z"
