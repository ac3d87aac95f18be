"""Reads the head of a response: status line and header fields, within limits (RFC 9112 4 and 5).

Replaces http.client's reader, which allows 6.5 MB of headers, takes a 103 for the answer, drops
every field after a malformed one, and costs three times as much. A head is bounded in octets, as in Chromium; how many
lines they make up does not matter. Framing that two readers could understand differently is refused (RFC 9112 6.3).
What browsers tolerate is tolerated, and the connection is closed after it: two readers may disagree where such an
answer ends. http.client reads the body.
"""

import http.client
import re
from functools import lru_cache
from typing import Any

from app.model.fetch import Failure, Header
from app.net.exchange import Broken

HEADER_BYTES_MAX = 256 * 1024  # as in Chromium (kMaxHeaderBufSize); curl takes 300 KB
STATUS_BYTES_MAX = 64 * 1024
USUAL_NAME_BYTES = 64
_ONE_VALUE = frozenset(
    {Header.LOCATION, Header.REFRESH, Header.ETAG, Header.LAST_MODIFIED}
)  # two of them joined are neither

_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 5.6.2: token
SLOP_BYTES = 4  # before a status line, as in Chromium: line ends of the body before it, a byte order mark
_STATUS = re.compile(rb"[\0-\xff]{0,4}?(HTTP(?:/\S*)?)\s+([1-9]\d\d)(?!\d)(.*)", re.IGNORECASE | re.DOTALL)  # slop, too
# Transfer codings that change the octets of a body. What is none of these changes nothing, whatever it is called: also
# `xchunked` and `chunked;q=1`, as in Chromium.
_APPLIED = re.compile(r"gzip|compress|deflate|\bbr\b|zstd")
_UNFIT = re.compile(r"[\x00\r\n]")  # RFC 9110 5.5: replaced by a space


class Head(http.client.HTTPResponse):
    """http.client's response with our own reader of heads.

    octets     status line and fields as they arrived, with the empty line
    received   the fields in the order of arrival, names in lower case
    fields     the header in the form of `Reply.headers`
    """

    octets: bytes
    received: list[tuple[str, str]]
    fields: dict[str, str]

    @property
    def is_bodiless(self) -> bool:
        """Whether it answers a HEAD: its fields speak of a body that does not follow (RFC 9112 6.3)."""
        return bool(self._method == "HEAD")  # type: ignore[attr-defined]  # of http.client

    def begin(self) -> None:
        if self.headers is not None:
            return
        is_odd = False
        while True:
            line, (version, status, reason) = _read_status(self.fp)
            is_odd = is_odd or not line.startswith((b"HTTP/1.1 ", b"HTTP/1.0 "))
            lines = [line[max(line.upper().find(b"HTTP"), 0) :]]
            self.received, has_odd_field = _read_fields(self.fp, lines)
            is_odd = is_odd or has_odd_field
            if status >= 200:  # RFC 9110 15.2: those before it are interim, the answer follows
                break
            is_odd = is_odd or status == 101  # nobody asked for another protocol; browsers and curl read on
        self.octets = b"".join(lines)
        self.code = self.status = status
        self.reason = reason
        self.version = 11 if version == "HTTP/1.1" else 10  # to others we speak as to the older one
        self.fields = _merged(self.received)
        is_odd = is_odd or b"\0" in self.octets or self.octets.count(b"\r") > len(lines)
        self.chunked, self.length = False, 0
        if not self.is_bodiless:
            is_odd = _has_odd_framing(self.fields) or is_odd
            self.chunked, self.length = _framing(self.fields, status)
        self.headers = self.msg = self.fields
        self.chunk_left = None
        is_endless = not self.chunked and self.length is None
        self.will_close = is_odd or is_endless or not _is_kept_alive(self.version, self.fields)


class MessageHead(Head):
    """A Head whose header is also an http.client message, which urllib3's connection and cookie jars need."""

    def begin(self) -> None:
        super().begin()
        message = http.client.HTTPMessage()
        for name, value in self.received:
            message.add_header(name, value)
        self.headers = self.msg = message


def _read_status(stream: Any) -> tuple[bytes, tuple[str, int, str]]:
    """Read the status line; version, status and reason (RFC 9112 4), as leniently as browsers.

    No reason and any white space will do, small letters, and a few octets before it.
    """
    line = stream.readline(STATUS_BYTES_MAX + 1)
    while line.endswith(b"\n") and len(line) <= SLOP_BYTES and (more := stream.readline(STATUS_BYTES_MAX + 1)):
        line += more
    if len(line) > STATUS_BYTES_MAX:
        raise http.client.LineTooLong("status line")
    if not line:
        raise http.client.RemoteDisconnected("Remote end closed connection without response")
    if (read := _status_of(line)) is None:
        raise http.client.BadStatusLine(line.decode("latin-1"))
    return line, read


