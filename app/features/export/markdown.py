"""Makes the Markdown file of a page: front matter (YAML), then its main content."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

FRONT: Final = (
    *(
        "url",
        "title",
        "headline",
        "author",
        "description",
        "language",
        "language_detected",
        "published_at",
        "modified_at",
    ),
    *("canonical_url", "status"),
    *("first_fetched_at", "fetched_at", "changed_at", "text_sha256"),
)  # columns of the front matter, unless others are chosen
NEEDED: Final = ("url", "key", "text", "markdown")
LONGEST_BYTES: Final = 80  # of a part's readable words: file systems allow 255 octets
MOST_FOLDERS: Final = 16
HASH_CHARS: Final = 12
_NOT_A_NAME = re.compile(r"[^\w.-]+")
_PLAIN = re.compile(r"(?![.-])[a-z0-9._-]{1,80}(?<![.])")  # lower case: some file systems do not tell cases apart
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(10))})
# JSON lets these stand in a text; YAML forbids them (1.2.2, 5.1), or ends a line there.
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def file_of(page: Mapping[str, Any]) -> tuple[str, str]:
    """(name of the file, its text). page: its columns by name; those without a value are left out of the front matter.

    A page that is not in the archive has its main text for content.
    """
    front = {
        name: value for name, value in page.items() if name not in {"key", "text", "markdown"} and value is not None
    }
    lines = [f"{name}: {_yaml(value)}" for name, value in front.items()]
    content = (page["markdown"] or page["text"] or "").strip()
    return file_name(page["url"], page["key"]), "\n".join(["---", *lines, "---", "", content, ""])


def file_name(url: str, key: str) -> str:
    """The place of a page's file: folders like the site's, and a name that a person can read.

    https://a.example/docs/ is a.example/docs/index.md, /docs a.example/docs.md, /a.html a.example/a.html.md; http is
    told apart, http_a.example. A URL never leaves the folder, and no two URLs have one file, also where case is not
    told apart: a part that cannot stand as it is gets a hash behind it.   key: of the URL, hexadecimal
    """
    parts = urlsplit(url)
    *folders, last = parts.path.split("/")[1:] or [""]
    place = "/".join([_host(parts), *map(_folder, folders[:MOST_FOLDERS])])
    if "?" not in url and len(folders) <= MOST_FOLDERS and last != "index":
        if not last:
            return f"{place}/index.md"
        if _is_plain(last):
            return f"{place}/{last}.md"
    return f"{place}/{_readable(f'{last}-{parts.query}' if parts.query else last)}-{key[:HASH_CHARS]}.md"


def _host(parts: SplitResult) -> str:
    """A folder for the origin. No host of its own begins with http_: one with an underscore gets a hash."""
    host, port = parts.hostname or "", f"_{parts.port}" if parts.port else ""
    named = host if _is_plain(host) and "_" not in host else _hashed(host)
    return f"{'http_' if parts.scheme == 'http' else ''}{named}{port}"


def _folder(part: str) -> str:
    """A folder's name; it never ends as a file's."""
    return part if _is_plain(part) and not part.endswith(".md") else _hashed(part)


def _hashed(part: str) -> str:
    return f"{_readable(part)}-{sha256(part.encode('utf-8', 'replace')).hexdigest()[:HASH_CHARS]}"


def _is_plain(part: str) -> bool:
    """Whether it can be a name as it stands, on any file system (Windows' device names included)."""
    return bool(_PLAIN.fullmatch(part)) and part.partition(".")[0] not in _DEVICES


def _readable(part: str) -> str:
    words = _NOT_A_NAME.sub("-", unquote(part, errors="replace"))
    return words.encode("utf-8", "replace")[:LONGEST_BYTES].decode("utf-8", "ignore").strip("-.") or "_"


def _yaml(value: object) -> str:
    """A value in YAML, of which JSON is a part (yaml.org/spec/1.2.2, 1.2)."""
    match value:
        case datetime():
            return value.isoformat(timespec="seconds")
        case _:
            text = json.dumps(value, ensure_ascii=False)
            return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
