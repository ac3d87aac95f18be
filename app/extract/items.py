"""Turns what a handler yields into items: JSON objects that fit their model. Each misfit is one line for a person."""

import dataclasses
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import Any

import orjson

from app.extract.clean import clean

FAULTS_MOST = 3  # of one item that are named


class Misfit(Exception):
    """An item that does not fit its model, or that JSON cannot hold. `str` is one line."""


def as_json(item: object, model: type | None) -> dict[str, Any]:
    """The item as a JSON object; text that JSON cannot hold is cleaned. Raises Misfit.

    model  all items must fit it; None: a dataclass instance or a pydantic model fits its own type, a dict is free
    """
    if isinstance(item, Mapping):
        values: Any = dict(item)
    elif hasattr(type(item), "model_dump"):  # it was checked when it was made
        model, values = None if model is None or isinstance(item, model) else model, _dumped(item)
    elif dataclasses.is_dataclass(item) and not isinstance(item, type):
        model = model or type(item)
        values = {field.name: getattr(item, field.name) for field in dataclasses.fields(item)}
    else:
        shown = f"{item!r:.100}"
        raise Misfit(f"yielded {shown} ({type(item).__name__}); yield dicts, dataclasses, pydantic models or follow(…)")
    try:
        return _fitted(values, model)
    except Misfit:
        cleaned = clean(values)
        if cleaned is values:
            raise
        return _fitted(cleaned, model)


def _fitted(values: dict[str, Any], model: type | None) -> dict[str, Any]:
    """The values as JSON, checked by the model. Raises Misfit."""
    if model is not None:
        values = _checked(values, model)
    try:
        dumped = orjson.dumps(values, default=_plain)
    except (orjson.JSONEncodeError, RecursionError) as error:
        raise Misfit(f"yielded an item that JSON cannot hold: {_why_not(values, error)}") from None
    fitted: dict[str, Any] = orjson.loads(dumped)
    return clean(fitted) if rb"\u0000" in dumped else fitted


def _dumped(item: Any) -> Any:
    return item.model_dump(mode="json")


@cache
def adapter(model: type) -> Any:
    """Pydantic's TypeAdapter, which checks values against a model."""
    from pydantic import TypeAdapter

    return TypeAdapter(model)


def _checked(values: dict[str, Any], model: type) -> Any:
    """The values as the model has them. Raises Misfit."""
    from pydantic import ValidationError

    fits = adapter(model)
    try:
        return fits.dump_python(fits.validate_python(values), mode="json")
    except ValidationError as error:
        raise Misfit(said(error, model.__name__)) from None


def said(error: Any, name: str) -> str:
    """A pydantic ValidationError as one line. name: of the model."""
    faults = [
        f"{name}.{'.'.join(str(part) for part in each['loc'])}: {each['msg']} (got {each['input']!r:.60})"
        for each in error.errors()[:FAULTS_MOST]
    ]
    more = error.error_count() - len(faults)
    return "item does not fit: " + "; ".join(faults) + (f"; and {more} more" if more else "")


def _plain(value: object) -> object:
    """A value that orjson does not know, for JSON."""
    match value:
        case Decimal():
            return str(value)
        case set() | frozenset() | tuple():
            return list(value)
        case Mapping():
            return dict(value)
    if hasattr(type(value), "model_dump"):
        return _dumped(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


def _why_not(values: Any, error: Exception) -> str:
    """The first field at fault, by trying each."""
    for name, value in values.items() if isinstance(values, dict) else ():
        try:
            orjson.dumps({name: value}, default=_plain)
        except (orjson.JSONEncodeError, RecursionError):
            return f"{name!r} is {value!r:.60}, a {type(value).__name__}"
    return str(error)
