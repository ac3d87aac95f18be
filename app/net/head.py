"""Reads the head of a response: status line and header fields, within limits (RFC 9112 4 and 5).

Replaces http.client's reader, which allows 6.5 MB of headers, takes a 103 for the answer, drops
every field after a malformed one, and costs three times as much. Framing that two readers could understand
differently is refused (RFC 9112 6.3). http.client and urllib3 read the body.
"""

import http.client
import re
from functools import lru_cache
from typing import Any

from app.model.fetch import Failure, Header
from app.net.exchange import Broken

HEADER_COUNT_MAX = 100
HEADER_BYTES_MAX = 64 * 1024
STATUS_BYTES_MAX = 64 * 1024
USUAL_NAME_BYTES = 64
_ONE_VALUE = frozenset({Header.LOCATION, Header.ETAG, Header.LAST_MODIFIED})  # two of them joined are neither

_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 5.6.2: token
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
        while True:
            line, (version, status, reason) = _read_status(self.fp)
            lines = [line]
            self.received = _read_fields(self.fp, lines)
            if status >= 200 or status == 101:  # RFC 9110 15.2: other 1xx are interim, the answer follows
                break
        if not version.startswith("HTTP/1."):
            raise http.client.UnknownProtocol(version)
        self.octets = b"".join(lines)
        self.code = self.status = status
        self.reason = reason
        self.version = 10 if version == "HTTP/1.0" else 11
        self.fields = _merged(self.received)
        self.chunked, self.length = (False, 0) if self.is_bodiless else _framing(self.fields, status)
        self.headers = self.msg = self.fields
        self.chunk_left = None
        is_endless = not self.chunked and self.length is None
        self.will_close = is_endless or status == 101 or not _is_kept_alive(self.version, self.fields)


class MessageHead(Head):
    """A Head whose header is also an http.client message, which urllib3's connection and cookie jars need."""

    def begin(self) -> None:
        super().begin()
        message = http.client.HTTPMessage()
        for name, value in self.received:
            message.add_header(name, value)
        self.headers = self.msg = message


def _read_status(stream: Any) -> tuple[bytes, tuple[str, int, str]]:
    """Read the status line; version, status and reason (RFC 9112 4), as leniently as http.client.

    No reason and any white space will do.
    """
    line = stream.readline(STATUS_BYTES_MAX + 1)
    if len(line) > STATUS_BYTES_MAX:
        raise http.client.LineTooLong("status line")
    if not line:
        raise http.client.RemoteDisconnected("Remote end closed connection without response")
    if (read := _status_of(line)) is None:
        raise http.client.BadStatusLine(line.decode("latin-1"))
    return line, read


@lru_cache(maxsize=64)  # they are the same few in every response
def _status_of(line: bytes) -> tuple[str, int, str] | None:
    version, status, reason = [*line.split(None, 2), b"", b"", b""][:3]
    if not version.startswith(b"HTTP/") or not (status.isdigit() and len(status) == 3 and status >= b"100"):
        return None
    return version.decode("latin-1"), int(status), reason.decode("latin-1").strip()


def _is_kept_alive(version: int, headers: dict[str, str]) -> bool:
    """Whether the server means to leave the connection open (RFC 9112 9.3)."""
    said = headers.get("connection", "").lower()
    return "close" not in said if version == 11 else "keep-alive" in said or "keep-alive" in headers


def _read_fields(stream: Any, read: list[bytes]) -> list[tuple[str, str]]:
    """Read the fields up to the empty line, names in lower case, values latin-1 (RFC 9112 5).

    Other lines are skipped.   read: every line is added to it as it arrived
    """
    fields: list[tuple[str, str]] = []
    bytes_left = HEADER_BYTES_MAX
    lines = 0
    while (line := stream.readline(bytes_left + 1)) not in (b"\r\n", b"\n"):
        read.append(line)
        bytes_left -= len(line)
        lines += 1
        if bytes_left < 0 or lines > HEADER_COUNT_MAX:
            raise Broken(Failure.PROTOCOL, f"more than {HEADER_COUNT_MAX} header lines or {HEADER_BYTES_MAX} bytes")
        if not line.endswith(b"\n"):
            raise http.client.RemoteDisconnected("the connection ended within the headers")
        if line[0] in b" \t":  # RFC 9112 5.2: a folded line continues the value before it
            if fields:
                fields[-1] = (fields[-1][0], f"{fields[-1][1]} {_value(line)}".strip())
            continue
        written, colon, value = line.partition(b":")
        if colon and (name := _usual_name(written) if len(written) <= USUAL_NAME_BYTES else _name(written)):
            fields.append((name, _value(value)))
    read.append(line)
    return fields


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
    merged: dict[str, str] = {}
    for name, value in fields:
        if name in merged:
            if name in _ONE_VALUE:
                continue
            separator = "\n" if name == Header.X_ROBOTS_TAG else ", "
            value = f"{merged[name]}{separator}{value}"
        merged[name] = value
    return merged


def _framing(headers: dict[str, str], status: int) -> tuple[bool, int | None]:
    """Whether the body is chunked; if not, its length, None for "until the end" (RFC 9112 6.3)."""
    coding = headers.get("transfer-encoding")
    lengths = headers.get("content-length")
    if status in (204, 304) or status < 200:
        return False, 0
    if coding is not None:
        if coding.lower() not in ("chunked", "identity"):
            raise Broken(Failure.PROTOCOL, f"Transfer-Encoding {coding!r}, which nobody asked for")
        if coding.lower() == "chunked":
            headers.pop("content-length", None)  # RFC 9112 6.3: overridden
            return True, None
    if lengths is None:
        return False, None
    values = {value.strip() for value in lengths.split(",")}
    length = values.pop()
    if values or not (length.isascii() and length.isdigit() and len(length) < 19):
        raise Broken(Failure.PROTOCOL, f"Content-Length {lengths!r}")
    return False, int(length)
