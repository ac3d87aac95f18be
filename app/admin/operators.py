"""Notes orders that a person gave: who, when, what, and what became of it.

The order is noted before it is carried out: one whose process died has no end. The dashboard, commands and Python note;
the functions that carry an order out do not: it has one row however it was given.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Engine

from app.errors import TiptoeError
from app.store import db, operator_log


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An order.

    face     where it was given: web, command or python
    act      such as host.pause
    subject  a crawl's or host's name, or a URL
    """

    who: str
    face: str
    act: str
    subject: str
    detail: str | None = None


@dataclass(slots=True)
class NotedOrder:
    """An order in the log while it is carried out.   outcome: set by whoever carries it out"""

    id: int
    outcome: str = "done"
    failed: bool = False


@contextmanager
def noted(engine: Engine, order: Order) -> Iterator[NotedOrder]:
    """Note an order for as long as it is carried out, and its outcome. An error of ours is noted, and raised again."""
    with db.transaction(engine) as tx:
        id = operator_log.begin(
            tx,
            who=order.who,
            face=order.face,
            act=order.act,
            subject=_short(order.subject),
            detail=order.detail and order.detail[:2_000],  # characters
        )
    note = NotedOrder(id)
    try:
        yield note
    except TiptoeError as error:
        note.failed, note.outcome = True, str(error)
        _end(engine, note)
        raise
    _end(engine, note)


def of_user(face: str, act: str, subject: str, detail: str | None = None) -> Order:
    """The order of whoever runs this process."""
    return Order(who=user(), face=face, act=act, subject=subject, detail=detail or None)


def user() -> str:
    """The name of the user of the operating system that this process runs as; its number where it has no name.

    The environment is not asked: anybody can set LOGNAME.
    """
    if os.name != "posix":
        return os.getlogin()
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


def _short(subject: str) -> str:
    # Bytes: an entry of a B-tree index holds 2,704.
    return subject.encode("utf-8", "ignore")[:2_600].decode("utf-8", "ignore")


def _end(engine: Engine, note: NotedOrder) -> None:
    with db.transaction(engine) as tx:
        operator_log.end(tx, id=note.id, failed=note.failed, outcome=note.outcome)
