"""Decodes a body that is read in pieces: gzip, deflate, br and zstd, one or several over each other (RFC 9110 8.4).

Decoders are pulled: each reads from the one below it, and gives at most what it is asked for. A few octets can become
very many between two decoders that never come out of the last one, so this work has bounds of its own: the octets that
pass between two decoders, the members that streams consist of, and the deadline, which is looked at before each step.
`app.net.body` decides how much is read.
"""

import re
import sys
import zlib
from collections.abc import Callable
from io import BytesIO
from itertools import pairwise
from typing import Any, Protocol

import brotli

from app.model.fetch import Failure
from app.net.exchange import Broken

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ACCEPTED = "gzip,deflate,br,zstd"
CODINGS_MAX = 5  # as in curl; nobody has a use for two
MEMBERS_MAX = 10_000  # of a body, over all its decoders: a frame of zstd takes 12 µs, even an empty one
_PIECE_BYTES = 64 * 1024
_ANEW_BYTES = 4 * 1024 * 1024  # more than a page may have by default
_GZIP_HEAD = b"\x1f\x8b\x08"  # RFC 1952 2.3.1, with its only method
_TRAILER_BYTES = 8  # of gzip
_MEMBER_PIECE_BYTES = 4 * 1024  # after a first member others may be short, and each returns what it did not use

Read = Callable[[int], bytes]


class _Decoder(Protocol):
    """The decoder of one member.

    needs_input   there is nothing more to give before it gets more
    is_at_end     the stream has ended, and all of it was given
    unused        what followed the end in the last input
    """

    @property
    def needs_input(self) -> bool: ...

    @property
    def is_at_end(self) -> bool: ...

    @property
    def unused(self) -> bytes: ...

    def decode(self, data: bytes, most: int) -> bytes: ...


class _Zlib:
    """zlib or raw deflate, by zlib's window bits."""

    def __init__(self, wbits: int) -> None:
        self._inner = zlib.decompressobj(wbits)
        self.needs_input = True

    @property
    def is_at_end(self) -> bool:
        return self._inner.eof

    @property
    def unused(self) -> bytes:
        return self._inner.unused_data

    def decode(self, data: bytes, most: int) -> bytes:
        piece = self._inner.decompress(self._inner.unconsumed_tail + data, most)
        self.needs_input = len(piece) < most and not self._inner.unconsumed_tail
        return piece


class _Gzip(_Zlib):
    """A member of gzip (RFC 1952 2.3). As in browsers, its check sums and its length may be wrong, or not be whole."""

    def __init__(self) -> None:
        super().__init__(-zlib.MAX_WBITS)
        self._head: bytearray | None = bytearray()
        self._behind = b""  # its data: the trailer, and what follows

    @property
    def has_all_data(self) -> bool:
        return self._inner.eof

    @property
    def is_at_end(self) -> bool:
        return len(self._behind) >= _TRAILER_BYTES

    @property
    def unused(self) -> bytes:
        return self._behind[_TRAILER_BYTES:]

    def decode(self, data: bytes, most: int) -> bytes:
        if self._head is not None:
            self._head += data
            if (length := _head_of_gzip(self._head)) is None:
                return b""
            data, self._head = bytes(self._head[length:]), None
        if self._inner.eof:
            self._behind += data
            return b""
        piece = super().decode(data, most)
        if self._inner.eof:
            self._behind, self.needs_input = self._inner.unused_data, True
        return piece


def _head_of_gzip(head: bytearray) -> int | None:
    """The length of the head; None: there is more of it, and what was seen of a name or a comment is dropped.

    Raises zlib.error for what is none."""
    if not (head[: len(_GZIP_HEAD)] or _GZIP_HEAD) == _GZIP_HEAD[: len(head)]:
        raise zlib.error("incorrect header check")
    at, flags = 10, head[3] if len(head) > 3 else 0
    if flags & 4:  # further fields
        at += 2 + int.from_bytes(head[10:12], "little")
    for flag in (8, 16):  # a name, a comment
        if flags & flag and len(head) >= at:
            if (end := head.find(0, at)) < 0:
                del head[at:]
                return None
            at = end + 1
    at += flags & 2  # a check sum
    return at if len(head) >= at else None


class _Deflate(_Zlib):
    """deflate as it is sent: a zlib stream (RFC 1950), or a raw one (RFC 1951), told apart by its first two octets."""

    def __init__(self) -> None:
        super().__init__(zlib.MAX_WBITS)
        self._begin: bytes | None = b""

    def decode(self, data: bytes, most: int) -> bytes:
        if self._begin is not None:
            data = self._begin + data
            if len(data) < 2:
                self._begin = data
                return b""
            self._begin = None
            if data[0] & 0x8F != 8 or int.from_bytes(data[:2], "big") % 31:
                self._inner = zlib.decompressobj(-zlib.MAX_WBITS)
        return super().decode(data, most)


