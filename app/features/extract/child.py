"""Runs handlers in a process that they may crash, hang or fill.

    python -m app.features.extract.child SOCKET BYTES SOURCE…

It loads the handlers and tells which there are, or the line why not. Then it receives page after page, calls the
handler that is asked for, and answers with its items and links, or how it failed. It knows no settings and no database;
an earlier body of a page it asks from its parent. `app.sandbox.wire` has its bounds, and `app.features.extract.process`
starts and judges it.

Handlers are the user's, from modules and files: an import can do anything, and so can what they yield. That becomes
items, JSON objects that fit their model; each misfit is one line for a person. What cannot be loaded is one line that
names the module and the place: it does not import, it declares no handler, two handlers share a name. What the
decorator refuses (`app.features.extract.handlers`) arrives here as it was said.
"""

import dataclasses
import importlib
import importlib.util
import itertools
import os
import socket
import sys
import traceback
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import date, datetime
from decimal import Decimal
from functools import cache, partial
from os.path import isfile  # Path.is_file raises for a name that is too long
from pathlib import Path
from typing import Any

import orjson

from app.errors import InputError
from app.features.extract.clean import clean, encoded
from app.features.extract.handlers import DeclaredHandler, Follow, registered
from app.features.extract.page import OF_THE_ANSWER, CrawledPage, Headers
from app.features.rights.purpose import UNKNOWN
from app.model.handler import HandlerSpec
from app.sandbox.wire import Wire, WireBroken, confine, memory_bytes, set_timers
from app.words import harmless_streams

ITEMS_MOST = 10_000  # of a handler and page
FOLLOWS_MOST = 5_000
_OURS = str(Path(__file__).parent)
_SQL_TYPES: dict[object, str] = {
    str: "text",
    int: "bigint",
    float: "double precision",
    bool: "boolean",
    Decimal: "numeric",
    datetime: "timestamptz",
    date: "date",
}


def load(sources: Sequence[str]) -> list[DeclaredHandler]:
    """Import the modules and files, and return the handlers that they declare. Raises InputError."""
    for source in sources:
        before = len(registered())
        _import(source)
        if len(registered()) == before:
            raise InputError(source, "declares no handler; write @tiptoe.handler(match=r'/books/') above a function")
    return registered()


def spec(declared: DeclaredHandler) -> HandlerSpec:
    """The parts of a handler that its process tells."""
    return HandlerSpec(
        name=declared.name,
        version=declared.version,
        match=declared.match,
        place=declared.place,
        fields=None if declared.items is None else fields(declared.items),
        deadline_s=declared.deadline_s,
    )


def fields(model: type) -> dict[str, str]:
    """The fields of a dataclass or a pydantic model, each with the SQL type of its column. Raises InputError."""
    if dataclasses.is_dataclass(model):
        try:
            hints = typing.get_type_hints(model)
        except NameError as error:
            raise InputError(f"items={model.__name__}", f"has a field of an unknown type ({error})") from None
        return {field.name: _sql_type(hints[field.name]) for field in dataclasses.fields(model)}
    found: Any = getattr(model, "model_fields", None)
    if not isinstance(found, dict):
        raise InputError(f"items={model!r}", "is neither a dataclass nor a pydantic model")
    return {name: _sql_type(field.annotation) for name, field in found.items()}


def _sql_type(hint: object) -> str:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        parts = [part for part in typing.get_args(hint) if part is not type(None)]
        hint = parts[0] if len(parts) == 1 else object
    return _SQL_TYPES.get(hint, "jsonb")


def _import(source: str) -> None:
    try:
        if source.endswith(".py") or "/" in source:
            _run_file(source)
        else:
            importlib.import_module(source)
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # the user's module may raise anything
        if isinstance(error, ModuleNotFoundError) and error.name == source.partition(".")[0]:
            remedy = "there is no such module here; write a file as ./books.py, or install the module"
            raise InputError(source, remedy) from None
        said = f"{type(error).__name__}: {error}"
        raise InputError(source, f"does not import: {said}{_where(error, source)}; correct it") from error


def _run_file(source: str) -> None:
    path = Path(source)
    if not isfile(path):
        raise InputError(source, "does not exist; `tiptoe extract new NAME` writes a first handler")
    found = importlib.util.spec_from_file_location(path.stem, path.resolve())
    if found is None or found.loader is None:
        raise InputError(source, "is not a Python file; its name must end in .py")
    if (folder := str(path.resolve().parent)) not in sys.path:
        sys.path.append(folder)  # so that it can import its neighbours
    module = importlib.util.module_from_spec(found)
    sys.modules.setdefault(path.stem, module)
    found.loader.exec_module(module)


def _where(error: BaseException, source: str) -> str:
    """The line of the user's that it came from, in brackets."""
    if isinstance(error, SyntaxError):
        return ""  # it says so itself
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.endswith(source) or Path(source).name in frame.filename]
    last = (own or frames)[-1]
    return f" ({Path(last.filename).name}:{last.lineno})"


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
        for each in error.errors()[:3]  # faults named of one item
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


