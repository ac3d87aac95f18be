"""Reads documents in a process that they may crash, hang or fill: `python -m app.sandbox.reader SOCKET BYTES`.

It answers an empty frame at first, which says that it is ready, then each document (`Job`, and its octets) with a
`ReaderAnswer`. It knows no settings, no network, no database. `app.sandbox.readers` starts and judges it.
"""

import json
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date
from importlib import import_module
from io import BytesIO
from itertools import chain
from typing import Any, NotRequired, TypedDict

from lxml import etree

from app.model.page import Link, Page
from app.parse.html import html
from app.parse.sitemap.sitemap import Child, Entry, SitemapKind, SitemapReading
from app.sandbox.wire import Wire, WireBroken, confine, memory_bytes, set_timers
from app.words import scalar

COLUMNS_CHARS = 8_000  # of the columns that a plugin reads of a document
ROWS_CHARS = 256_000  # of the rows that it reads of one
_OF_PAGE = frozenset({"title", "text", "language", "links", "rows"})
FILE_BYTES = 64 * 1024  # of standard error, and of any file that a plugin's reader writes


class PageOptions(TypedDict):
    """The arguments of `app.parse.html.html.read`."""

    content_type: str | None
    content_language: str | None
    token: str
    max_links: int
    want_text: bool
    want_language: bool


class MarkdownOptions(TypedDict):
    """The arguments of `app.parse.markdown.of`."""

    content_type: str | None
    base_url: str


class Job(TypedDict):
    """A document to read. cpu_s, wall_s: the time it may take.

    page: of a page;   markdown: of one that is wanted as Markdown; without either it is a sitemap
    reader: "module:function", which reads the page in place of ours;   by_plugin: whose it is
    """

    cpu_s: float
    wall_s: float
    page: PageOptions | None
    markdown: NotRequired[MarkdownOptions]
    reader: NotRequired[str]
    by_plugin: NotRequired[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The content of a sitemap, to be used like a finished `SitemapReading`."""

    kind: SitemapKind
    problem: str | None
    pages: list[Entry]
    children: list[Child]

    @property
    def entries(self) -> int:
        return len(self.pages) + len(self.children)

    def __iter__(self) -> Iterator[Entry | Child]:
        return chain(self.children, self.pages)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderAnswer:
    """A page, a listing or Markdown; none of them when the reader is ready. failed: what the parser did, such as
    "raised KeyError: …"."""

    page: Page | None = None
    sitemap: Listing | None = None
    markdown: str | None = None
    failed: str | None = None


def main(wire: Wire, memory_bytes: int) -> None:
    """Read documents until the parent is gone."""
    confine(memory_bytes, FILE_BYTES)
    wire.send(b"")
    while True:
        wire.send(_answer(wire))


def _answer(wire: Wire) -> bytes:
    """Receive the next document, and read it."""
    try:
        text, body = wire.receive()
        job: Job = json.loads(text)
        set_timers(job["wall_s"], job["cpu_s"])
        return _encoded(_read(job, body))
    except WireBroken:
        raise
    except (MemoryError, etree.XSLTApplyError):  # our stylesheet is sound: libxslt fails only for want of memory
        return _encoded(ReaderAnswer(failed=f"needed more than {memory_bytes() >> 20} MiB"))
    except Exception as error:  # noqa: BLE001  # any exception of a parser is our answer
        return _encoded(ReaderAnswer(failed=f"raised {type(error).__name__}: {error}"[:200]))
    finally:
        set_timers(0.0)


def _read(job: Job, body: bytes) -> ReaderAnswer:
    if job["page"] is not None and "reader" in job:
        return ReaderAnswer(page=_by_plugin(body, job["page"]["content_type"], job["reader"], job["by_plugin"]))
    if job["page"] is not None:
        return ReaderAnswer(page=html.read(body, **job["page"]))
    if "markdown" in job:
        from app.parse import markdown  # seldom wanted, and slow to load

        return ReaderAnswer(markdown=markdown.of(body, **job["markdown"]))
    reading = SitemapReading(BytesIO(body))
    values = list(reading)
    return ReaderAnswer(
        sitemap=Listing(
            kind=reading.kind,
            problem=reading.problem,
            pages=[value for value in values if isinstance(value, Entry)],
            children=[value for value in values if isinstance(value, Child)],
        )
    )


def _by_plugin(body: bytes, content_type: str | None, reader: str, plugin: str) -> Page:
    """The document as a plugin's reader finds it. Raises what that raises, TypeError for what is no document."""
    module, _, name = reader.partition(":")
    said = getattr(import_module(module), name)(body, content_type or "")
    if not isinstance(said, Mapping):
        raise TypeError(f"{reader} returned {type(said).__name__}, not a dict")
    columns = _bounded(reader, {key: said[key] for key in said if key not in _OF_PAGE}, "columns", COLUMNS_CHARS)
    rows = _bounded(reader, said.get("rows") or {}, "rows", ROWS_CHARS)
    if not all(isinstance(row, Mapping) for found in rows.values() for row in found):
        raise TypeError(f"{reader} returned rows that are no dicts: return 'rows': {{table: [{{column: value}}]}}")
    return Page(
        title=_text(said, "title", 1_000),
        language=_text(said, "language", 35),
        main_text=_text(said, "text", None) or "",
        links=tuple(Link(href=scalar(str(each))) for each in said.get("links") or ()),
        data={plugin: columns},
        rows={plugin: rows},
    )


def _bounded(reader: str, said: Mapping[str, Any], what: str, most: int) -> dict[str, Any]:
    """Values of a plugin's, as JSON can hold them. Raises ValueError where it is too long."""
    text = json.dumps(said, default=_plain)
    if len(text) > most:
        raise ValueError(f"{reader} returned more than {most:,} characters of {what}")
    whole: dict[str, Any] = json.loads(
        text, object_pairs_hook=lambda pairs: {scalar(key): _text_of(value) for key, value in pairs}
    )
    return whole


def _text_of(value: Any) -> Any:
    """A value whose text can be stored, and whose number can be read back."""
    if isinstance(value, list):
        return [_text_of(each) for each in value]
    if isinstance(value, int) and value.bit_length() > 63:  # of a bigint; a greater number is text
        return str(value)
    return scalar(value) if isinstance(value, str) else value


def _text(said: Mapping[str, Any], name: str, most: int | None) -> str | None:
    value = said.get(name)
    return scalar(str(value))[:most] or None if value is not None else None


def _encoded(answer: ReaderAnswer) -> bytes:
    return json.dumps(asdict(answer), default=_plain).encode()


def _plain(value: object) -> object:
    match value:
        case frozenset():
            return sorted(value)
        case date():  # or datetime
            return value.isoformat()
    raise TypeError(f"not for JSON: {value!r}")


if __name__ == "__main__":
    with suppress(WireBroken, KeyboardInterrupt):  # the parent is gone
        main(Wire(socket.socket(fileno=int(sys.argv[1]))), int(sys.argv[2]))
