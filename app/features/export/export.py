"""Exports rows of a crawl as files: part after part, each behind the last whole one, also after a crash."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import Engine

from app import plugins
from app.config import Settings
from app.features.export import columns, formats, markdown, progress, target
from app.features.export.formats import ExportFormat, Write
from app.features.export.plan import ExportPlan, ExportWish, plan
from app.features.export.progress import ExportState
from app.features.export.rows import COLUMN, Bodies, ExportRights, ExportRows, Furnish, Row, first
from app.features.export.target import ExportPlace

Tell = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The result of an export.

    rows        in all parts, those of an interrupted run included
    parts       names of the files; none for Markdown
    next_since  for the next increment
    is_resumed  an interrupted export was gone on with
    missing     pages of this run whose body was wanted and is not in the archive
    unfit       values of items, in this run, that did not fit the type of their column
    left_out    pages of this run that the purpose is not allowed for, by reason
    """

    place: str
    rows: int
    parts: list[str]
    next_since: datetime
    is_resumed: bool
    missing: int
    unfit: int
    left_out: Mapping[str, int]


def export_rows(engine: Engine, settings: Settings, wish: ExportWish, tell: Tell = lambda rows: None) -> Exported:
    """Export. tell: called with the rows so far. Raises InputError, ServiceError."""
    found = plan(engine, wish, columns.of_plugins(plugins.furnishing(settings.plugins)))
    with target.opened(wish.to, endings=found.endings) as (place, name), target.writing(place):
        before = progress.recall(place, found.signature) if name is None else None
        state = before or _fresh(found)
        since = found.where["since"] if state.since is None else datetime.fromisoformat(state.since)
        bodies = Bodies(engine, settings, found.crawl, found.columns, whole=found.whole)
        rights = _rights(engine, found)
        rows = ExportRows(
            engine=engine,
            kind=found.kind,
            crawl_id=found.crawl.id,
            columns=found.columns,
            where={**found.where, "since": since},
            after=state.after,
            furnish=found.flat.furnish if found.flat else _furnish(bodies, rights),
            sift=rights.sift if rights else None,
        )
        if found.form is ExportFormat.MARKDOWN:
            _write_pages(place, state, rows, tell)
        elif name is not None:
            _write_one(place, name, state, found, rows, tell)
        else:
            _write_parts(place, state, found, rows, tell)
    return Exported(
        place=wish.to,
        rows=state.rows,
        parts=[part for part, _ in state.parts],
        next_since=datetime.fromisoformat(state.next_since),
        is_resumed=before is not None,
        missing=bodies.missing,
        unfit=found.flat.unfit if found.flat else 0,
        left_out=dict(rights.left_out.most_common()) if rights else {},
    )


def _rights(engine: Engine, found: ExportPlan) -> ExportRights | None:
    if COLUMN not in {column.name for column in found.columns}:
        return None
    return ExportRights(engine, found.crawl, found.purpose, or_unknown=found.or_unknown)


def _furnish(bodies: Bodies, rights: ExportRights | None) -> Furnish | None:
    """The maker of those columns of pages that are not in their row; None: all are."""
    makers = [*([bodies.furnish] if bodies.wanted else []), *([rights.furnish] if rights else [])]
    if not makers:
        return None
    return lambda batch: {name: values for make in makers for name, values in make(batch).items()}


def _fresh(found: ExportPlan) -> ExportState:
    """The state of an export that begins."""
    since = found.where["since"]
    return ExportState(
        wish=found.signature,
        next_since=found.next_since,
        since=since.isoformat() if since else None,
        after=first(found.kind),
    )


def _write_one(
    place: ExportPlace, name: str, state: ExportState, found: ExportPlan, rows: ExportRows, tell: Tell
) -> None:
    """Write one file of all rows."""
    _write_file(place, name, found, _told(rows, None, 0, tell))
    state.parts, state.rows = [(name, rows.rows)], rows.rows


def _write_parts(place: ExportPlace, state: ExportState, found: ExportPlan, rows: ExportRows, tell: Tell) -> None:
    """Write part after part; after each the state, so that the next run begins behind it."""
    while not state.parts or rows.has_more():
        name, before = f"part-{len(state.parts) + 1:05}.{found.ending}", rows.rows
        _write_file(place, name, found, _told(rows, found.part_rows, state.rows - before, tell))
        state.parts.append((name, rows.rows - before))
        state.rows += rows.rows - before
        state.after = rows.after
        progress.keep(place, state)
    state.is_done = True
    progress.keep(place, state)


def _write_pages(place: ExportPlace, state: ExportState, rows: ExportRows, tell: Tell) -> None:
    """Write a file for each page; after each batch the state."""
    base = state.rows
    for batch in _told(rows, None, base, tell):
        for row in batch:
            name, text = markdown.file_of(dict(zip((column.name for column in rows.columns), row, strict=True)))
            target.put(place, name, text)
        state.after, state.rows = rows.after, base + rows.rows
        progress.keep(place, state)
    state.is_done = True
    progress.keep(place, state)


def _write_file(place: ExportPlace, name: str, found: ExportPlan, batches: Iterator[list[Row]]) -> None:
    write: Write = formats.writer(found.form, spreadsheet=found.spreadsheet)
    draft: Path = place.draft(name)
    try:
        write(draft, found.columns, batches)
        place.keep(name, draft)
    finally:
        draft.unlink(missing_ok=True)


def _told(rows: ExportRows, most: int | None, base: int, tell: Tell) -> Iterator[list[Row]]:
    """The batches, each reported.   base: rows that are not counted in `rows`"""
    for batch in rows.batches(most):
        yield batch
        tell(base + rows.rows)
