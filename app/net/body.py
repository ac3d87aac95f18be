"""Reads the body of a response, decoded and up to a limit, and reports whether it was complete.

Decides how much is read, and which failure an incomplete body is. Decoding is urllib3's (`app.net.decode`).
"""

import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

import urllib3

from app.model.fetch import Failure, Header, Request
from app.net.decode import Response
from app.net.exchange import Broken
from app.policy import media_type

CHUNK_BYTES = 64 * 1024
SPOOL_BYTES = 1024 * 1024  # a coded body of a sink stays in memory up to here
# Error and challenge pages are short. The rest of a longer one is not read: its connection is closed instead.
ERROR_BODY_BYTES = 64 * 1024


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
    except urllib3.exceptions.TimeoutError:
        body.failure, body.detail = Failure.TIMEOUT, "the deadline passed within the body"
    except (urllib3.exceptions.HTTPError, zlib.error) as error:
        body.failure, body.detail = Failure.CUT, _innermost(error)
    except Broken as broken:  # the exchange's byte budget is used up
        body.failure, body.detail = broken.failure, broken.detail
    except OSError as error:  # from the sink, such as a full disk: the connection's errors are urllib3's
        body.failure, body.detail = Failure.CUT, f"cannot be kept here: {error.strerror or error}"
        sink = None
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
    return tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)  # type: ignore[return-value]  # it has all methods of one


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


def _innermost(error: BaseException) -> str:
    """The original error, without the layers that wrapped it."""
    while (cause := error.__cause__) is not None:
        error = cause
    return f"{type(error).__name__}: {error}"
