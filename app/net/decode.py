"""urllib3's response, with its decoders (2.8) fixed where they repeat or lose bytes of a body that is read in pieces.

It decodes gzip, deflate, br and zstd, one or several over each other. `app.net.body` decides how much is read.

urllib3 has no public interface for this, so its private names are used here, and nowhere else. pyproject.toml limits
its version to those that the tests have run with.
"""

import http.client
import zlib
from collections.abc import Callable
from io import BytesIO
from typing import Any

import urllib3
from urllib3.response import ContentDecoder, DeflateDecoder, GzipDecoder, GzipDecoderState, MultiDecoder

from app.net.head import Head

_PIECE_BYTES = 64 * 1024
_OF_THE_BODY = frozenset({"content-length", "transfer-encoding", "content-encoding"})


class _Mended(urllib3.HTTPResponse):
    """urllib3's response with our decoders."""

    def _init_decoder(self) -> None:
        """Set our decoder: urllib3 calls this before it decodes for the first time, and has no other place for one."""
        if not self._decoder_initialized:
            super()._init_decoder()
            self._decoder = self._mended()

    def _mended(self) -> ContentDecoder | None:
        if isinstance(self._decoder, MultiDecoder):  # which takes `identity`, and what nobody knows, for deflate
            codings = map(str.strip, self.headers["content-encoding"].lower().split(","))
            return _Multi(",".join(each for each in codings if each in self.CONTENT_DECODERS))
        return _Gzip() if isinstance(self._decoder, GzipDecoder) else self._decoder


class _ByUrllib3(_Mended):
    """A body as urllib3 reads and decodes it. It gets only the header fields that it needs for that.

    tee      gets the body as it arrives, before it is decoded; None: nobody wants it
    given    urllib3's arguments: the pool, and the connection that returns to it when the body is read
    """

    def __init__(self, head: Head, tee: Callable[[bytes], object] | None, **given: Any) -> None:
        headers = urllib3.HTTPHeaderDict()
        for name in _OF_THE_BODY & head.fields.keys():
            headers.add(name, head.fields[name])
        super().__init__(
            headers=headers,
            body=head,
            status=head.status,
            version=head.version,
            reason=head.reason,
            preload_content=False,
            original_response=head,
            request_method="HEAD" if head.is_bodiless else "GET",
            **given,
        )
        self._tee = tee

    @property
    def is_at_its_end(self) -> bool:
        return self.length_remaining == 0 and self._decoder is None

    @property
    def is_decoded_whole(self) -> bool:
        if self._decoder is None or self.tell() == 0:
            return True
        return all(map(_is_at_end, self._decoder.parts if isinstance(self._decoder, _Multi) else [self._decoder]))

    def _raw_read(self, amt: int | None = None, *, read1: bool = False) -> bytes:
        """Read from the connection: the one place that every byte of the body passes as it was received."""
        data = super()._raw_read(amt, read1=read1)
        if data and self._tee is not None:
            self._tee(data)
        return data