@lru_cache(maxsize=64)  # they are the same few in every response
def _status_of(line: bytes) -> tuple[str, int, str] | None:
    found = _STATUS.match(line)
    if found is None:
        return None
    version, status, reason = found.groups()
    return version.decode("latin-1").upper(), int(status), reason.decode("latin-1").strip()


def _is_kept_alive(version: int, headers: dict[str, str]) -> bool:
    """Whether the server means to leave the connection open (RFC 9112 9.3)."""
    said = headers.get("connection", "").lower()
    return "close" not in said if version == 11 else "keep-alive" in said or "keep-alive" in headers


def _read_fields(stream: Any, read: list[bytes]) -> tuple[list[tuple[str, str]], bool]:
    """Read the fields up to the empty line, names in lower case, values latin-1 (RFC 9112 5).

    Also returns whether a line is malformed; one that names no field is skipped.

    read: every line is added to it as it arrived
    """
    found: list[tuple[str, list[bytes]]] = []
    bytes_left = HEADER_BYTES_MAX
    is_odd = False
    while (line := stream.readline(bytes_left + 1)) not in (b"\r\n", b"\n"):
        read.append(line)
        bytes_left -= len(line)
        if bytes_left < 0:
            raise Broken(Failure.PROTOCOL, f"more than {HEADER_BYTES_MAX:,} bytes of header fields")
        if not line.endswith(b"\n"):
            raise http.client.RemoteDisconnected("the connection ended within the headers")
        if line[0] in b" \t":  # RFC 9112 5.2: a folded line continues the value before it
            is_odd = True
            if found:
                found[-1][1].append(line)
            continue
        written, colon, value = line.partition(b":")
        if colon and (name := _usual_name(written) if len(written) <= USUAL_NAME_BYTES else _name(written)):
            found.append((name, [value]))
            is_odd = is_odd or written[-1] in b" \t"
        else:
            is_odd = True
    read.append(line)
    return [(name, _value(parts[0]) if len(parts) == 1 else _unfolded(parts)) for name, parts in found], is_odd


def _unfolded(parts: list[bytes]) -> str:
    return " ".join(map(_value, parts)).strip()


def _name(written: bytes) -> str | None:
    name = written.rstrip(b" \t")
    return name.decode("ascii").lower() if _NAME.fullmatch(name) else None


_usual_name = lru_cache(maxsize=512)(_name)  # they are the same few in every response


def _value(raw: bytes) -> str:
    value = raw.strip().decode("latin-1")
    return value if value.isprintable() else _UNFIT.sub(" ", value)


def _merged(fields: list[tuple[str, str]]) -> dict[str, str]:
    """Merge the fields to one value per name, in the form of `Reply.headers` (RFC 9110 5.2).

    Of a field that has one value the first counts.
    """
    merged = dict(fields)
    if len(merged) == len(fields):
        return merged
    several: dict[str, list[str]] = {}
    for name, value in fields:
        several.setdefault(name, []).append(value)
    return {name: values[0] if name in _ONE_VALUE else _joined(name, values) for name, values in several.items()}


def _joined(name: str, values: list[str]) -> str:
    return ("\n" if name == Header.X_ROBOTS_TAG else ", ").join(values)


def _has_odd_framing(headers: dict[str, str]) -> bool:
    """Whether the length of the body is given twice, or is no number."""
    coding, lengths = headers.get("transfer-encoding"), headers.get("content-length", "")
    return "," in lengths or (coding is not None and (bool(lengths) or coding.strip().lower() != "chunked"))


def _framing(headers: dict[str, str], status: int) -> tuple[bool, int | None]:
    """Whether the body is chunked; if not, its length, None for "until the end" (RFC 9112 6.3)."""
    coding = headers.get("transfer-encoding")
    lengths = headers.get("content-length")
    if status in (204, 304):
        return False, 0
    if coding is not None:
        codings = set(map(str.strip, coding.lower().split(",")))
        if any(map(_APPLIED.search, codings)):
            raise Broken(Failure.PROTOCOL, f"Transfer-Encoding {coding!r}, which nobody asked for")
        if "chunked" in codings:  # said twice, it is applied once: so do Chromium and curl
            headers.pop("content-length", None)  # RFC 9112 6.3: overridden
            return True, None
    if lengths is None:
        return False, None
    values = {value.lstrip("0") or "0" for each in lengths.split(",") if (value := each.strip())}
    length = values.pop() if values else ""
    if values:
        raise Broken(Failure.PROTOCOL, f"Content-Length {lengths!r}")
    is_number = length.isascii() and length.isdigit() and len(length) < 19
    return False, int(length) if is_number else None  # else as in Chromium
