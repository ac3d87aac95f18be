"""Opens the database: the configured one, else the home's own, joined if it runs and started if not."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from app.cli.out import say

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.config import Settings


@contextmanager
def open_database(*, migrate: bool = True) -> "Iterator[tuple[Settings, Engine]]":
    """Settings (database_url set) and an engine, for one command. migrate: bring the schema to head if it is not.

    Raises SettingError, ServiceError.
    """
    from app.config import load
    from app.local.services import start_postgres
    from app.log import configure
    from app.store import db

    settings = load()
    configure(settings.log_format, "WARNING")
    with ExitStack() as shares:
        url = settings.database_url or shares.enter_context(start_postgres(settings.home, say)).url
        engine = db.connect(url, pool_size=2)
        shares.callback(engine.dispose)
        if migrate:
            bring_to_head(engine, url)
        yield settings.model_copy(update={"database_url": url}), engine


def bring_to_head(engine: "Engine", url: str, tell: Callable[[str], None] = say) -> None:
    """Bring the schema to head. Raises ServiceError, InputError: an object of the person's own depends on a change."""
    from app.store import migrate

    if migrate.is_at_head(engine):
        return
    found, head = migrate.revision(engine), migrate.revisions()[-1]
    migrate.upgrade(url)
    tell(f"database schema: {found or 'none'} → {head}" if found != head else "database views: updated")
