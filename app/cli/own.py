"""A `tiptoe crawl` serves its own crawl: it pauses that when it is stopped, and what a killed one has left active.

Only where the database is ours. On a configured one other workers may serve the same crawls, and nobody here can tell.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from app.cli.out import say

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.local.services import Services

MOST_NAMED = 5


@contextmanager
def serving(engine: "Engine", services: "Services", name: str) -> Iterator[None]:
    """Within, the crawl of this name is this command's. Names the others. Raises ServiceError."""
    from app.local import serving
    from app.local.home import open_home

    if services.password_file is None:
        _name_others(engine, name)
        yield
        return
    home = open_home(services.home)
    with serving.serving(home, name, say, at_end=lambda: _pause(engine, name)):
        serving.leave_aside(home, say, pause=lambda other: _pause(engine, other))
        _name_others(engine, name)
        yield


def how_to_go_on(services: "Services", name: str, state: str) -> str:
    """After Ctrl-C, for the person who pressed it."""
    if state != "active":
        return "interrupted: the same command goes on"
    others = "another command" if services.password_file is not None else "other workers of this database"
    return f"interrupted: the same command goes on, and so may {others}; `tiptoe crawl pause {name}` stops it"


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
        ("paused", "wait, and go on by their own commands"),
        ("active", "are active, and these workers serve them too"),
    ):
        names = [crawl.name for crawl in others if crawl.state == state]
        if names:
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            say(f"other crawls {says}: {', '.join(names[:MOST_NAMED])}{more}")
