"""Filters of an export: `status=200`, `url~/blog/`. A closed list for each kind, turned into the values of its query.

Several values of one filter: any of them fits. Several filters: all of them hold. `~` is a regular expression as
Postgres reads it; everything else is compared whole.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from app.errors import InputError
from app.features.export.columns import ExportKind
from app.model import Outcome, RequestKind
from app.policy import media_type

PATTERN: Final = "~"
TYPE: Final = "type"  # no parameter of a query: pages are chosen by it once they are read


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
