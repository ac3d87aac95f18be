"""Exports rows of a crawl as files: checks what is asked for, writes part after part, and remembers how far it is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Engine

from app.admin import crawls
from app.admin.export import columns, filters, formats, progress, target
from app.admin.export.columns import ExportColumn, ExportKind
from app.admin.export.formats import ExportFormat
from app.admin.export.progress import ExportState
from app.admin.export.rows import ExportRows, Row
from app.admin.export.target import Target
from app.config import Settings
from app.errors import InputError, Unwritable
from app.store import db, export
from app.store.crawls import Crawl

PART_ROWS: Final = 250_000
# Rows are stamped before their transaction commits: the next increment begins so much earlier, and repeats a few.
OVERLAP: Final = timedelta(minutes=10)
Tell = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportWish:
    """What a person asks to be exported, as written.

    what       pages or fetches;   crawl: its name
    form       jsonl, csv, parquet or markdown
    to         a file, a folder, or s3://bucket/prefix/
    columns    names; one with a + is added to the usual ones; none: the usual ones
    where      filters, as `app.admin.export.filters` reads them
    since      rows from then on: pages by when they were fetched last
    part_rows  rows of a part, in a folder
    """

    what: str
    crawl: str
    form: str
    to: str
    columns: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    since: datetime | None = None
    part_rows: int = PART_ROWS


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The result. rows: of all parts, those of an interrupted run included; next_since: for the next increment.

    missing: pages whose body was asked for and is not in the archive
    """

    place: str
    rows: int
    parts: list[str]
    next_since: datetime
    is_resumed: bool
    missing: int = 0


def export_rows(engine: Engine, settings: Settings, wish: ExportWish, tell: Tell = lambda rows: None) -> Exported:
    """Export. tell: called with the rows so far. Raises InputError, ServiceError."""
    plan = _plan(engine, wish)
    with target.opened(wish.to, ending=plan.ending) as (place, name), target.writing(place):
        state = progress.recall(place, plan.signature) if name is None else None
        is_resumed = state is not None
        state = state or ExportState(wish=plan.signature, next_since=plan.next_since, after=export.first(plan.kind))
        rows = _rows(engine, settings, plan, state)
        write = formats.writer(plan.form)
        if name is not None:
            _write_part(place, name, write, plan, rows, None, tell)
            state.parts, state.rows = [(name, rows.rows)], rows.rows
        else:
            _write_parts(place, state, write, plan, rows, tell)
    return Exported(
        place=place.shown if name is None else f"{wish.to}",
        rows=state.rows,
        parts=[part for part, _ in state.parts],
        next_since=datetime.fromisoformat(state.next_since),
        is_resumed=is_resumed,
    )
