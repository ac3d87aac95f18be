"""Reads the body of a response, decoded and up to a limit, and reports whether it was complete.

So it decides how much is read, which failure an incomplete body is, and whether its connection may serve another
request. The framing is undone here, the codings in `app.net.decode`. http.client's reader of chunks takes `0x5` and
`1_0` for a size, and does not look at what follows a chunk.
"""

import http.client
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

from app.model.fetch import Failure, Header, Request
from app.net import decode
from app.net.exchange import Broken
from app.net.head import Head
from app.policy import media_type

CHUNK_BYTES = 64 * 1024
# Error and challenge pages are short. The rest of a longer one is not read: its connection is closed instead.
ERROR_BODY_BYTES = 64 * 1024
CHUNK_LINE_BYTES = 64 * 1024  # the size of a chunk with its extensions, or a trailer field
_CHUNK_SIZE = re.compile(rb"0{0,99}([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?\r?\n", re.DOTALL)  # blanks: as in Chromium
_SIZE_BEGINS = re.compile(rb"[0-9A-Fa-f]{0,114}[ \t]*(?:;.*)?\r?", re.DOTALL)  # of a line that is not whole


@dataclass(slots=True)
class Body:
    """The part of a body that was read.

    `failure` is set when the body is incomplete and we did not stop it ourselves.
    """

    content: bytes = b""
    coded: bytes | BinaryIO | None = None
    sunk: int = 0
    read: bool = True
    truncated: bool = False
    failure: Failure | None = None
    detail: str = ""


