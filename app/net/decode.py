"""urllib3's response, with its decoders (2.8) mended where they double or lose a part of what they are asked for piece by piece.

It decodes gzip, deflate, br and zstd, one or several over each other. How much is read is `app.net.body`'s business.

urllib3 has no public place for any of this, so its private names are used here, and nowhere else: pyproject.toml bounds its
version by what the tests have seen.
"""

import zlib
from typing import Any

import urllib3
from urllib3.response import ContentDecoder, DeflateDecoder, GzipDecoder, GzipDecoderState, MultiDecoder

from app.net.head import Head

_OF_THE_BODY = frozenset({"content-length", "transfer-encoding", "content-encoding"})


class Response(urllib3.HTTPResponse):
    """A response whose head is read, and no more. urllib3 gets of the header what it reads the body by.

    fields   the header as `Reply.headers` has it
    given    urllib3's: the pool and the connection, which goes back there when the body is read
    """

    def __init__(self, head: Head, **given: Any) -> None:
        fields = head.fields
        headers = urllib3.HTTPHeaderDict()
        for name in _OF_THE_BODY & fields.keys():
            headers.add(name, fields[name])
        super().__init__(
            headers=headers,
            body=head,
            status=head.status,
            version=head.version,
            reason=head.reason,
            preload_content=False,
            original_response=head,
            request_method="GET",
            **given,
        )
        self.fields = fields

    @property
    def is_at_its_end(self) -> bool:
        """All of a body without a coding is read: urllib3 has given the connection back. To hear of the end by another read costs
        as much as reading a small page."""
        return self.length_remaining == 0 and self._decoder is None

    @property
    def is_decoded_whole(self) -> bool:
        """Whether the compressed stream came to its end: urllib3 takes a cut gzip, deflate or br for whole."""
        if self._decoder is None or self.tell() == 0:
            return True
        return all(map(_is_at_end, self._decoder.parts if isinstance(self._decoder, _Multi) else [self._decoder]))

    def _init_decoder(self) -> None:
        """urllib3 calls it before it decodes for the first time; it has no other place to hand it a decoder."""
        if not self._decoder_initialized:
            super()._init_decoder()
            self._decoder = self._mended()

    def _mended(self) -> ContentDecoder | None:
        if isinstance(self._decoder, MultiDecoder):
            return _Multi(self.headers["content-encoding"].lower())
        return _Gzip() if isinstance(self._decoder, GzipDecoder) else self._decoder


class _Gzip(GzipDecoder):
    """A member may end just where `max_length` does, as where a server packs pieces of the size that we read. Theirs
    then feeds the rest to the decompressor that is done, and hands it out twice."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        if self._obj.eof and self._unconsumed_tail:
            self._state = GzipDecoderState.OTHER_MEMBERS
            self._obj = zlib.decompressobj(16 + zlib.MAX_WBITS)
        return super().decompress(data, max_length)

    @property
    def is_in_padding(self) -> bool:
        """What comes after the last member is swallowed."""
        return self._state == GzipDecoderState.SWALLOW_DATA


class _Multi(MultiDecoder):
    """Raw deflate ends without a check sum: zlib may have taken all of it in while `max_length` kept the last of it
    back. Theirs asks only the last decoder for what it keeps."""

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
    inner = decoder._obj  # noqa: SLF001  # of zlib, brotli or zstd: urllib3's decoders have no word for their end
    return bool(inner.is_finished() if hasattr(inner, "is_finished") else inner.eof)
