"""Opens the database: the configured one, else the home's own, joined if it runs and started if not.

A command that may create a home or a crawl may also create a schema; only `crawl`, `up`, `demo` and `db upgrade`
upgrade one. Every other command names the version that it found and the one that it wants.

A broker that does not answer is one line that names it and the remedy. A command's order is noted in `operator_log`, as
the dashboard notes its own.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING

from app.cli.out import say

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.admin.operators import NotedOrder
    from app.config import Settings

_GRACE_S = 1.0  # Postgres' own end of a statement is the better one: its session is left as it was


class May(IntEnum):
    """Rights of a command on the schema, and on a home that is not there. Each has those before it, too."""

    LOOK = 0  # at a schema of any version
    READ = 1
    CREATE = 2
    UPGRADE = 3


@contextmanager
def open_database(may: May = May.READ, *, makes_home: bool = False) -> "Iterator[tuple[Settings, Engine]]":
    """Settings (database_url set) and an engine, for one command.

    Raises SettingError, ServiceError.

    makes_home: also one that may not create a schema"""
    from app.config import load
    from app.local.services import start_postgres
    from app.log import configure
    from app.store import db

    settings = load()
    configure(settings.log_format, "WARNING")
    is_ours = settings.database_url is None
    with ExitStack() as shares:
        makes = makes_home or may >= May.CREATE
        url = settings.database_url
        if url is None:
            own = start_postgres(settings.home, say, makes=makes, stay_s=settings.services_stay_s)
            url = shares.enter_context(own).url
        engine = db.connect(url, pool_size=2)
        shares.callback(engine.dispose)
        check_schema(engine, url, may, is_ours=is_ours)
        yield settings.model_copy(update={"database_url": url}), engine


@contextmanager
def answered_within(seconds: float, what: str, remedy: str) -> Iterator[None]:
    """Stop the block, in Postgres and in this process, after so long. Raises TookTooLong.   In the main thread"""
    from app.store.deadline import took_too_long, within

    def stop(*_: object) -> None:
        raise took_too_long(seconds, what, remedy)

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE_S)
    try:
        with within(seconds, what=what, remedy=remedy):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check_schema(
    engine: "Engine", url: str, may: May, *, is_ours: bool, tell: Callable[[str], None] = say
) -> tuple[str | None, str | None]:
    """Create or upgrade the schema where it may and must. Returns its revision before and after.

    Raises OtherSchema where it may not; InputError where an object of the person's own depends on a change.

    is_ours: the database is the home's own, where no fleet's operator decides when to upgrade."""
    from app.errors import OtherSchema
    from app.store import db, migrate

    if may is May.LOOK:
        return None, None
    if migrate.is_at_head(engine):
        if may is May.UPGRADE:
            _of_plugins(engine, tell)
        return (head := migrate.revisions()[-1]), head
    found, head = migrate.revision(engine), migrate.revisions()[-1]
    if may is May.READ or (may is May.CREATE and found is not None) or migrate.is_newer(found):
        migrate.require(engine)
    if is_ours and found is not None and (n := migrate.others(engine)):
        from app.words import counted

        remedy = f"; other commands have {counted(n, 'session')} on it: end them first"
        raise OtherSchema(f"Postgres at {db.place(engine)}", migrate.otherwise(found) + remedy)
    migrate.upgrade(url)
    tell(f"database schema: {found or 'none'} → {head}" if found != head else "database views: updated")
    if may is May.UPGRADE:
        _of_plugins(engine, tell)
    return found, head


def _of_plugins(engine: "Engine", tell: Callable[[str], None]) -> None:
    """Make the tables of plugins, and tell of those that cannot be made, and of tables without their plugin."""
    from app.admin import plugin_list
    from app.config import load
    from app.features.tables import rows
    from app.plugins import strangers

    names = load().plugins
    for line in (*rows.upgrade(engine, strangers(names)), *plugin_list.warnings(engine, names)):
        tell(line)


def check_broker(url: str) -> None:
    """Check that the broker answers. Raises ServiceError."""
    from app.errors import ServiceError
    from app.runtime.broker import BrokerProbe
    from app.words import without_password

    error = BrokerProbe(url, within_s=5.0).why_not()
    if error is not None:
        why = str(error).strip().replace("\n", " ") or type(error).__name__
        if isinstance(error, ValueError):  # a part of the password may be quoted as the port
            why = "is no URL (percent-encode / # ? @ in a password)"
        raise ServiceError(
            f"broker at TIPTOE_BROKER_URL={without_password(url)}",
            f"{why[:200]}; write redis://host:6379/0 or amqp://host, or unset it for the embedded one",
        ) from error


def kind_of(url: str) -> str:
    """The transport's name, as its URL says: redis, valkey, amqp …"""
    return url.partition(":")[0].partition("+")[0]


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
