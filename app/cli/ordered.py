"""Notes a command's order in `operator_log`, as the dashboard notes its own."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.admin.operators import NotedOrder


def ordered(
    engine: "Engine", act: str, subject: str, detail: str | None = None
) -> "AbstractContextManager[NotedOrder]":
    """Context in which the order is carried out. The command sets `outcome` of what it yields.

    act: as the dashboard's, where it has the same one.   subject: a crawl's or host's name, or a URL
    """
    from app.admin import operators

    return operators.noted(engine, operators.of_user("command", act, subject, detail))


def ordered_of_host(
    engine: "Engine", act: str, name: str, detail: str | None = None
) -> "AbstractContextManager[NotedOrder]":
    """Context of an order to a host, by its name or any URL of it. Raises InputError for a text that is neither."""
    from app.policy.url import hostname

    return ordered(engine, act, hostname(name), detail)
