"""Reads the rows of an export batch by batch, with the columns that were chosen, in bounded memory.

Paging by key instead of one long cursor: a transaction that lasts as long as an export would keep Postgres from
clearing up behind the frontier.

Pages may be chosen by what their owners allow; the column `rights` is the evidence. Some columns are made from archived
bodies: html, plain_html, markdown, and the full text. All but plain_html are of what a browser made, where it did;
plain_html is of the site's answer.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Engine

from app.config import Settings
from app.errors import ArchiveMissing, InputError
from app.extras import to_install
from app.features.archive.read import Archive
from app.features.export.columns import TYPE, ExportColumn, ExportKind
from app.features.rights import rows
from app.features.rights.purpose import Purpose, PurposeAnswer, PurposeVerdict, verdicts
from app.model import Archived, Capture
from app.parse import charset
from app.parse.html.html import full_text
from app.plugins import value_of
from app.policy import media_type
from app.store import db
from app.store.crawls import Crawl

_sql = db.queries("export", __file__)
Position = tuple[str, ...]  # the key of a row as text: the columns after_1, after_2 …, in the order of the export
Row = tuple[Any, ...]
MOST_ROWS: Final = 5_000  # of a batch
MOST_TEXTS: Final = 500  # of a batch whose rows hold texts
MOST_BODIES: Final = 50  # of a batch whose rows hold bodies
_HEAVY: Final = {
    "text": MOST_TEXTS,
    "html": MOST_BODIES,
    "plain_html": MOST_BODIES,
    "markdown": MOST_BODIES,
    "data": MOST_TEXTS,
}

COLUMN: Final = "rights"
MOST_REASONS: Final = 50  # each counted; those beyond are counted together
HTML: Final = "html"
PLAIN_HTML: Final = "plain_html"
MARKDOWN: Final = "markdown"
TEXT: Final = "text"  # where it is wanted in full: the main text is in the database


def most_at_once(columns: Iterable[ExportColumn]) -> int:
    """How many rows of these columns are held at once."""
    return min(_HEAVY.get(column.name, MOST_ROWS) for column in columns)


class ExportBatch(NamedTuple):
    """Rows in the order of `names`; the first columns, after_1 and so on, are the key by which they are ordered."""

    names: list[str]
    rows: list[tuple[Any, ...]]

    @property
    def last(self) -> Position:
        """The position of the last row."""
        return tuple(map(_text, self.rows[-1][: self._width]))

    @property
    def positions(self) -> int:
        """The number of positions: a page has one, however many links it has."""
        return len({row[: self._width] for row in self.rows})

    @property
    def _width(self) -> int:
        return sum(name.startswith("after_") for name in self.names)


_BATCHES = {"pages": _sql["pages"], "fetches": _sql["fetches"], "links": _sql["links"], "items": _sql["items"]}
_FIRST: Mapping[str, Position] = {
    "pages": ("0", ""),
    "fetches": ("-infinity", "0"),
    "links": ("-infinity", "0"),
    "items": ("0", "", "", "-1"),
}


def first(kind: str) -> Position:
    """The position in front of all rows."""
    return _FIRST[kind]


def batch(
    tx: Connection, kind: str, *, crawl_id: int, after: Position, n: int, where: Mapping[str, Any]
) -> ExportBatch:
    """The next n rows.   where: a value for each filter of the kind's query, None: any; and for each flag of it"""
    values = {"crawl_id": crawl_id, "n": n, **where}
    values |= {f"after_{place}": value for place, value in enumerate(after, 1)}
    return ExportBatch(*db.tuples(tx, _BATCHES[kind], values))


def latest_captures(
    tx: Connection, *, crawl_id: int, pages: Sequence[tuple[int, bytes]]
) -> dict[tuple[int, bytes], Capture]:
    """The latest capture of each page, by (host id, key): of the rendered document, where one stands.

    Pages that are not in the archive are missing.
    """
    rows = db.rows_param([{"host_id": host_id, "key": key} for host_id, key in pages])
    found = db.run(tx, _sql["latest_captures"], {"crawl_id": crawl_id, "rows": rows}).of(Capture)
    return {(capture.host_id, capture.key): capture for capture in found}


def fits(tx: Connection, pattern: str) -> None:
    """Try a regular expression. Raises Unwritable with Postgres' objection."""
    tx.execute(_sql["fits"], {"pattern": pattern})


def _text(value: object) -> str:
    match value:
        case bytes():
            return value.hex()
        case datetime():
            return value.isoformat()
        case _:
            return str(value)


# From a batch as it was read, the values of columns that are not in the database, by column.
Furnish = Callable[[ExportBatch], Mapping[str, Sequence[Any]]]


