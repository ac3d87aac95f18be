"""CDXJ: an index line for each response and revisit record of a segment, as pywb and replayweb.page read it. Pure.

A line is `KEY TIMESTAMP {json}`, and a finished index is sorted. The key is the URL in SURT form as pywb makes it,
which folds more than ours: case, `www.`, a slash at the end. https://specs.webrecorder.net/cdxj/0.1.0/
"""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

import orjson

from app.policy import media_type as types

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