class Response:
    """A response whose head is read, and no more. A body without a coding, whose length is known, is read here, in a
    third of the time that urllib3 takes; all others by urllib3.

    fields   the header in the form of `Reply.headers`
    head     the header as it arrived
    tee      gets the body as it arrives, before it is decoded; None: nobody wants it
    idle     where the connection returns to when the body is read
    """

    def __init__(self, head: Head, *, pool: Any, connection: Any) -> None:
        self.status, self.fields, self.head = head.status, head.fields, head.octets
        self.tee: Callable[[bytes], object] | None = None
        self._source, self._pool, self._connection = head, pool, connection
        self._length = self._left = 0 if head.length is None else head.length
        self._is_plain = not head.chunked and head.length is not None and "content-encoding" not in head.fields
        self._others: _ByUrllib3 | None = None

    def tell(self) -> int:
        """The bytes of the body that were received."""
        return self._length - self._left if self._is_plain else self._by_urllib3().tell()

    @property
    def is_at_its_end(self) -> bool:
        """Whether all of a body without a coding is read, and the connection was returned.

        Finding the end by one more read costs as much as reading a small page."""
        return self._left == 0 if self._is_plain else self._by_urllib3().is_at_its_end

    @property
    def is_decoded_whole(self) -> bool:
        """Whether the compressed stream reached its end: urllib3 accepts a cut gzip, deflate or br as complete."""
        return self._is_plain or self._by_urllib3().is_decoded_whole

    def read1(self, most: int) -> bytes:
        """Some of the body, decoded; nothing at its end. Raises urllib3's errors, and Broken."""
        if not self._is_plain:
            return self._by_urllib3().read1(most, decode_content=True)
        try:
            data: bytes = self._source.read1(min(most, self._left)) if self._left else b""
            if self._left and not data:
                raise urllib3.exceptions.IncompleteRead(self.tell(), self._left)
        except TimeoutError as error:
            self.close()
            raise urllib3.exceptions.ReadTimeoutError(self._pool, "", "Read timed out.") from error
        except (http.client.HTTPException, OSError) as error:
            self.close()
            raise urllib3.exceptions.ProtocolError(f"Connection broken: {error!r}", error) from error
        except BaseException:
            self.close()
            raise
        self._left -= len(data)
        if data and self.tee is not None:
            self.tee(data)
        if not self._left and self._connection is not None:
            self._source.close()
            self._pool.idle.put(self._connection)
            self._connection = None
        return data

    def close(self) -> None:
        """Close the connection, unless it was returned."""
        if not self._is_plain:
            self._by_urllib3().close()
        elif self._connection is not None:
            self._source.close()
            self._connection.close()
            self._connection = None

    def _by_urllib3(self) -> _ByUrllib3:
        if self._others is None:
            self._others = _ByUrllib3(self._source, self.tee, pool=self._pool, connection=self._connection)
        return self._others


def decoded(payload: bytes, coding: str, *, most: int) -> bytes:
    """A stored body without its content-coding: as far as it can be decoded, and `most` bytes of it."""
    if not coding:
        return payload[:most]
    raw = _Mended(body=BytesIO(payload), headers={"content-encoding": coding}, status=200, preload_content=False)
    found: list[bytes] = []
    left = most
    try:
        while left > 0 and (piece := raw.read1(min(left, _PIECE_BYTES), decode_content=True)):
            found.append(piece)
            left -= len(piece)
    except (urllib3.exceptions.HTTPError, zlib.error):
        pass  # it broke off, and was archived so
    return b"".join(found)


class _Gzip(GzipDecoder):
    """Handles a gzip member that ends exactly at `max_length`, as where a server packs pieces of the size that we read.
    urllib3's decoder then feeds the rest to the finished decompressor, and returns it twice."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        if self._obj.eof and self._unconsumed_tail:
            self._state = GzipDecoderState.OTHER_MEMBERS
            self._obj = zlib.decompressobj(16 + zlib.MAX_WBITS)
        return super().decompress(data, max_length)

    @property
    def is_in_padding(self) -> bool:
        """Whether the last member has ended: further bytes are ignored."""
        return self._state == GzipDecoderState.SWALLOW_DATA


class _Multi(MultiDecoder):
    """Flushes every decoder.

    Raw deflate ends without a checksum, so zlib may have consumed all input while `max_length` holds the last output
    back. urllib3 flushes only the last decoder."""

    def __init__(self, modes: str) -> None:
        super().__init__(modes)
        self.parts = self._decoders = [_Gzip() if isinstance(each, GzipDecoder) else each for each in self._decoders]

    def flush(self) -> bytes:
        rest = b""
        for each in reversed(self.parts[1:]):
            rest = each.decompress(rest) + (each.flush() if isinstance(each, DeflateDecoder) else b"")
        last = self.parts[0]
        return last.decompress(rest) + last.flush()


def _is_at_end(decoder: Any) -> bool:
    if isinstance(decoder, _Gzip) and decoder.is_in_padding:
        return True
    inner = decoder._obj  # noqa: SLF001  # of zlib, brotli or zstd: urllib3's decoders do not report their end
    return bool(inner.is_finished() if hasattr(inner, "is_finished") else inner.eof)
