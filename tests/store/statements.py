"""Statements on their way to Postgres, as its driver sends them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import Engine, event


@contextmanager
def statements(engine: Engine, note: Callable[[str], object]) -> Iterator[None]:
    """Call `note` with the text of each statement of this engine, in the thread that sends it."""

    class Noting(psycopg.Cursor[Any]):
        def execute(self, query: Any, *args: Any, **named: Any) -> Any:
            note(str(query))
            return super().execute(query, *args, **named)

    def equip(connection: Any, *_: object) -> None:
        connection.cursor_factory = Noting

    event.listen(engine, "checkout", equip)
    try:
        yield
    finally:
        event.remove(engine, "checkout", equip)
        engine.dispose()