class _Brotli:
    """br. The library gives more than it is asked for; the surplus waits here.

    Of octets after the end it only raises, and loses what it had decoded of the same piece. The input is decoded anew
    then, and of its last piece one octet after another."""

    def __init__(self) -> None:
        self._inner = brotli.Decompressor()
        self._surplus = self.unused = b""
        self._is_dry = True
        self._input = bytearray()  # nothing once it is longer than `_ANEW_BYTES`
        self._input_bytes = self._last_at = self._given = 0

    @property
    def needs_input(self) -> bool:
        return self._is_dry and not self._surplus

    @property
    def is_at_end(self) -> bool:
        return not self._surplus and bool(self._inner.is_finished())

    def decode(self, data: bytes, most: int) -> bytes:
        piece = self._surplus or self._process(data, most)
        self._surplus = piece[most:]
        return piece[:most]

    def _process(self, data: bytes, most: int) -> bytes:
        if data:
            self._last_at = self._input_bytes
            self._input_bytes += len(data)
            if self._input_bytes <= _ANEW_BYTES:
                self._input += data
            else:
                self._input.clear()
        try:
            piece, self._is_dry = _some(self._inner, data, most)
        except brotli.error:
            if not self._input:
                raise
            piece = self._anew()
        self._given += len(piece)
        return piece

    def _anew(self) -> bytes:
        """Decode all input again. Returns what was not given yet, and keeps what follows the end in `unused`.

        Raises brotli.error where it has another fault."""
        self._inner = brotli.Decompressor()
        skip, found = self._given, bytearray()
        cuts = [0, *range(self._last_at, self._input_bytes + 1)]
        for begin, end in pairwise(cuts):
            data, is_dry = bytes(self._input[begin:end]), False
            while not is_dry:
                piece, is_dry = _some(self._inner, data, _PIECE_BYTES)
                data = b""
                found += piece[skip:]
                skip = max(0, skip - len(piece))
            if self._inner.is_finished():
                self.unused = bytes(self._input[end:])
                break
        self._is_dry = True
        return bytes(found)


def _some(decoder: Any, data: bytes, most: int) -> tuple[bytes, bool]:
    """Some octets of br, about as many as wanted, and whether there are more only after more input."""
    piece = decoder.process(data, output_buffer_limit=most)
    return piece, len(piece) < most and bool(decoder.can_accept_more_data())


class _Zstd:
    """One frame of zstd."""

    def __init__(self) -> None:
        self._inner = zstd.ZstdDecompressor()

    @property
    def needs_input(self) -> bool:
        return bool(self._inner.needs_input)

    @property
    def is_at_end(self) -> bool:
        return bool(self._inner.eof)

    @property
    def unused(self) -> bytes:
        return self._inner.unused_data

    def decode(self, data: bytes, most: int) -> bytes:
        return self._inner.decompress(data, most)


# What begins another member; None: there is one. What begins none is ignored, as by gzip and by browsers.
_GZIP_MEMBER = re.compile(rb"\x1f\x8b")  # RFC 1952 2.3.1
_ZSTD_FRAME = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")  # RFC 8878 3.1: a frame, or one to skip
_MAGIC_BYTES = 4
_BEGIN_BYTES = 256  # of a coding whose streams begin with nothing of their own: so much tells text from one
_CODINGS: dict[str, tuple[Callable[[], _Decoder], re.Pattern[bytes] | None]] = {
    "gzip": (_Gzip, _GZIP_MEMBER),
    "x-gzip": (_Gzip, _GZIP_MEMBER),  # RFC 9110 8.4.1.3
    "deflate": (_Deflate, None),
    "br": (_Brotli, None),
    "zstd": (_Zstd, _ZSTD_FRAME),
}


def codings(field: str) -> list[str]:
    """The codings of a Content-Encoding that can be decoded, in the order they were applied. Others are ignored."""
    return [name for name in map(str.strip, field.lower().split(",")) if name in _CODINGS]


class Decoders:
    """The decoders of a body, over each other.

    names     as of `codings`, at least one
    read      reads at most so many octets of the body as it was received; nothing at its end
    between   octets that may pass between two decoders
    check     raises after the deadline; called before each step
    """

    def __init__(self, names: list[str], read: Read, *, between: int, check: Callable[[], object]) -> None:
        if len(names) > CODINGS_MAX:
            raise Broken(Failure.PROTOCOL, f"{len(names)} content codings over each other; {CODINGS_MAX} are decoded")
        self.check = check
        self.members = 0
        self._links: list[_Link] = []
        for name in reversed(names):
            self._links.append(_Link(name, self, read))
            read = _bounded(self._links[-1].read, between)

    def read(self, most: int) -> bytes:
        """Some of the decoded body; nothing at its end. Raises Broken, and what `read` and `check` raise."""
        return self._links[-1].read(most)

    @property
    def is_at_end(self) -> bool:
        """Whether each stream has reached its end."""
        return all(link.is_at_end for link in self._links)

    @property
    def is_whole(self) -> bool:
        """Whether no stream broke off within its data: an empty body need not be one."""
        return all(link.is_empty or link.has_all_data for link in self._links)

    @property
    def is_sound(self) -> bool:
        """Whether the stream that was received ended where the body did."""
        return self._links[0].is_empty or (self._links[0].is_at_end and not self._links[0].has_surplus)

    @property
    def has_several_members(self) -> bool:
        """Whether the stream that was received has had more than one member."""
        return self._links[0].has_several_members

    def begin_member(self) -> None:
        """Count a member. Raises Broken."""
        self.members += 1
        if self.members > MEMBERS_MAX:
            raise Broken(Failure.PROTOCOL, f"a coded body of more than {MEMBERS_MAX:,} members")


