"""urllib3's response, with its decoders (2.8) mended where they double or lose a part of what they are asked for piece by piece.

It decodes gzip, deflate, br and zstd, one or several over each other. How much is read is `app.net.http`'s business.
"""

import zlib
from typing import Any

import urllib3
from urllib3.response import ContentDecoder, DeflateDecoder, GzipDecoder, GzipDecoderState, MultiDecoder

_OF_THE_BODY = frozenset({"content-length", "transfer-encoding", "content-encoding"})


class Response(urllib3.HTTPResponse):
    """fields: the header as `Reply.headers` has it; urllib3 gets what it reads the body by."""

    def __init__(self, fields: dict[str, str], **given: Any) -> None:
        headers = urllib3.HTTPHeaderDict()
        for name in _OF_THE_BODY & fields.keys():
            headers.add(name, fields[name])
        super().__init__(headers=headers, **given)
        self.fields = fields

    def _init_decoder(self) -> None:
        if not self._decoder_initialized:
            super()._init_decoder()
            self._decoder = _mended(self._decoder)


class _Gzip(GzipDecoder):
    """A member may end just where `max_length` does, as where a server packs pieces of the size that we read. Theirs
    then feeds the rest to the decompressor that is done, and hands it out twice."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        if self._obj.eof and self._unconsumed_tail:
            self._state = GzipDecoderState.OTHER_MEMBERS
            self._obj = zlib.decompressobj(16 + zlib.MAX_WBITS)
        return super().decompress(data, max_length)


class _Multi(MultiDecoder):
    """Raw deflate ends without a check sum: zlib may have taken all of it in while `max_length` kept the last of it
    back. Theirs asks only the last decoder for what it keeps."""

    def flush(self) -> bytes:
        rest = b""
        for each in reversed(self._decoders[1:]):
            rest = each.decompress(rest) + (each.flush() if isinstance(each, DeflateDecoder) else b"")
        last = self._decoders[0]
        return last.decompress(rest) + last.flush()


def _mended(decoder: ContentDecoder | None) -> ContentDecoder | None:
    if isinstance(decoder, MultiDecoder):
        decoder.__class__ = _Multi
        decoder._decoders = [_Gzip() if isinstance(each, GzipDecoder) else each for each in decoder._decoders]
    return _Gzip() if isinstance(decoder, GzipDecoder) else decoder
