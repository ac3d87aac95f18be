"""The columns that an export can have, in their order, and which of them a person asks for. Closed lists."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import Final, NamedTuple

from app.errors import InputError
from app.plugins import Plugin


class ExportKind(StrEnum):
    """The kinds of rows that can be exported: the word after `tiptoe export`."""

    PAGES = "pages"
    FETCHES = "fetches"
    LINKS = "links"
    ITEMS = "items"


class ColumnType(StrEnum):
    """The type of a column's values, as typed formats have it. Each may be missing."""

    TEXT = "text"
    INTEGER = "integer"
    REAL = "real"
    BOOLEAN = "boolean"
    TIME = "time"  # with its zone, UTC
    DATE = "date"
    NUMERIC = "numeric"  # exact
    JSON = "json"


class ExportColumn(NamedTuple):
    """A column. asked: it is there only if it is asked for, because it is long or costs a look elsewhere."""

    name: str
    type: ColumnType
    asked: bool = False


def _columns(spec: str) -> tuple[ExportColumn, ...]:
    """Columns as they are written here: `name`, a text, or `name:type`; a + marks one that must be asked for."""
    found = []
    for word in spec.split():
        name, _, type_ = word.removesuffix("+").partition(":")
        found.append(ExportColumn(name, ColumnType(type_ or "text"), word.endswith("+")))
    return tuple(found)


_PAGES: Final = _columns("""
    url host status:integer content_type charset language language_detected title headline author
    description published_at:time published_from published_on modified_at:time modified_from modified_on
    canonical_url depth:integer links:integer links_cut:boolean
    body_bytes:integer truncated:boolean needs_script:json directives opt_out body_sha256 text_sha256
    first_fetched_at:time fetched_at:time changed_at:time state gone_at:time
    rights:json+ data:json+ key+ duplicate_of+ text+ markdown+ html+ plain_html+ rendered_at:time+
""")
_FETCHES: Final = _columns("""
    started_at:time ended_at:time host url kind reason status:integer outcome failure detail location retry_after
    content_type wire_bytes:integer body_bytes:integer truncated:boolean dns_ms:real connect_ms:real
    first_byte_ms:real total_ms:real conditional:boolean etag last_modified body_sha256 attempt:integer
    delay_s:real address visit_id:integer
""")
_LINKS: Final = _columns("from_url from_host to_url anchor rel found_at:time")
_ITEMS: Final = _columns("handler version:integer url host n:integer item:json stale:boolean extracted_at:time")
COLUMNS: Final[Mapping[ExportKind, tuple[ExportColumn, ...]]] = {
    ExportKind.PAGES: _PAGES,
    ExportKind.FETCHES: _FETCHES,
    ExportKind.LINKS: _LINKS,
    ExportKind.ITEMS: _ITEMS,
}


def of_plugins(found: Sequence[Plugin]) -> tuple[ExportColumn, ...]:
    """Columns of pages that plugins and features have of their own: `plugin.column`."""
    return tuple(
        ExportColumn(f"{plugin.name}.{column}", ColumnType(type_))
        for plugin in found
        for column, type_ in plugin.columns.items()
    )


def kind_of(word: str) -> ExportKind:
    """The kind that a word names. Raises InputError."""
    if word not in set(ExportKind):
        raise InputError(f"export {word}", f"can export {', '.join(ExportKind)}; name one of them")
    return ExportKind(word)


def choose(
    kind: ExportKind,
    names: Sequence[str] = (),
    *,
    usually: Sequence[str] = (),
    among: Sequence[ExportColumn] | None = None,
) -> tuple[ExportColumn, ...]:
    """The columns of these names, in their order; those that need not be asked for where none is named.

    A name with a + in front is added to these.   usually: further ones that need not be asked for
    among: the columns that there are; None: those of the kind
    Raises InputError for a name that is no column, or comes twice.
    """
    known = {column.name: column for column in among or COLUMNS[kind]}
    added = [name[1:] for name in names if name.startswith("+")]
    usual = [c.name for c in known.values() if not c.asked or (c.name in usually and c.name not in added)]
    named = [name for name in names if not name.startswith("+")]
    wanted = (named or usual) + added
    for place, name in enumerate(wanted):
        if name not in known:
            near = get_close_matches(name, known, n=1)
            remedy = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise InputError(f"--columns {name}", f"{kind} have no such column; {remedy}")
        if name in wanted[:place]:
            raise InputError(f"--columns {name}", "is named twice; name each column once")
    return tuple(known[name] for name in wanted)


def with_all(kind: ExportKind, chosen: Sequence[ExportColumn], names: Sequence[str]) -> tuple[ExportColumn, ...]:
    """The chosen columns, and behind them those of `names` that are missing."""
    known = {column.name: column for column in COLUMNS[kind]}
    have = {column.name for column in chosen}
    return (*chosen, *(known[name] for name in names if name not in have))
