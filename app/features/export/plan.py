"""Checks what a person wants exported, before anything is written, and lays out its columns.

The items of one handler have a column for each field, with the names and types of the view `items_NAME`. A field keeps
its name; a column of ours that has the same one is written with `_` in front, as in the view. JSON lines and CSV have
each value as the item has it. Parquet has it in the column's type; what does not fit, of an item that another version
made, is missing there and counted.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from sqlalchemy import Connection, Engine

from app.errors import InputError, Unwritable
from app.features.export import columns, formats, markdown, rows
from app.features.export.columns import COLUMNS, ColumnType, ExportColumn, ExportKind
from app.features.export.formats import ExportFormat
from app.features.export.rows import ExportBatch, fits
from app.features.links import part as links
from app.features.rights.purpose import Purpose
from app.policy.moment import is_ago, moment
from app.store import crawls, db, item_views, items, server
from app.store.crawls import Crawl

PART_ROWS: Final = 250_000
CONTENTS: Final = ("main", "full")
# Rows are stamped before their transaction commits: the next increment begins so much earlier, and repeats a few.
OVERLAP: Final = timedelta(minutes=10)
ITEM: Final = "item"
TYPES: Final = {
    "text": ColumnType.TEXT,
    "bigint": ColumnType.INTEGER,
    "double precision": ColumnType.REAL,
    "boolean": ColumnType.BOOLEAN,
    "numeric": ColumnType.NUMERIC,
    "timestamptz": ColumnType.TIME,
    "date": ColumnType.DATE,
    "jsonb": ColumnType.JSON,
}
_BIGINT: Final = range(-(2**63), 2**63)
_NUMERIC_DIGITS, _NUMERIC_PLACES = 38, 9  # of Parquet's decimal


@dataclass(slots=True, kw_only=True)
class ItemFields:
    """The columns of a handler's items, and their values.

    columns   all that can be asked for
    fields    of these, by name: those of items, with their types
    ours      of the others: the name of each in the query
    is_typed  values are made to fit their types
    unfit     how many values did not
    """

    columns: tuple[ExportColumn, ...]
    fields: Mapping[str, ColumnType]
    ours: Mapping[str, str]
    is_typed: bool
    unfit: int = 0

    def only(self, chosen: Sequence[ExportColumn]) -> "ItemFields":
        """Furnish the chosen columns alone."""
        names = {column.name for column in chosen}
        return replace(
            self,
            fields={name: type_ for name, type_ in self.fields.items() if name in names},
            ours={name: ours for name, ours in self.ours.items() if name in names},
        )

    def furnish(self, found: ExportBatch) -> dict[str, list[Any]]:
        """Make the values of the columns, from a batch as it was read."""
        places = {name: place for place, name in enumerate(found.names)}
        made = {name: [row[places[ours]] for row in found.rows] for name, ours in self.ours.items()}
        found_items = [row[places[ITEM]] for row in found.rows]
        return made | {name: [self._value(item, name) for item in found_items] for name in self.fields}

    def _value(self, item: Mapping[str, Any], name: str) -> Any:
        value = item.get(name)
        if value is None or not self.is_typed:
            return value
        try:
            return _FIT[self.fields[name]](value)
        except (TypeError, ValueError, OverflowError, InvalidOperation):
            self.unfit += 1
            return None


def of_crawl(tx: Connection, crawl_id: int, handlers: Sequence[str] | None, *, is_typed: bool) -> ItemFields | None:
    """Find the fields of the one handler that is asked for, or of the only one that has items.

    None: there are several, or its items have no view.
    """
    named = set(handlers) if handlers else {each.handler for each in items.status(tx, crawl_id=crawl_id)}
    view = item_views.columns(tx, named.pop()) if len(named) == 1 else {}
    fields = {name: TYPES[kind] for name, kind in view.items() if name not in item_views.FIRST and kind in TYPES}
    if not fields or tuple(view)[: len(item_views.FIRST)] != item_views.FIRST:
        return None
    ours = {_free(column.name, fields): column for column in COLUMNS[ExportKind.ITEMS]}
    front = [column._replace(name=name, asked=column.name == ITEM) for name, column in ours.items()]
    place = next(place for place, column in enumerate(front) if column.type is ColumnType.JSON)
    flat = [ExportColumn(name, type_) for name, type_ in fields.items()]
    return ItemFields(
        columns=(*front[:place], *flat, *front[place:]),
        fields=fields,
        ours={name: column.name for name, column in ours.items()},
        is_typed=is_typed,
    )


def _free(name: str, taken: Mapping[str, object]) -> str:
    """Put as many _ in front of the name as make it free."""
    while name in taken:
        name = f"_{name}"
    return name


def _text(value: Any) -> str:
    """Write a value as Postgres' ->> does."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str) or int(value) not in _BIGINT:
        raise ValueError(value)
    return int(value)


