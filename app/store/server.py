"""Asks Postgres for its time, its tables, and for the sole right to a kind of maintenance."""

from datetime import datetime

from sqlalchemy import Connection, Engine

from app.store import db

_sql = db.queries("server")


def now(tx: Connection) -> datetime:
    """The database's time."""
    found: datetime = tx.execute(_sql["now"]).scalar_one()
    return found


def be_alone(tx: Connection, what: str) -> bool:
    """Whether nobody else does this maintenance; nobody will until the end of the transaction."""
    return bool(tx.execute(_sql["be_alone"], {"what": what}).scalar_one())


def tables(engine: Engine) -> list[str]:
    """Names of the tables in the schema, in order."""
    with db.transaction(engine) as tx:
        return [str(name) for name in tx.execute(_sql["tables"]).scalars()]
