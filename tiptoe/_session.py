"""Opens what the functions of `tiptoe` need: settings, the database, and the services of a crawl. It prints nothing."""

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import finalize

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.config import Settings

_log = logging.getLogger("tiptoe")


def tell(line: str) -> None:
    """Say something that a command would print: to the logger `tiptoe`, at level INFO."""
    _log.info(line)


def warn(line: str) -> None:
    """Say something that a command would say as a warning."""
    _log.warning(line)


def settings_of(home: str | Path | None, networks: Sequence[str] = (), **given: Any) -> "Settings":
    """The settings of the environment and `.env`, with those that are given. Raises InputError.

    networks: addresses that are not public and may be crawled, beyond those of the settings
    """
    import structlog

    from app.config import load
    from app.log import configure

    given = {name: value for name, value in given.items() if value is not None} | _home(home)
    settings = load(**given)
    if networks:
        check_series("allow_networks", networks)
        settings = load(**given, allow_networks=(*settings.allow_networks, *networks))
    if not structlog.is_configured():  # the process is the script's
        configure(settings.log_format, "WARNING", libraries=False)
    return settings


@dataclass(frozen=True, kw_only=True)
class Database:
    """A database that is open for as long as somebody has this object."""

    settings: "Settings"
    engine: "Engine"


def hold(settings: "Settings", *, may: str = "READ") -> Database:
    """Open the database of these settings. It is closed with the last who has it, such as a page, or at our end.

    may: what to do to its schema, a name of `app.cli.database.May`"""
    with ExitStack() as opening:
        found, engine = opening.enter_context(_opened(settings, may))
        held = Database(settings=found, engine=engine)
        finalize(held, opening.pop_all().close)
    return held


@contextmanager
def database(home: str | Path | None, *, may: str = "READ") -> "Iterator[tuple[Settings, Engine]]":
    """The database: the configured one, else the home's own, which is joined if it runs, and started if not."""
    with _opened(settings_of(home), may) as opened:
        yield opened


@contextmanager
def _opened(settings: "Settings", may: str) -> "Iterator[tuple[Settings, Engine]]":
    from app.local.services import start_postgres

    if settings.database_url is not None:
        with _engine_of(settings.database_url, may, is_ours=False) as engine:
            yield settings, engine
        return
    with (
        start_postgres(settings.home, tell, makes=may != "READ", stay_s=settings.services_stay_s) as running,
        _engine_of(running.url, may, is_ours=True) as engine,
    ):
        yield settings.model_copy(update={"database_url": running.url}), engine


@contextmanager
def _engine_of(url: str, may: str, *, is_ours: bool) -> "Iterator[Engine]":
    """An engine on a database whose schema is of this version."""
    from app.cli.database import May, check_schema
    from app.store import db

    engine = db.connect(url, pool_size=4)
    try:
        check_schema(engine, url, May[may], is_ours=is_ours, tell=tell)
        yield engine
    finally:
        engine.dispose()


def _home(home: str | Path | None) -> dict[str, Path]:
    return {} if home is None else {"home": Path(home)}


def check_series(option: str, given: Iterable[str]) -> None:
    """Raises InputError for a text where several are taken: it is a series, of its letters."""
    from app.errors import InputError

    if isinstance(given, str):
        raise InputError(f"{option}={given!r}", f"is one text where a list is read; write [{given!r}]")


def moment(since: datetime | None) -> datetime | None:
    """A time that a script gives; UTC where it has no zone, as for commands. Raises InputError for another type."""
    from app.errors import InputError

    if since is None:
        return None
    if not isinstance(since, datetime):
        raise InputError(f"since={since!r}", "is no datetime; write datetime.now(UTC) - timedelta(days=7)")
    return since if since.tzinfo is not None else since.replace(tzinfo=UTC)


def check_keywords(function: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raises TypeError, as Python does, with the closest keyword that there is."""
    from difflib import get_close_matches

    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            instead = f"did you mean {near[0]}?" if near else f"it takes {', '.join(known)}"
            raise TypeError(f"tiptoe.{function}() got an unexpected keyword argument {name!r}; {instead}")