def main(wire: Wire, memory_bytes: int, sources: list[str]) -> None:
    """Answer until the parent is gone."""
    confine(memory_bytes)
    with suppress(ModuleNotFoundError):
        importlib.import_module("tiptoe")  # before a folder of that name, such as a clone, can stand for it
    sys.path.append(os.getcwd())
    try:
        handlers = {each.name: each for each in load(sources)}
        told = [asdict(spec(each)) for each in handlers.values()]
    except InputError as error:
        wire.send(encoded({"refused": str(error)}))
        return
    _warm(handlers.values())
    wire.send(encoded({"handlers": told}))
    while True:
        text, body = wire.receive()
        job = orjson.loads(text)
        set_timers(job["deadline_s"])
        answer = run(
            handlers[job["handler"]], page_of(job["page"], body, partial(_earlier, job["page"]["capture"], wire))
        )
        set_timers(0.0)
        wire.send(encoded(answer))


def _warm(handlers: Iterable[DeclaredHandler]) -> None:
    """Import what the first page would, so that this does not count against its deadline."""
    for name in ("parsel", "app.parse.html.html", "app.policy.url"):
        with suppress(ModuleNotFoundError):
            importlib.import_module(name)
    for each in handlers:
        if each.items is not None:
            adapter(each.items)


def run(handler: DeclaredHandler, page: CrawledPage) -> dict[str, Any]:
    """Call one handler with one page. Returns its answer: items and links, or how it failed. Never raises."""
    try:
        items, follows = _collect(handler, page)
    except Misfit as error:
        return _failure(handler, "misfit", str(error))
    except MemoryError as error:
        return _failure(handler, "memory", f"needed more than {memory_bytes() >> 20:,} MiB{_place(error)}", error)
    except BaseException as error:  # noqa: BLE001  # the user's code may raise anything, such as CancelledError
        if type(error).__name__ == "ValidationError" and hasattr(error, "error_count"):  # it made the item itself
            return _failure(handler, "misfit", said(error, getattr(error, "title", "item")))
        return _failure(handler, "raised", f"raised {type(error).__name__}: {error}{_place(error)}", error)
    return {"handler": handler.name, "items": items, "follows": follows}


def _collect(handler: DeclaredHandler, page: CrawledPage) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    items: list[dict[str, Any]] = []
    follows: list[dict[str, Any]] = []
    for found in _yielded(handler.function(page)):
        if isinstance(found, Follow):
            follows.append(asdict(found))
        else:
            items.append(item := as_json(found, handler.items))
            if handler.items is not None:
                _fit_columns(item)
        if len(items) > ITEMS_MOST or len(follows) > FOLLOWS_MOST:
            raise Misfit(f"yielded more than {ITEMS_MOST:,} items or {FOLLOWS_MOST:,} links for one page")
    return items, follows


def _fit_columns(item: Mapping[str, Any]) -> None:
    """Raise Misfit for a whole number beyond its column: each query of the handler's view would fail by it."""
    for name, value in item.items():
        if isinstance(value, int) and value.bit_length() > 63:
            raise Misfit(f"item does not fit: {name} is {value}, which is no bigint; declare the field as str")


def _yielded(found: object) -> Iterator[object]:
    """The series that a handler returned: a generator, a list, one item, or nothing."""
    if found is None:
        return iter(())
    if isinstance(found, Mapping | Follow | str | bytes) or not isinstance(found, Iterable):
        return itertools.chain((found,))
    return iter(found)


def _failure(handler: DeclaredHandler, kind: str, cause: str, error: BaseException | None = None) -> dict[str, Any]:
    told = "" if error is None else "".join(traceback.format_exception(type(error), error, _own(error)))
    cause = " ".join(cause.split())[:500]
    return {"handler": handler.name, "failed": kind, "cause": cause, "traceback": told[-8_000:]}


def _own(error: BaseException) -> Any:
    """The traceback without our own frames at its top."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename.startswith(_OURS) and frame.tb_next is not None:
        frame = frame.tb_next
    return frame


def _place(error: BaseException) -> str:
    own = _own(error)
    return "" if own is None else f" ({Path(own.tb_frame.f_code.co_filename).name}:{own.tb_lineno})"


def page_of(values: dict[str, Any], octets: bytes, earlier: Callable[[], CrawledPage | None]) -> CrawledPage:
    """Make the page that a handler gets.   octets: the document that a browser made, then the answer's body"""
    cut, rendered_at = values.get("document_bytes", 0), values.get("rendered_at")
    page = CrawledPage(
        url=values["url"],
        crawl=values["crawl"],
        status=values["status"],
        headers=Headers([(name, value) for name, value in values["headers"]]),
        fetched_at=datetime.fromisoformat(values["fetched_at"]),
        body=octets[cut:],
        is_cut=values["is_cut"],
        rendered_at=datetime.fromisoformat(rendered_at) if rendered_at else None,
        rights=values.get("rights", UNKNOWN),
        _document=octets[:cut],
        _document_url=values.get("at"),
        _earlier=earlier,
    )
    if not values.get("has_answer", True):
        for name in OF_THE_ANSWER:
            object.__delattr__(page, name)
    return page


def _earlier(capture: int, wire: Wire) -> CrawledPage | None:
    """Ask the parent for the page as it was before this capture."""
    wire.send(encoded({"before": capture}))
    text, body = wire.receive()
    answer = orjson.loads(text)
    if "page" not in answer:
        return None
    return page_of(answer["page"], body, partial(_earlier, answer["page"]["capture"], wire))


if __name__ == "__main__":
    harmless_streams()
    with suppress(WireBroken, KeyboardInterrupt):  # the parent is gone
        main(Wire(socket.socket(fileno=int(sys.argv[1]))), int(sys.argv[2]), sys.argv[3:])
