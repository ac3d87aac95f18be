"""Pauses a `tiptoe crawl`'s own crawl when the command stops, and sets other active crawls aside while it runs.

Those that killed commands left active are paused for good; those that were made or started by name resume at its end.

Only where the database is ours. On a configured one other workers may serve the same crawls, which we cannot see.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
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
    from app.local.background import active_names, pause_if_active, restore
    from app.local.home import open_home

    if services.password_file is None:
        _name_others(engine, name)
        yield
        return
    home = open_home(services.home)
    ends, resumes = partial(pause_if_active, engine, name), partial(restore, engine)
    with serving.serving(home, name, settings, say, at_end=ends, restore=resumes):
        aside = serving.leave_aside(
            home, say, pause=partial(pause_if_active, engine), active=partial(active_names, engine)
        )
        if aside:
            say(f"set aside until this crawl stops: {_some(aside)}; tiptoe up serves them all")
        _name_others(engine, name, aside)
        yield


def how_to_resume(services: "Services", name: str, state: str, command: str) -> list[str]:
    """The lines that explain how to resume, after Ctrl-C.   command: how a command on the same data begins"""
    again = "interrupted: run the same command to resume"
    if state != "active":
        return [again]
    others = "another command" if services.password_file is not None else "other workers of this database"
    return [again, f"{others} may continue it until `{command} crawl pause {name}`"]


def _name_others(engine: "Engine", name: str, aside: Sequence[str] = ()) -> None:
    from app.store import crawls, db

    with db.transaction(engine) as tx:
        others = [crawl for crawl in crawls.every(tx) if crawl.name not in (name, *aside)]
    for state, says in (
        ("paused", "are paused; resume each by its own command"),
        ("active", "are active and served by these workers too"),
    ):
        names = [crawl.name for crawl in others if crawl.state == state]
        if names:
            say(f"other crawls {says}: {_some(names)}")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"
