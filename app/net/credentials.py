"""Loads headers, a cookie or basic auth for the operator's own sites, from a file that only its owner can read.

    ["https://intranet.example.org"]
    basic = "user:password"          # RFC 7617
    cookie = "session=…"             # RFC 6265: the header's value
    headers = { X-Api-Key = "…" }

They are sent to exactly that origin, robots.txt included, and only where the request is `authorised`: for a URL that
the scope of its crawl admits, or for the page of that origin. They never follow a redirect: each hop is a separate
request, to its own origin. They are added when a request is sent, so that they appear nowhere else: not in a log, a
display or a stored header. No error message quotes them.
"""

import os
import re
import stat
import tomllib
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from app.errors import InputError
from app.policy.url import Canon

Fields = Mapping[str, str]
Origin = tuple[str, str, int]
MAX_BYTES: Final = 1024 * 1024
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 section 5.6.2
_VALUE: Final = re.compile(r"[!-~](?:[ -~]{0,8190}[!-~])?")
# Fields that identify us or frame the message: no site's entry may set them.
_OURS: Final = frozenset(
    {
        "host",
        "user-agent",
        "from",
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "transfer-encoding",
        "te",
        "trailer",
        "upgrade",
        "expect",
        "proxy-authorization",
        "signature",
        "signature-input",
        "signature-agent",
        "if-none-match",
        "if-modified-since",
    }
)
_EXAMPLE: Final = 'write ["https://intranet.example.org"] and below it basic, cookie or headers'


def load(path: Path) -> dict[Origin, Fields]:
    """Read {origin: fields}. Raises InputError for a file that others can read, or that is not as above."""
    try:
        document = tomllib.loads(_read(path).decode("utf-8"))
    except UnicodeDecodeError:
        raise _wrong(path, f"is not in UTF-8; {_EXAMPLE}") from None
    except (ValueError, RecursionError) as error:  # of no TOML, of a number too long, of tables too deep
        where = re.search(r"\(at [^)]*\)$", str(error))  # the message may quote what is there
        raise _wrong(path, f"is not TOML{f' {where[0]}' if where else ''}; {_EXAMPLE}") from None
    return {_origin(path, name): _fields(path, name, entry) for name, entry in document.items()}


def _origin(path: Path, name: str) -> Origin:
    url = Canon().canonicalise(name)
    if isinstance(url, str) or url.target != "/" or "?" in name or "#" in name:
        bare = re.sub(r"[^/]*@", "…@", name)[:100]
        raise _wrong(path, f"[{bare!r}] is not an origin; write scheme and host, such as https://intranet.example.org")
    return url.origin.scheme, url.origin.host.strip("[]"), url.origin.port


def _fields(path: Path, name: str, entry: Any) -> Fields:
    if not isinstance(entry, dict) or not entry or not set(entry) <= {"basic", "cookie", "headers"}:
        raise _wrong(path, f"[{name}] may have basic, cookie and headers, and nothing else; {_EXAMPLE}")
    found: dict[str, str] = {}
    headers = entry.get("headers", {})
    if not isinstance(headers, dict):
        raise _wrong(path, f'[{name}] headers is not a table; write headers = {{ X-Api-Key = "…" }}')
    for field, value in headers.items():
        if not _TOKEN.fullmatch(field) or field.lower() in _OURS:
            raise _wrong(path, f"[{name}] header {field[:50]!r} cannot be set; remove it")
        found[field] = _printable(path, f"[{name}] header {field}", value)
    if "cookie" in entry:
        found["Cookie"] = _printable(path, f"[{name}] cookie", entry["cookie"])
    if "basic" in entry:
        pair = entry["basic"]
        if not isinstance(pair, str) or ":" not in pair or not pair.isprintable():
            raise _wrong(path, f'[{name}] basic is not a pair; write basic = "user:password"')
        found["Authorization"] = "Basic " + b64encode(pair.encode()).decode()
    return found


def _printable(path: Path, what: str, value: Any) -> str:
    if not isinstance(value, str) or not _VALUE.fullmatch(value):
        raise _wrong(path, f"{what} is not a header value; write 1 to 8,192 printable ASCII characters")
    return value


def _read(path: Path) -> bytes:
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise _wrong(path, "is not a regular file; set TIPTOE_CREDENTIALS_FILE to one")
            if os.name == "posix" and found.st_mode & 0o077:
                mode = f"{stat.S_IMODE(found.st_mode):04o}"
                raise _wrong(path, f"others can read it (mode {mode}); run: chmod 600 {path}")
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _wrong(path, f"cannot be read ({error.strerror}); set TIPTOE_CREDENTIALS_FILE to your own file") from None
    if len(content) > MAX_BYTES:
        raise _wrong(path, f"is longer than {MAX_BYTES:,} bytes; keep only the sites that need credentials")
    return content


def _wrong(path: Path, remedy: str) -> InputError:
    return InputError(f"credentials file {path}", remedy)