def _real(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError(value)
    return float(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def _numeric(value: Any) -> str:
    if isinstance(value, bool):
        raise TypeError(value)
    number = Decimal(str(value))
    if not number.is_finite() or -number.normalize().as_tuple().exponent > _NUMERIC_PLACES:  # type: ignore[operator]  # finite
        raise ValueError(value)
    if abs(number) >= Decimal(10) ** (_NUMERIC_DIGITS - _NUMERIC_PLACES):
        raise OverflowError(value)
    return f"{number:f}"


def _time(value: Any) -> datetime:
    found = datetime.fromisoformat(value)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def _as_is(value: Any) -> Any:
    return value


_FIT: Final[Mapping[ColumnType, Callable[[Any], Any]]] = {
    ColumnType.TEXT: _text,
    ColumnType.INTEGER: _integer,
    ColumnType.REAL: _real,
    ColumnType.BOOLEAN: _boolean,
    ColumnType.NUMERIC: _numeric,
    ColumnType.TIME: _time,
    ColumnType.DATE: date.fromisoformat,
    ColumnType.JSON: _as_is,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportWish:
    """An export as a person asks for it.

    what       pages or fetches;   crawl: its name
    form       jsonl, csv, parquet or markdown; None: as the ending of `to` says, else jsonl
    to         a file, a folder, or s3://bucket/prefix/
    columns    names; one with a + is added to the usual ones; none: the usual ones
    where      filters, as `app.features.export.columns` reads them
    since      rows from then on: pages by when they were fetched last; a text is read by `app.policy.moment`
    part_rows  rows of a part, in a folder
    spreadsheet  CSV gets a ' before cells that a spreadsheet would run as a formula
    content    main or full: how much of a page text and markdown are
    purpose    only pages that it is allowed for, with the evidence;   or_unknown: and those of which nobody knows
    """

    what: str
    crawl: str
    form: str | None = None
    to: str
    columns: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    since: datetime | str | None = None
    part_rows: int = PART_ROWS
    spreadsheet: bool = False
    content: str = "main"
    purpose: str | None = None
    or_unknown: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPlan:
    """A wish that was checked.

    endings  that a single file may have; none: there is a file for each page
    flat     the fields of items as columns; None: an item is one column
    """

    kind: ExportKind
    form: ExportFormat
    endings: tuple[str, ...]
    crawl: Crawl
    columns: tuple[ExportColumn, ...]
    flat: ItemFields | None
    where: dict[str, Any]
    signature: dict[str, Any]
    part_rows: int
    spreadsheet: bool
    next_since: str
    whole: bool = False
    purpose: Purpose | None = None
    or_unknown: bool = False

    @property
    def ending(self) -> str | None:
        """The ending of files; None: a file for each page."""
        return None if self.form is ExportFormat.MARKDOWN else self.form.value


def plan(engine: Engine, wish: ExportWish, of_plugins: Sequence[ExportColumn] = ()) -> ExportPlan:
    """Check a wish. Raises InputError.   of_plugins: further columns of pages"""
    kind, form = _kind_and_form(wish)
    given = columns.parse(kind, wish.where)
    with db.transaction(engine) as tx:
        crawl = crawls.named(tx, wish.crawl)
    flat = None
    if kind is ExportKind.ITEMS:
        with db.transaction(engine) as tx:
            flat = of_crawl(tx, crawl.id, given["handler"], is_typed=form is ExportFormat.PARQUET)
    among = (*columns.COLUMNS[kind], *of_plugins) if kind is ExportKind.PAGES else flat.columns if flat else None
    purpose = _purpose(wish, kind)
    chosen = _columns(wish, kind, form, among)
    if purpose is not None:
        chosen = columns.with_all(kind, chosen, (rows.COLUMN,))
    rows.check(chosen)
    names, whole = {column.name for column in chosen}, wish.content == "full"
    if whole and not {"text", "markdown"} & names:
        raise InputError("--content full", "is of the columns text and markdown; add --columns +text")
    flags = {"with_text": "text" in names, "with_duplicates": "duplicate_of" in names}
    if kind is ExportKind.LINKS:
        _check_keeps_links(engine, crawl)
    with db.transaction(engine) as tx:
        now = server.now(tx)
    since = moment(wish.since, now, option="--since") if isinstance(wish.since, str) else wish.since
    _try_patterns(engine, given)
    signature = {
        "what": kind,
        "crawl": [crawl.id, crawl.name],
        "form": form,
        "columns": [column.name for column in chosen],
        "where": sorted(wish.where),
        "since": _signed(wish.since, since),
    }
    return ExportPlan(
        kind=kind,
        form=form,
        endings=formats.endings(form, is_chosen=wish.form is not None),
        crawl=crawl,
        columns=chosen,
        flat=flat.only(chosen) if flat else None,
        where={**given, **flags, "since": since},
        signature=signature | _signed_options(wish),
        part_rows=wish.part_rows,
        spreadsheet=wish.spreadsheet,
        whole=whole,
        purpose=purpose,
        or_unknown=wish.or_unknown,
        next_since=(now - OVERLAP).isoformat(timespec="seconds"),
    )


def _kind_and_form(wish: ExportWish) -> tuple[ExportKind, ExportFormat]:
    """Give the kind of rows and the format that are wished for. Raises InputError where they cannot be."""
    kind, form = columns.kind_of(wish.what), formats.format_of(wish.form, wish.to)
    if form is ExportFormat.MARKDOWN and kind is not ExportKind.PAGES:
        raise InputError(f"--format {form}", f"is for pages; export {kind} as jsonl, csv or parquet")
    if wish.spreadsheet and form is not ExportFormat.CSV:
        raise InputError("--spreadsheet", f"is for csv, and this is {form}; add --format csv")
    if wish.part_rows < 1:
        raise InputError(f"--part-rows {wish.part_rows}", "is not a number of rows; use 1 or more")
    if wish.content not in CONTENTS:
        raise InputError(f"--content {wish.content}", f"is not one of {', '.join(CONTENTS)}; choose one")
    if form is not ExportFormat.MARKDOWN:
        formats.writer(form)
    return kind, form


def _purpose(wish: ExportWish, kind: ExportKind) -> Purpose | None:
    """The purpose that pages are to be allowed for. Raises InputError."""
    if wish.purpose is None:
        if wish.or_unknown:
            raise InputError("--or-unknown", "is of an export for a purpose; add --for PURPOSE")
        return None
    if kind is not ExportKind.PAGES:
        raise InputError(f"--for {wish.purpose}", f"is of pages, and these are {kind}; export pages")
    return rows.purpose_of(wish.purpose)


def _columns(
    wish: ExportWish, kind: ExportKind, form: ExportFormat, among: Sequence[ExportColumn] | None
) -> tuple[ExportColumn, ...]:
    """The columns that are asked for, or the usual ones. Raises InputError."""
    if form is ExportFormat.MARKDOWN:
        chosen = columns.choose(kind, wish.columns or markdown.FRONT, among=among)
        return columns.with_all(kind, chosen, markdown.NEEDED)
    usually = texts() if kind is ExportKind.PAGES and form is ExportFormat.JSONL else ()
    return columns.choose(kind, wish.columns, usually=usually, among=among)


def texts() -> tuple[str, ...]:
    """The columns of text that JSON lines have unless others are named; Markdown where it can be made here."""
    return ("text", rows.MARKDOWN) if rows.can_make_markdown() else ("text",)


def _signed_options(wish: ExportWish) -> dict[str, Any]:
    """The part of the signature for options that few exports have."""
    return {
        **({"spreadsheet": True} if wish.spreadsheet else {}),
        **({"content": wish.content} if wish.content == "full" else {}),
        **({"for": [wish.purpose, wish.or_unknown]} if wish.purpose else {}),
    }


def _signed(asked: datetime | str | None, since: datetime | None) -> str | None:
    """The part of the signature for `--since`: `7d` stays `7d`, though it is later each time that it is given."""
    if isinstance(asked, str) and is_ago(asked):
        return asked.strip().lower()
    return since.isoformat() if since else None


def _check_keeps_links(engine: Engine, crawl: Crawl) -> None:
    """Raises InputError with the remedy for a crawl that keeps no links and kept none before."""
    with db.transaction(engine) as tx:
        if crawl.keep_links or links.are_kept(tx, crawl.id):
            return
    edit, start = f"tiptoe crawl edit {crawl.name} --keep-links", f"tiptoe crawl start {crawl.name} --again"
    raise InputError(f"crawl {crawl.name}", f"keeps no links; run: {edit}, then {start}")


def _try_patterns(engine: Engine, given: Mapping[str, list[Any] | None]) -> None:
    """Raises InputError for a regular expression that Postgres does not read."""
    for name, patterns in given.items():
        for pattern in patterns or () if name.endswith("_like") else ():
            try:
                with db.transaction(engine) as tx:
                    fits(tx, pattern)
            except Unwritable as error:
                shown = f"--where {name.removesuffix('_like')}~{pattern}"
                raise InputError(shown, f"is not a regular expression of Postgres ({error})") from None
