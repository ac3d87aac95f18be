"""The form of a crawl: its fields, from a specification to values, and back to a change."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from app.admin.options import read
from app.model import CrawlChange, CrawlSpec
from app.model.crawl import OPTIONS, Option
from app.policy.focus.shipped import NAMES
from app.policy.moment import NO_INTERVAL, interval_text
from app.web.acts.act import Fields, FormField, Values, lines, number, text, whole
from app.web.board import Board

AS_OF = "as_of"
OWN = "own"  # a profile that is a text, which no form changes
_KEPT = object()  # a value that a form leaves as it is


def edit_fields(_: Board, __: str) -> Sequence[FormField]:
    """The fields of a crawl that exists, and a mark of what the form showed."""
    return (FormField(name=AS_OF, label="", kind="hidden"), *_spec_fields())


def mark_of(spec: CrawlSpec) -> str:
    """A mark that differs where another value of the form does."""
    return sha256(repr(sorted(values_of(spec).items())).encode()).hexdigest()[:16]


def _spec_fields() -> Sequence[FormField]:
    return [_field(option) for option in OPTIONS.values()]


def _field(option: Option) -> FormField:
    title = option.title.capitalize()
    match option.kind:
        case "flag":
            return FormField(name=option.name, label=option.sentence, kind="check")
        case "choice" | "profile":
            choices = [(value, means or value) for value, means in option.choices.items()]
            own = [(OWN, "as it is")] if option.kind == "profile" else []
            return FormField(name=option.name, label=title, kind="choice", hint=option.help, options=[*choices, *own])
        case "list":
            return FormField(name=option.name, label=title, kind="lines", hint=f"{option.sentence}; one per line")
        case "interval":
            return FormField(name=option.name, label=title, hint=option.sentence)
        case _:
            return FormField(name=option.name, label=title, hint=f"{option.sentence}; empty: no limit")


def make_fields(_: Board, __: str) -> Sequence[FormField]:
    """The fields of a new crawl."""
    return (
        FormField(name="subject", label="Name", hint="Empty: the first seed's host"),
        FormField(
            name="seeds",
            label="URLs to start from, one per line",
            kind="lines",
            hint="https://example.org/",
            is_needed=True,
        ),
        *_spec_fields(),
    )


def values_of(spec: CrawlSpec) -> Values:
    """The values that the form shows for a specification."""
    return {option.name: _shown(option, spec.value(column)) for column, option in OPTIONS.items()}


def change_of(fields: Fields) -> CrawlChange:
    """The change that a form asks for: all of it, as the form shows all. Raises InputError for no number."""
    values = {column: _value(option, fields) for column, option in OPTIONS.items()}
    return CrawlChange(budgets={column: value for column, value in values.items() if value is not _KEPT})


def _value(option: Option, fields: Fields) -> Any:
    name = option.name
    match option.kind:
        case "flag":
            return bool(fields.get(name))
        case "whole":
            return whole(fields, name)
        case "number":
            return number(fields, name)
        case "list":
            return read(option, lines(fields, name), called=name)
        case "interval":
            return read(option, fields.get(name) or NO_INTERVAL, called=name)
        case "profile":
            profile = text(fields, name)
            return profile if profile in NAMES else _KEPT
        case _:
            return text(fields, name) or _KEPT


def _shown(option: Option, value: Any) -> str:
    match option.kind:
        case "flag":
            return "on" if value else ""
        case "list":
            return "\n".join(value)
        case "interval":
            return interval_text(value)
        case "profile":
            return value if value in NAMES else OWN
        case _:
            return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
