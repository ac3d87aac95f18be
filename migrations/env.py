"""Alembic's environment: runs on the connection it is given, else on TIPTOE_DATABASE_URL."""

from alembic import context
from sqlalchemy import Connection

from app.config import current
from app.errors import SettingError
from app.features.schema import schema
from app.store import db, migrate


def run_on(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=schema(), include_name=migrate.is_declared(connection))
    migrate.drop_views(connection)
    context.run_migrations()
    if (
        context.get_context().get_current_revision() == migrate.revisions()[-1]
    ):  # an older schema need not have all they show
        migrate.recreate_views(connection)


def run() -> None:
    connection = context.config.attributes.get("connection")
    if connection is not None:
        run_on(connection)
        return
    url = current().database_url
    if url is None:
        raise SettingError("TIPTOE_DATABASE_URL is not set", "set it for alembic, or run `tiptoe db upgrade`")
    engine = db.connect(url)
    with engine.begin() as own:
        run_on(own)
    engine.dispose()


run()
