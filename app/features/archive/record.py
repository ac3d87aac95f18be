"""WARC 1.1 records (ISO 28500:2017) as gzip members: one record, one member, so that each is read by itself. Pure.

A writer of ours: warcio takes half as long again. The tests have warcio and fastwarc read what it
writes. It is packed by ISA-L, in two fifths of zlib's time; a page takes 4 % more room.

CDXJ: an index line for each response and revisit record of a segment, as pywb and replayweb.page read it. Pure.

A line is `KEY TIMESTAMP {json}`, and a finished index is sorted. The key is the URL in SURT form as pywb makes it,
which folds more than ours: case, `www.`, a slash at the end. https://specs.webrecorder.net/cdxj/0.1.0/
"""

import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import BinaryIO, NamedTuple
from urllib.parse import unquote_to_bytes
from uuid import UUID

import orjson
from isal import igzip_lib, isal_zlib

from app.policy import media_type as types

LEVEL = 2  # 3 takes 60 % longer, for 3 % less room
SMALL_LEVEL, SMALL_BYTES = 1, 4096  # a small record is no smaller at 2
PACKED_LEVEL = 1  # for what the server packed already: more finds nothing
# ISA-L's buffer for a record: 90 kB in place of 280 to 350, which malloc maps and unmaps each time where it keeps such
# blocks out of its arenas (app/local/stack.py). Documents of 4 to 64 kB get no larger by it, longer ones by 0.1 %.
BUFFER_LEVEL = 2
GZIP = 16 + isal_zlib.MAX_WBITS
PIECE_BYTES = 64 * 1024

Payload = bytes | BinaryIO
Fields = Sequence[tuple[str, str]]
_WWW = re.compile(r"www\d*\.")
_SLASHES = re.compile("/{2,}")
_SESSIONS = (
    re.compile(r"^(.*)(?:jsessionid=[0-9a-z]{32})(?:&(.*))?$"),
    re.compile(r"^(.*)(?:phpsessid=[0-9a-z]{32})(?:&(.*))?$"),
    re.compile(r"^(.*)(?:sid=[0-9a-z]{32})(?:&(.*))?$"),
    re.compile(r"^(.*)(?:aspsessionid[a-z]{8}=[a-z]{24})(?:&(.*))?$"),
    re.compile(r"^(.*)(?:cfid=[^&]+&cftoken=[^&]+)(?:&(.*))?$"),
)
REVISIT = "warc/revisit"


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


class IndexEntry(NamedTuple):
    """A record as an index lists it.

    digest          labelled, of the payload
    offset, length  of the record in its segment;   name: of that file, without the folder
    """

    url: str
    moment: datetime
    mime: str
    status: int
    digest: str
    length: int
    offset: int
    name: str


def line(entry: IndexEntry) -> bytes:
    found = {
        "url": entry.url,
        "mime": entry.mime,
        "status": str(entry.status),
        "digest": entry.digest,
        "length": str(entry.length),
        "offset": str(entry.offset),
        "filename": entry.name,
    }
    return b"%s %s %s\n" % (key(entry.url).encode(), _stamp(entry.moment), orjson.dumps(found))


def offset(line: bytes) -> int:
    """Where the record of a line begins in its segment."""
    return int(orjson.loads(line.split(b" ", 2)[2])["offset"])


def media_type(content_type: str | None) -> str:
    return types.declared(content_type) or "unk"


def key(url: str) -> str:
    """The URL in SURT form: `org,example)/path?query`."""
    scheme, _, rest = url.partition("://")
    cut = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    path, mark, query = rest[cut:].partition("?")
    return f"{_reversed(rest[:cut].lower(), scheme)}){_path(path)}{_query(query) if mark else ''}"


@lru_cache(maxsize=1_024)
def _reversed(authority: str, scheme: str) -> str:
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        host, port = authority, ""
    host = _WWW.sub("", host, count=1) if _WWW.match(host) else host
    named = ",".join(reversed(host.split(".")))
    return named if port in {"", "80" if scheme == "http" else "443"} else f"{named}:{port}"


def _path(path: str) -> str:
    path = _unescaped(path).lower()
    return (_SLASHES.sub("/", path) if "//" in path else path).removesuffix("/") or "/"


def _query(query: str) -> str:
    query = _unescaped(query).lower()
    for pattern in _SESSIONS if "id=" in query else ():
        if (found := pattern.match(query)) is not None:
            query = found[1] + (found[2] or "")
    return "?" + "&".join(sorted(query.split("&"), key=lambda pair: tuple(pair.split("=", 1)))) if query else ""


def _unescaped(text: str) -> str:
    """Escapes undone as long as there are any, and made anew where a character needs one."""
    if "%" not in text:
        return text
    octets = text.encode()
    while (once := unquote_to_bytes(octets)) != octets:
        octets = once
    return "".join(chr(each) if 0x20 < each < 0x7F and each not in b"#%" else f"%{each:02x}" for each in octets)


def _stamp(moment: datetime) -> bytes:
    written = moment.astimezone(UTC).isoformat()[:19]  # a third of the time of strftime
    return written.replace("-", "").replace("T", "").replace(":", "").encode()