class _Link:
    """A decoder and what it reads from.

    is_empty              it has got nothing yet
    has_several_members   its stream has had more than one
    has_surplus           something followed the end of its stream
    """

    def __init__(self, name: str, whole: Decoders, read: Read) -> None:
        self._name, self._whole, self._read = name, whole, read
        self._make, self._magic = _CODINGS[name]
        self._decoder = self._make()
        self._held, self._at = b"", 0  # what was read, and where the part begins that no decoder has got
        self._is_done = False
        self._begin = b""  # as many octets of its stream as tell what it is
        self.has_several_members = False
        self.has_surplus = False

    @property
    def is_empty(self) -> bool:
        return not self._begin

    @property
    def is_at_end(self) -> bool:
        return self._is_done or self._decoder.is_at_end

    @property
    def has_all_data(self) -> bool:
        return self.is_at_end or (isinstance(self._decoder, _Gzip) and self._decoder.has_all_data)

    def read(self, most: int) -> bytes:
        """At most so many octets, decoded; nothing at the end. Raises Broken."""
        while not self._is_done:
            self._whole.check()
            if self._decoder.is_at_end:
                self._begin_another()
                continue
            data = b""
            if self._decoder.needs_input and not (data := self._next()):
                return b""
            if piece := self._decode(data, most):
                return piece
        while self._read(_PIECE_BYTES):  # the streams below have an end, too, and so has the body
            self.has_surplus = True
            self._whole.check()
        return b""

    def _next(self) -> bytes:
        """Input for the decoder; nothing at its end."""
        if self._at >= len(self._held):
            self._held, self._at = self._read(_PIECE_BYTES), 0
        most = _MEMBER_PIECE_BYTES if self.has_several_members else _PIECE_BYTES
        data = self._held[self._at : self._at + most]
        self._at += len(data)
        if len(self._begin) < _BEGIN_BYTES and data:
            if self.is_empty:
                self._whole.begin_member()
            self._begin += data[: _BEGIN_BYTES - len(self._begin)]
        return data

    def _decode(self, data: bytes, most: int) -> bytes:
        try:
            piece = self._decoder.decode(data, most)
        except (zlib.error, brotli.error, zstd.ZstdError) as error:
            if not self.has_several_members:
                raise Broken(*self._why_not(error)) from error
            self._is_done = self.has_surplus = True  # it only looked like another member
            return b""
        if self._decoder.is_at_end:
            self._at -= len(self._decoder.unused)
        return piece

    def _why_not(self, error: Exception) -> tuple[Failure, str]:
        """Why browsers and curl refuse it, too: broken on its way, or never coded so, as it will be the next time."""
        if self._is_begun():
            return Failure.CUT, f"not {self._name}: {error}"
        return Failure.PROTOCOL, f"Content-Encoding says {self._name}, and the body is not: {error}"

    def _is_begun(self) -> bool:
        """Whether the first octets are of such a stream: by their mark; of a coding without one, by decoding these."""
        if self._magic is not None:
            return self._magic.match(self._begin) is not None
        try:
            self._make().decode(self._begin, _PIECE_BYTES)
        except (zlib.error, brotli.error):
            return False
        return True

    def _begin_another(self) -> None:
        """Begin with the next member, if there is one."""
        while len(self._held) - self._at < _MAGIC_BYTES and (more := self._read(_PIECE_BYTES)):
            self._held, self._at = self._held[self._at :] + more, 0
            self._whole.check()
        if self._magic is not None and self._magic.match(self._held, self._at):
            self._whole.begin_member()
            self._decoder = self._make()
            self.has_several_members = True
            return
        self._is_done, self.has_surplus = True, self._at < len(self._held)


def _bounded(read: Read, most: int) -> Read:
    """Bound a reader to so many octets in all. Beyond them it raises Broken."""
    left = most

    def bounded(count: int) -> bytes:
        nonlocal left
        piece = read(count)
        left -= len(piece)
        if left < 0:
            raise Broken(Failure.PROTOCOL, f"a coded body with more than {most:,} octets between two of its codings")
        return piece

    return bounded


def decoded(payload: bytes, coding: str, *, most: int) -> bytes:
    """A stored body without its content-coding: as far as it can be decoded, and `most` bytes of it."""
    names = codings(coding)
    if not names:
        return payload[:most]
    found: list[bytes] = []
    left = most
    try:
        # More than any answer had between two decoders when it was received.
        decoders = Decoders(names, BytesIO(payload).read, between=64 * 1024 * 1024, check=_no_deadline)
        while left > 0 and (piece := decoders.read(min(left, _PIECE_BYTES))):
            found.append(piece)
            left -= len(piece)
    except Broken:
        pass  # it broke off, and was archived so
    return b"".join(found)


def _no_deadline() -> None:
    """Return: reading the archive has none, and its body was received within one."""
