"""The columns that an export can have, in their order, and its filters: closed lists that a person chooses from.

A filter (`status=200`, `url~/blog/`) is turned into values of the query. Several values of one filter: any of them
fits. Several filters: all of them hold. `~` is a regular expression as Postgres reads it; everything else is compared
whole.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Final, NamedTuple

from app.errors import InputError
from app.model import Outcome, RequestKind
from app.plugins import Plugin
from app.policy import media_type

PATTERN: Final = "~"
TYPE: Final = "type"  # no parameter of a query: pages are chosen by it once they are read


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


COLUMNS: Final[Mapping[ExportKind, tuple[ExportColumn, ...]]] = {
    ExportKind.PAGES: _columns("""
    url host status:integer content_type charset language language_detected title headline author
    description published_at:time published_from published_on modified_at:time modified_from modified_on
    canonical_url depth:integer links:integer links_cut:boolean
    body_bytes:integer truncated:boolean needs_script:json directives opt_out body_sha256 text_sha256
    first_fetched_at:time fetched_at:time changed_at:time state gone_at:time
    rights:json+ data:json+ key+ duplicate_of+ text+ markdown+ html+ plain_html+ rendered_at:time+
"""),
    ExportKind.FETCHES: _columns("""
    started_at:time ended_at:time host url kind reason status:integer outcome failure detail location retry_after
    content_type wire_bytes:integer body_bytes:integer truncated:boolean dns_ms:real connect_ms:real
    first_byte_ms:real total_ms:real conditional:boolean etag last_modified body_sha256 attempt:integer
    delay_s:real address visit_id:integer
"""),
    ExportKind.LINKS: _columns("from_url from_host to_url anchor rel found_at:time"),
    ExportKind.ITEMS: _columns("handler version:integer url host n:integer item:json stale:boolean extracted_at:time"),
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


class PageState(StrEnum):
    """Whether a page is there, or the site says that it is not any more."""

    DONE = "done"
    GONE = "gone"


class ExportFilter(NamedTuple):
    """A filter as it is written. value: what the query takes; it raises ValueError, whose words say what is meant."""

    name: str
    operator: str
    parameter: str
    value: Callable[[str], Any] = str


def _number(text: str) -> int:
    if not re.fullmatch(r"\d{3}", text):
        raise ValueError("write a status of three digits, such as 200")
    return int(text)


def _lower(text: str) -> str:
    return text.lower()


def _type(text: str) -> str:
    if not (essence := media_type.declared(text)):
        raise ValueError("write a media type, such as text/html")
    return essence


def _flag(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError("write yes or no")
    return text == "yes"


def _one_of(words: type[StrEnum]) -> Callable[[str], str]:
    def check(text: str) -> str:
        if text not in set(words):
            raise ValueError(f"use one of {', '.join(words)}")
        return text

    return check


_STATUS = ExportFilter("status", "=", "status", _number)
_HOST = ExportFilter("host", "=", "host", _lower)
_URL = ExportFilter("url", PATTERN, "url_like")
FILTERS: Final[Mapping[ExportKind, tuple[ExportFilter, ...]]] = {
    ExportKind.PAGES: (
        _STATUS,
        ExportFilter("language", "=", "language", _lower),
        ExportFilter("state", "=", "state", _one_of(PageState)),
        ExportFilter("type", "=", TYPE, _type),
        ExportFilter("duplicate", "=", "duplicate", _flag),
        _HOST,
        _URL,
    ),
    ExportKind.FETCHES: (
        _STATUS,
        _HOST,
        ExportFilter("kind", "=", "kind", _one_of(RequestKind)),
        ExportFilter("outcome", "=", "outcome", _one_of(Outcome)),
        _URL,
    ),
    ExportKind.LINKS: (
        ExportFilter("from", PATTERN, "from_like"),
        ExportFilter("to", PATTERN, "to_like"),
        ExportFilter("rel", "=", "rel", _lower),
        _HOST,
    ),
    ExportKind.ITEMS: (
        ExportFilter("handler", "=", "handler"),
        ExportFilter("stale", "=", "stale", _flag),
        _HOST,
        _URL,
    ),
}


def parse(kind: ExportKind, texts: Iterable[str]) -> dict[str, list[Any] | None]:
    """The value of each filter's parameter: None where it is not given. Raises InputError."""
    values: dict[str, list[Any] | None] = {each.parameter: None for each in FILTERS[kind]}
    for text in texts:
        found = _filter(kind, text)
        given = text[len(found.name) + 1 :]
        try:
            value = found.value(given)
        except ValueError as error:
            raise InputError(f"--where {text}", str(error)) from None
        if not given:
            raise InputError(f"--where {text}", f"has no value; write it behind the {found.operator}")
        values[found.parameter] = [*(values[found.parameter] or []), value]
    return values


def _filter(kind: ExportKind, text: str) -> ExportFilter:
    for each in FILTERS[kind]:
        if text.startswith(each.name + each.operator):
            return each
    forms = ", ".join(f"{each.name}{each.operator}…" for each in FILTERS[kind])
    raise InputError(f"--where {text}", f"is not a filter of {kind}; there are {forms}")