class _Chunks:
    """The body of a chunked response, without its framing (RFC 9112 7.1). Lines may end in LF alone."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._left = 0
        self._is_first, self._is_over = True, False

    def read1(self, most: int) -> bytes:
        """Some of the body; nothing at its end. Raises Broken."""
        if not self._left and not self._begin():
            return b""
        data: bytes = self._stream.read1(min(most, self._left))
        if not data:
            raise Broken(Failure.CUT, f"the body ends {self._left:,} bytes before the end of a chunk")
        self._left -= len(data)
        return data

    def _begin(self) -> bool:
        """Go on to the next chunk. False: there is none."""
        if self._is_over:
            return False
        if not self._is_first and self._stream.readline(2) not in (b"\r\n", b"\n"):
            raise Broken(Failure.CUT, "a chunk is not as long as it says, or the body ends after it")
        line = self._line()
        if (found := _CHUNK_SIZE.fullmatch(line)) is None:
            raise _no_size(line, is_first=self._is_first)
        self._is_first = False
        self._left = int(found[1], 16)
        if not self._left:
            while self._line() not in (b"\r\n", b"\n"):
                pass  # a trailer field; the exchange's bytes bound them
            self._is_over = True
        return not self._is_over

    def _line(self) -> bytes:
        line: bytes = self._stream.readline(CHUNK_LINE_BYTES + 1)
        if not line.endswith(b"\n"):
            if self._is_first and _SIZE_BEGINS.fullmatch(line) is None:
                raise _no_size(line, is_first=True)
            what = "ends within its framing" if len(line) <= CHUNK_LINE_BYTES else "has a line too long in its framing"
            raise Broken(Failure.CUT, f"the chunked body {what}")
        return line


def _no_size(line: bytes, *, is_first: bool) -> Broken:
    # A body that never was chunked will not be the next time.
    return Broken(Failure.PROTOCOL if is_first else Failure.CUT, f"{line[:20]!r} is no size of a chunk")


class Response:
    """A response whose head is read, and no more.

    fields   the header in the form of `Reply.headers`
    head     the header as it arrived
    tee      gets the body as it arrives, before it is decoded; None: nobody wants it
    """

    def __init__(self, head: Head, *, pool: Any, connection: Any) -> None:
        self.status, self.fields, self.head = head.status, head.fields, head.octets
        self.tee: Callable[[bytes], object] | None = None
        self._head, self._pool, self._connection = head, pool, connection
        self._source = _Chunks(head.fp) if head.chunked else head
        self._exchange = connection.exchange
        self._length = self._left = None if head.chunked else head.length  # None: the body says when it ends
        self._wire_bytes = self._decoded_bytes = 0
        self._is_in_step = True
        self._decoders: decode.Decoders | None = None

    def tell(self) -> int:
        """The bytes of the body that were received."""
        return self._wire_bytes

    @property
    def is_at_its_end(self) -> bool:
        """Whether all of a body is read, and the connection was returned.

        Finding the end by one more read costs as much as reading a small page."""
        return self._left == 0 and self._decoders is None

    @property
    def is_decoded_whole(self) -> bool:
        """Whether each compressed stream reached its end."""
        return self._decoders is None or self._decoders.is_whole

    def read1(self, most: int) -> bytes:
        """Some of the body, decoded; nothing at its end. Raises Broken."""
        if self._decoders is None and not self._wire_bytes and "content-encoding" in self.fields:
            self._decoders = self._make_decoders()
        data = self._receive(most) if self._decoders is None else self._decoders.read(most)
        self._decoded_bytes += len(data)
        if (not data or self.is_at_its_end) and self._connection is not None:
            self._head.close()
            if not self._is_in_step or (self._decoders is not None and not self._decoders.is_sound):
                self._connection.close()
            self._pool.idle.put(self._connection)
            self._connection = None
        return data

    def close(self) -> None:
        """Close the connection, unless it was returned."""
        if self._connection is not None:
            self._head.close()
            self._connection.close()
            self._connection = None

    def _make_decoders(self) -> decode.Decoders | None:
        names = decode.codings(self.fields["content-encoding"])
        if not names or self._left == 0:
            return None
        # No decoder may get more than the whole exchange: the connection's bound, where the body is.
        return decode.Decoders(names, self._receive, between=self._exchange.bytes_left, check=self._check)

    def _receive(self, most: int) -> bytes:
        """Some of the body as it was sent, without its framing. Raises Broken."""
        left = self._left
        if left == 0 or (
            left is not None and self._decoded_bytes == self._length and self._is_longer_than_its_stream()
        ):
            return b""
        try:
            data: bytes = self._source.read1(most if left is None else min(most, left))
            if left is not None and not data:
                raise http.client.IncompleteRead(b"", left)
        except (http.client.HTTPException, OSError) as error:
            if left is not None and self._is_longer_than_its_stream():
                return b""
            self.close()
            if isinstance(error, TimeoutError):
                raise _too_late() from error
            raise Broken(Failure.CUT, f"{type(error).__name__}: {error}") from error
        except BaseException:
            self.close()
            raise
        if left is not None:
            self._left = left - len(data)
        self._wire_bytes += len(data)
        if data and self.tee is not None:
            self.tee(data)
        return data

    def _is_longer_than_its_stream(self) -> bool:
        """Whether its Content-Length is wrong: the streams have ended, whole, before it. Some servers give the length
        before they compress. Of a stream of several members only that length is taken: another member may be missing.

        No more is read then, and the connection is closed."""
        decoders = self._decoders
        if decoders is None or not decoders.is_at_end:
            return False
        if self._decoded_bytes != self._length and decoders.has_several_members:
            return False
        self._left, self._is_in_step = 0, False
        return True

    def _check(self) -> None:
        try:
            self._exchange.left_s()
        except TimeoutError as error:
            raise _too_late() from error


def _too_late() -> Broken:
    return Broken(Failure.TIMEOUT, "the deadline passed within the body")


def read(raw: Response, request: Request) -> Body:
    """Read the body up to its limit. Afterwards the connection is back in its pool, or closed."""
    good = 200 <= raw.status < 300
    limit = request.max_body_bytes if good else min(request.max_body_bytes, ERROR_BODY_BYTES)
    body = Body()
    chunks: list[bytes] = []
    sink = request.sink if good else None
    coded = _Coded(raw, into_file=sink is not None) if request.keeps_coded and _has_coding(raw) else None
    try:
        beginning = _beginning(raw, request, limit) if good else b""
        if beginning is None:
            raw.close()
            return Body(read=False)
        keep = chunks.append if sink is None else sink.write
        keep(beginning)
        body.truncated = _read_into(keep, raw, limit - len(beginning))
        if not body.truncated and not raw.is_decoded_whole:
            body.failure, body.detail = Failure.CUT, f"{raw.fields.get('content-encoding')} stream is cut"
    except Broken as broken:
        body.failure, body.detail = broken.failure, broken.detail
    except OSError as error:  # from the sink, such as a full disk: a connection's error is Broken
        body.failure, body.detail = Failure.CUT, f"cannot be kept here: {error.strerror or error}"
        sink = None
    except BaseException:
        raw.close()
        raise
    if body.truncated or body.failure:
        raw.close()
    body.content = b"".join(chunks)[:limit]
    body.coded = coded.whole() if coded is not None else None
    if sink is not None:
        body.sunk = min(sink.tell(), limit)
        sink.seek(0)
    return body


def _read_into(keep: Callable[[bytes], object], raw: Response, limit: int) -> bool:
    """Keep decoded chunks. True when there are more than `limit` bytes, of which at most one more is kept."""
    left = limit + 1
    while left > 0 and (chunk := raw.read1(min(left, CHUNK_BYTES))):
        keep(chunk)
        left -= len(chunk)
        if raw.is_at_its_end:
            break
    return left <= 0


class _Coded:
    """The body as it arrives, beside the decoded one: in memory, or in a file for bodies that go to a sink."""

    def __init__(self, raw: Response, *, into_file: bool) -> None:
        self._chunks: list[bytes] = []
        self._file: BinaryIO | None = _spool() if into_file else None
        raw.tee = self._chunks.append if self._file is None else self._file.write

    def whole(self) -> bytes | BinaryIO:
        if self._file is None:
            return b"".join(self._chunks)
        self._file.seek(0)
        return self._file


def _spool() -> BinaryIO:
    # A coded body of a sink stays in memory up to here.
    return tempfile.SpooledTemporaryFile(max_size=1024 * 1024)  # type: ignore[return-value]  # it has all methods of one


def _has_coding(raw: Response) -> bool:
    return raw.fields.get("content-encoding", "identity").strip().lower() not in {"", "identity"}


def _beginning(raw: Response, request: Request, limit: int) -> bytes | None:
    """Read as much of the body as it takes to tell its type. None: it is of no type that is wanted."""
    if request.wanted_types is None:
        return b""
    field = raw.fields.get(Header.CONTENT_TYPE)
    most = min(media_type.SEEN_BYTES if request.or_listing else media_type.octets_to_see(field), limit)
    chunks: list[bytes] = []
    if most:
        _read_into(chunks.append, raw, most - 1)
    seen = b"".join(chunks)
    if media_type.is_wanted(media_type.of(field, seen), request.wanted_types):
        return seen
    return seen if request.or_listing and media_type.is_listing(seen) else None
