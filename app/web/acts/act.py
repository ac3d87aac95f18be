"""An act: what it will do, in words, the fields that it asks for, and the function that does it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app.errors import InputError
from app.web.board import Board

Fields = Mapping[str, str]
Values = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A field of a form. options: (value, label), for a choice.   rows: of a text of many lines"""

    name: str
    label: str
    kind: Literal["text", "number", "choice", "check", "lines", "hidden"] = "text"
    hint: str = ""
    options: Sequence[tuple[str, str]] = ()
    is_needed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something that a person may order.

    says    what will happen; {subject} stands for the name
    do      carries it out on a subject; returns what it came to
    asks    the fields, for a subject;   fills: their values before a person changes them
    undo    (key of the act, its fields) that undoes it
    was     what its fields would have to be to restore what there is now: it undoes itself
    leads   page of its subject: crawl, host, url
    slow    it runs on after the answer
    """

    key: str
    title: str
    says: str
    do: Callable[[Board, str, Fields], str]
    leads: Literal["crawl", "host", "url"]
    asks: Callable[[Board, str], Sequence[FormField]] = field(default=lambda board, subject: ())
    fills: Callable[[Board, str], Values] = field(default=lambda board, subject: {})
    undo: tuple[str, Values] | None = None
    was: Callable[[Board, str, Fields], Values] | None = None
    is_grave: bool = False
    is_slow: bool = False


def text(fields: Fields, name: str) -> str | None:
    """A field without white space around it; None: it is empty."""
    return fields.get(name, "").strip() or None


def number(fields: Fields, name: str) -> float | None:
    """A number; None: the field is empty. Raises InputError."""
    given = text(fields, name)
    try:
        return None if given is None else float(given)
    except ValueError:
        raise InputError(f"{name} {given!r}", "is not a number; write digits, or leave it empty") from None


def whole(fields: Fields, name: str) -> int | None:
    """A whole number; None: the field is empty. Raises InputError."""
    given = text(fields, name)
    try:
        return None if given is None else int(given)
    except ValueError:
        raise InputError(f"{name} {given!r}", "is not a whole number; write digits, or leave it empty") from None


def lines(fields: Fields, name: str) -> tuple[str, ...]:
    """The lines of a field that hold something."""
    return tuple(line.strip() for line in fields.get(name, "").splitlines() if line.strip())
