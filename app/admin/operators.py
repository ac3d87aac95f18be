"""Carries out orders that a person gave, and notes them: who, when, what, and what became of it.

The order is noted before it is carried out: one whose process died has no end.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Engine

from app.errors import TiptoeError
from app.store import db, operator_log


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An order. face: where it was given.   act: such as host.pause.   subject: a crawl's or host's name, or a URL"""

    who: str
    face: str
    act: str
    subject: str
    detail: str | None = None


def carry_out(engine: Engine, order: Order, do: Callable[[], str]) -> int:
    """Carry an order out. Returns its number in the log. Raises as `do` does, after that was noted."""
    with db.transaction(engine) as tx:
        id = operator_log.begin(
            tx, who=order.who, face=order.face, act=order.act, subject=order.subject, detail=order.detail
        )
    try:
        outcome = do()
    except TiptoeError as error:
        _end(engine, id, failed=True, outcome=str(error))
        raise
    _end(engine, id, failed=False, outcome=outcome)
    return id


def _end(engine: Engine, id: int, *, failed: bool, outcome: str) -> None:
    with db.transaction(engine) as tx:
        operator_log.end(tx, id=id, failed=failed, outcome=outcome)
