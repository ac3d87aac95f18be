"""A database at a revision of before."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

from app.store import migrate

MIGRATIONS = Path(__file__).parents[2] / "migrations"


def move(engine: Engine, revision: str) -> None:
    """Up or down."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as tx:
        config.attributes["connection"] = tx
        is_below = (migrate.revision(engine) or "") < revision
        (command.upgrade if is_below else command.downgrade)(config, revision)
