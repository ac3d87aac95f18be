"""Loads the user's handlers, from modules and files; in their own process, since an import can do anything.

What cannot work is one line that names the module and the place: it does not import, it declares no handler, two
handlers share a name. What the decorator refuses (`app.features.extract.handlers`) arrives here as it was said.
"""

import dataclasses
import importlib
import importlib.util
import sys
import traceback
import types
import typing
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from os.path import isfile  # Path.is_file raises for a name that is too long
from pathlib import Path
from typing import Any

from app.errors import InputError
from app.features.extract.handlers import DeclaredHandler, registered
from app.model.handler import HandlerSpec

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
