"""Checks the handlers for `tiptoe doctor`: whether each source loads, what it declares, and who asks for others.

Handlers are loaded as workers load them: in a process of their own, which ends again.
"""

from collections.abc import Sequence

from sqlalchemy import Engine

from app.admin.doctor import Check, Grade, broken
from app.admin.extract import loaded
from app.config import Settings
from app.errors import InputError, ServiceError
from app.model.handler import HandlerSpec
from app.store import crawls, db

NAME = "handlers"


def sources(settings: Settings) -> tuple[list[Check], list[str]]:
    """A check of each module and file of TIPTOE_HANDLERS, and the names of the handlers that they declare."""
    checks, found = [], list[HandlerSpec]()
    for source in settings.handlers:
        try:
            specs = loaded(settings, (source,))
        except (InputError, ServiceError) as error:
            checks.append(broken(NAME, error))
        else:
            found += specs
            checks.append(Check(name=NAME, grade=Grade.OK, finding=f"{source}: {_shown(specs)}"))
    if len(settings.handlers) > 1 and len(found) > len({each.name for each in found}):
        checks += _together(settings)
    return checks, [each.name for each in found]


def asked_for(engine: Engine, names: Sequence[str]) -> list[Check]:
    """A warning for each active crawl that names a handler which is not there. The schema must be at head."""
    with db.transaction(engine) as tx:
        wanted = {crawl.name: set(crawl.handlers) for crawl in crawls.every(tx) if crawl.state == "active"}
    return [
        Check(
            name=NAME,
            grade=Grade.WARN,
            finding=f"crawl {crawl} asks for {', '.join(sorted(lacking))}, which TIPTOE_HANDLERS does not declare",
            remedy="add its module or file there, or choose others: tiptoe crawl edit NAME --handler",
        )
        for crawl, handlers in sorted(wanted.items())
        if (lacking := handlers - set(names))
    ]


def _together(settings: Settings) -> list[Check]:
    """The sources that load alone, loaded as workers do: two may declare one name."""
    try:
        loaded(settings, settings.handlers)
    except (InputError, ServiceError) as error:
        return [broken(NAME, error)]
    return []


def _shown(specs: Sequence[HandlerSpec]) -> str:
    return ", ".join(f"{each.name} (version {each.version})" for each in specs)
