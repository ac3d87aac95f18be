"""Writes the changes of a crawl into files: one file of all that is asked for, or a folder that gets increments.

A row of a page that is gone or withdrawn is its tombstone: it has no text. A folder remembers its cursor; each run
writes what came since the last one, into a part of its own. A run that was killed leaves no part without its cursor
but one, which the next run writes anew.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

import orjson
from sqlalchemy import Engine

from app.admin.changes import Changes, ChangesWish, PageChange, changes
from app.config import Settings
from app.errors import InputError
from app.features.export import formats, target
from app.features.export.columns import ColumnType, ExportColumn
from app.features.export.formats import ExportFormat
from app.features.export.rows import Row
from app.features.export.target import ExportPlace

STATE: Final = "changes.json"
_COLUMNS: Final = (
    ExportColumn("cursor", ColumnType.TEXT),
    ExportColumn("change", ColumnType.TEXT),
    ExportColumn("at", ColumnType.TIME),
    ExportColumn("url", ColumnType.TEXT),
    ExportColumn("host", ColumnType.TEXT),
    ExportColumn("title", ColumnType.TEXT),
    ExportColumn("why", ColumnType.TEXT),
    ExportColumn("text_sha256", ColumnType.TEXT),
    ExportColumn("text", ColumnType.TEXT),
)
_BATCH: Final = 100


class WrittenChanges(NamedTuple):
    """file: its name; None: there was nothing to be written into the folder.   cursor: behind the last row"""

    place: str
    file: str | None
    rows: int
    cursor: str


def write(
    engine: Engine, settings: Settings, name: str, wish: ChangesWish, *, to: str, form: str | None
) -> WrittenChanges:
    """Write changes as `wish` says; into a folder the next part, from where the last one ended. Raises InputError."""
    chosen = formats.format_of(form, to)
    if chosen is ExportFormat.MARKDOWN:
        raise InputError(f"--format {chosen}", "is for pages; write changes as jsonl, csv or parquet")
    formats.writer(chosen)
    wish = replace(wish, with_text=True)
    with target.opened(to, endings=formats.endings(chosen, is_chosen=form is not None)) as (place, file):
        if file is not None:
            found = changes(engine, settings, name, wish)
            rows = _write(place, file, chosen, found)
            return WrittenChanges(to, file, rows, found.cursor)
        return _write_part(engine, settings, name, wish, place=place, to=to, form=chosen)


def _write_part(
    engine: Engine, settings: Settings, name: str, wish: ChangesWish, *, place: ExportPlace, to: str, form: ExportFormat
) -> WrittenChanges:
    """Write the next part of a folder; none where nothing came."""
    held = place.get(STATE)
    state = _state(held, to, name) if held is not None else {"crawl": name, "parts": 0, "cursor": None}
    if state["cursor"] is not None:
        wish = replace(wish, since=str(state["cursor"]))
    found, number = changes(engine, settings, name, wish), int(str(state["parts"])) + 1
    file = f"changes-{number:05}.{form}"
    rows = _write(place, file, form, found, may_be_empty=False)
    kept = {**state, "parts": number if rows else number - 1, "cursor": found.cursor}
    with target.writing(place):
        target.put(place, STATE, orjson.dumps(kept).decode())
    return WrittenChanges(to, file if rows else None, rows, found.cursor)


def _state(held: bytes, to: str, name: str) -> dict[str, object]:
    try:
        state = orjson.loads(held)
        if state["crawl"] == name and state["parts"] >= 0:
            return {"crawl": name, "parts": state["parts"], "cursor": state["cursor"]}
        raise InputError(f"--to {to}", f"holds the changes of {state['crawl']}; name another folder")
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"--to {to}", f"holds a {STATE} that cannot be read; name another folder") from error


def _write(place: ExportPlace, file: str, form: ExportFormat, found: Changes, *, may_be_empty: bool = True) -> int:
    """Write one file, whole. Returns how many rows."""
    counted = [0]
    draft = place.draft(file)
    with target.writing(place):
        try:
            formats.writer(form)(draft, _COLUMNS, _batches(found.found, counted))
            if counted[0] or may_be_empty:
                place.keep(file, draft)
        finally:
            draft.unlink(missing_ok=True)
    return counted[0]


def _batches(found: Iterator[PageChange], counted: list[int]) -> Iterator[list[Row]]:
    lot: list[Row] = []
    for each in found:
        digest = None if each.text_sha256 is None else each.text_sha256.hex()
        lot.append(
            (each.cursor, str(each.change), each.at, each.url, each.host, each.title, each.why, digest, each.text)
        )
        counted[0] += 1
        if len(lot) == _BATCH:
            yield lot
            lot = []
    if lot:
        yield lot
