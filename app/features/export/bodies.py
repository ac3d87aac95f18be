"""Fetches the columns of pages that are made from their archived bodies: html, plain_html, markdown, and the full text.

All but plain_html are of what a browser made, where it did; plain_html is of the site's answer.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Engine

from app.config import Settings
from app.errors import ArchiveMissing, InputError
from app.extras import to_install
from app.features.archive.read import Archive
from app.features.export.columns import ExportColumn
from app.features.export.rows import ExportBatch, latest_captures
from app.model import Archived, Capture
from app.parse import charset
from app.parse.html.html import full_text
from app.store import db
from app.store.crawls import Crawl

HTML: Final = "html"
PLAIN_HTML: Final = "plain_html"
MARKDOWN: Final = "markdown"
TEXT: Final = "text"  # where it is wanted in full: the main text is in the database


def check(columns: Sequence[ExportColumn]) -> None:
    """Whether the wanted columns can be made here. Raises InputError without the library."""
    if MARKDOWN in {column.name for column in columns} and not can_make_markdown():
        raise InputError("Markdown", f"needs html-to-markdown; {to_install('text')}")


def can_make_markdown() -> bool:
    """Whether its library, of the extra `text`, is installed."""
    try:
        import html_to_markdown  # noqa: F401  # whether it is there
    except ImportError:
        return False
    return True


class Bodies:
    """Reads the bodies of a crawl's pages for an export.   missing: how many were not in the archive

    whole  text and markdown are all that a reader of the page sees
    """

    def __init__(
        self, engine: Engine, settings: Settings, crawl: Crawl, columns: Sequence[ExportColumn], *, whole: bool
    ) -> None:
        self._engine = engine
        self._crawl_id = crawl.id
        self._archive = Archive(engine, settings)
        self._whole = whole
        self.wanted = {HTML, PLAIN_HTML, MARKDOWN, *([TEXT] if whole else [])} & {column.name for column in columns}
        self.missing = 0

    def furnish(self, batch: ExportBatch) -> dict[str, list[Any]]:
        """The wanted columns of a batch of pages; None for a page without a body."""
        with db.transaction(self._engine) as tx:
            places = [(row[0], row[1]) for row in batch.rows]
            captures = latest_captures(tx, crawl_id=self._crawl_id, pages=places)
        made: dict[str, list[Any]] = {name: [] for name in self.wanted}
        for place in places:
            found = self._read(captures.get(place))
            for name in self.wanted - {PLAIN_HTML}:
                made[name].append(None if found is None else _of_body(name, *found, whole=self._whole))
            if PLAIN_HTML in self.wanted:
                made[PLAIN_HTML].append(None if found is None else self._plain(*found))
        return made

    def _plain(self, capture: Capture, answer: Archived) -> str | None:
        """The body of the site's answer."""
        if capture.rendered_from is not None:
            try:
                capture, answer = self._archive.plain(capture)
            except ArchiveMissing:
                self.missing += 1
                return None
        return charset.decode(answer.body, capture.content_type)[0]

    def _read(self, capture: Capture | None) -> tuple[Capture, Archived] | None:
        if capture is not None:
            try:
                return capture, self._archive.read(capture)
            except ArchiveMissing:
                pass  # counted below, and said at the end
        self.missing += 1
        return None


def _of_body(name: str, capture: Capture, answer: Archived, *, whole: bool) -> str:
    if name == HTML:
        return charset.decode(answer.body, capture.content_type)[0]
    if name == TEXT:
        return full_text(answer.body, capture.content_type)
    from app.parse import markdown

    return markdown.of(answer.body, answer.at or capture.url, capture.content_type, whole=whole)