@dataclass(slots=True, kw_only=True)
class ExportRows:
    """The rows of an export from `after` on.

    where    values for the filters, and the flags, of the kind's query
    furnish  makes the columns that are read elsewhere, or None
    is_wanted  whether a row, by name, is handed out; before anything is furnished
    sift     leaves out rows of a batch, likewise
    after    the position of the last row that was handed out
    rows     how many were handed out
    is_done  there is none left
    """

    engine: Engine
    kind: ExportKind
    crawl_id: int
    columns: tuple[ExportColumn, ...]
    where: Mapping[str, Any]
    after: Position
    furnish: Furnish | None = None
    is_wanted: Callable[[Mapping[str, Any]], bool] | None = None
    sift: Callable[[ExportBatch], ExportBatch] | None = None
    rows: int = 0
    is_done: bool = False

    def batches(self, most: int | None = None) -> Iterator[list[Row]]:
        """Batches of rows until none is left, or `most` were handed out (of links: and the rest of a batch)."""
        left = most
        at_once = most_at_once(self.columns)
        if self.kind is ExportKind.LINKS:
            at_once = 200  # pages, each with some fifty links
        elif self.kind is ExportKind.ITEMS:
            at_once = MOST_TEXTS
        while not self.is_done and (left is None or left > 0):
            n = at_once if left is None else min(at_once, left)
            with db.transaction(self.engine) as tx:
                found = self._read(tx, n)
            self.is_done = found.positions < n
            if found.rows:
                self.after = found.last
                chosen = self._chosen(found)
                self.rows += len(chosen)
                left = None if left is None else left - len(chosen)
                if chosen:
                    yield chosen

    def has_more(self) -> bool:
        """Whether a row may be left."""
        if not self.is_done:
            with db.transaction(self.engine) as tx:
                found = self._read(tx, 1)
            self.is_done = not found.rows
        return not self.is_done

    def _read(self, tx: Connection, n: int) -> ExportBatch:
        where = {name: value for name, value in self.where.items() if name != TYPE}
        return batch(tx, self.kind, crawl_id=self.crawl_id, after=self.after, n=n, where=where)

    def _chosen(self, found: ExportBatch) -> list[Row]:
        """The rows with the chosen columns alone, in their order."""
        if self.kind is ExportKind.LINKS:
            place = found.names.index("to_url")  # missing where no link of a page is wanted
            found = found._replace(rows=[row for row in found.rows if row[place] is not None])
        if types := self.where.get(TYPE):
            place = found.names.index("content_type")
            found = found._replace(rows=[row for row in found.rows if _is_of(types, row[place])])
        if self.is_wanted is not None:
            found = found._replace(
                rows=[row for row in found.rows if self.is_wanted(dict(zip(found.names, row, strict=True)))]
            )
        if self.sift is not None:
            found = self.sift(found)
        more = self.furnish(found) if self.furnish is not None else {}
        places = {name: place for place, name in enumerate(found.names)}
        values = [
            more[column.name] if column.name in more else [_value(row, places, column.name) for row in found.rows]
            for column in self.columns
        ]
        return list(zip(*values, strict=True))


def _value(row: Sequence[Any], places: Mapping[str, int], name: str) -> Any:
    """The value of a column of the database; `plugin.column` is one that a plugin read of the document."""
    if name in places:
        return row[places[name]]
    plugin, _, column = name.partition(".")
    return value_of(row[places["data"]], plugin, column)


def _is_of(types: Sequence[str], field: str | None) -> bool:
    """Whether a page is of one of these types. XHTML is HTML, too."""
    essence = media_type.of_page(field)
    return essence in types or (media_type.HTML in types and media_type.is_html(essence))


def purpose_of(word: str) -> Purpose:
    """Raises InputError for a word that names none."""
    if word not in set(Purpose):
        raise InputError(f"--for {word}", f"is no purpose; use one of {', '.join(Purpose)}")
    return Purpose(word)


class ExportRights:
    """The verdicts of a crawl's pages, for an export.

    purpose     pages that it is not allowed for are left out; None: none is
    or_unknown  pages stay of which it is not known
    left_out    how many, by reason
    """

    def __init__(self, engine: Engine, crawl: Crawl, purpose: Purpose | None, *, or_unknown: bool) -> None:
        self._engine = engine
        self._crawl_id = crawl.id
        self._purpose = purpose
        self._or_unknown = or_unknown
        self._known: dict[tuple[int, str], dict[Purpose, PurposeVerdict]] = {}
        self.left_out: Counter[str] = Counter()

    def sift(self, batch: ExportBatch) -> ExportBatch:
        """The pages of a batch that the purpose is allowed for."""
        places = [(row[0], row[1].hex()) for row in batch.rows]
        with db.transaction(self._engine) as tx:
            found = rows.of_pages(tx, self._crawl_id, places)
        self._known = {place: verdicts(found.get(place, ())) for place in places}
        if self._purpose is None:
            return batch
        kept = []
        for row, place in zip(batch.rows, places, strict=True):
            verdict = self._known[place][self._purpose]
            if verdict.answer is PurposeAnswer.ALLOWED or (
                self._or_unknown and verdict.answer is PurposeAnswer.UNKNOWN
            ):
                kept.append(row)
            else:
                self._leave_out(verdict)
        return batch._replace(rows=kept)

    def furnish(self, batch: ExportBatch) -> Mapping[str, Sequence[Any]]:
        """The column of the evidence: by purpose the answer, and the statement that decided."""
        return {COLUMN: [_shown(self._known[row[0], row[1].hex()]) for row in batch.rows]}

    def _leave_out(self, verdict: PurposeVerdict) -> None:
        reason = _reason(verdict)
        is_full = len(self.left_out) >= MOST_REASONS and reason not in self.left_out
        self.left_out["other reasons" if is_full else reason] += 1


def _reason(verdict: PurposeVerdict) -> str:
    """A reason without the address of a licence, of which each site has its own."""
    if verdict.by is None:
        return "unknown: no statement"
    value = f"={verdict.by.value}" if verdict.by.value and "://" not in verdict.by.value else ""
    return f"{verdict.answer}: {verdict.by.name}{value} ({verdict.by.source.partition(' http')[0]})"


def _shown(found: Mapping[Purpose, PurposeVerdict]) -> dict[str, dict[str, str | None]]:
    return {purpose.value: {"answer": found[purpose].answer.value, "by": found[purpose].words} for purpose in Purpose}


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
