"""Makes the Markdown file of a page: front matter (YAML), then its main content."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

FRONT: Final = (
    *("url", "title", "description", "language", "language_detected", "published_at", "modified_at"),
    *("canonical_url", "status"),
    *("first_fetched_at", "fetched_at", "changed_at", "text_sha256"),
)  # columns of the front matter, unless others are chosen
NEEDED: Final = ("url", "key", "text", "markdown")
_CONTENT: Final = ("key", "text", "markdown")
LONGEST_NAME: Final = 80
_UNPRINTABLE = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")  # JSON takes these, and YAML does not (5.1)
_NOT_A_NAME = re.compile(r"[^\w.-]+")


def file_of(page: Mapping[str, Any]) -> tuple[str, str]:
    """(name of the file, its text). page: its columns by name; those without a value are left out of the front matter.

    A page that is not in the archive has its main text for content.
    """
    front = {name: value for name, value in page.items() if name not in _CONTENT and value is not None}
    lines = [f"{name}: {_yaml(value)}" for name, value in front.items()]
    content = (page["markdown"] or page["text"] or "").strip()
    return _name(page["url"], page["key"]), "\n".join(["---", *lines, "---", "", content, ""])


def _name(url: str, key: str) -> str:
    """A folder for the host, and a name that a person can read; the URL's hash tells URLs apart that read alike."""
    parts = urlsplit(url)
    words = _NOT_A_NAME.sub("-", f"{parts.path}-{parts.query}" if parts.query else parts.path).strip("-.")
    host = _NOT_A_NAME.sub("-", parts.netloc)
    return f"{host}/{words[:LONGEST_NAME].strip('-.') or 'index'}-{key[:12]}.md"


def _yaml(value: object) -> str:
    """A value in YAML, of which JSON is a part (yaml.org/spec/1.2.2, 1.2)."""
    match value:
        case datetime():
            return value.isoformat(timespec="seconds")
        case _:
            return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
