"""Runs a person's read-only query: its columns, and its rows as they arrive."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine

from app.errors import InputError
from app.store import ask


@contextmanager
def select(engine: Engine, query: str) -> Iterator[tuple[list[str], Iterator[tuple[Any, ...]]]]:
    """Run a query: (column names, rows). Raises InputError with Postgres' message, in one line."""
    bare = query.strip().rstrip(";").rstrip()
    if not bare:
        raise InputError("an empty query", 'write one, such as "SELECT url, title FROM pages LIMIT 10"')
    with ask.answer(engine, bare) as found:
        yield found
