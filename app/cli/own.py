"""Pauses a `tiptoe crawl`'s own crawl when the command stops, and crawls that killed commands left active.

Only where the database is ours. On a configured one other workers may serve the same crawls, which we cannot see.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from app.cli.out import say

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.config import Settings
    from app.local.services import Services

MOST_NAMED = 5


@contextmanager
def serving(engine: "Engine", settings: "Settings", services: "Services", name: str) -> Iterator[None]:
    """Context in which this command serves the crawl of this name. Names the others.

    Raises ServiceError, InputError where another command treats sites otherwise.
    """
    from app.local import serving
    from app.local.home import open_home

    if services.password_file is None:
        _name_others(engine, name)
        yield
        return
    home = open_home(services.home)
    with serving.serving(home, name, settings, say, at_end=lambda: _pause(engine, name)):
        serving.leave_aside(home, say, pause=lambda other: _pause(engine, other))
        _name_others(engine, name)
        yield


def how_to_resume(services: "Services", name: str, state: str, command: str) -> list[str]:
    """The lines that explain how to resume, after Ctrl-C.   command: how a command on the same data begins"""
    again = "interrupted: run the same command to resume"
    if state != "active":
        return [again]
    others = "another command" if services.password_file is not None else "other workers of this database"
    return [again, f"{others} may continue it until `{command} crawl pause {name}`"]


def _pause(engine: "Engine", name: str) -> None:
    """Unless it is none, or not active."""
    from app.admin.crawls import pause
    from app.errors import InputError

    with suppress(InputError):
        pause(engine, name)


def _name_others(engine: "Engine", name: str) -> None:
    from app.store import crawls, db

    with db.transaction(engine) as tx:
        others = [crawl for crawl in crawls.every(tx) if crawl.name != name]
    for state, says in (
        ("paused", "are paused; resume each by its own command"),
        ("active", "are active and served by these workers too"),
    ):
        names = [crawl.name for crawl in others if crawl.state == state]
        if names:
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            say(f"other crawls {says}: {', '.join(names[:MOST_NAMED])}{more}")
