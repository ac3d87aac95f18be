"""Deletes a crawl's rows in lots that hold locks for a moment.

One query of deletion.sql each, in the caller's transaction.
"""

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("deletion")


def visits(tx: Connection, crawl_id: int) -> int:
    """The number of visits that may still hold URLs of a crawl that has ended."""
    return int(tx.execute(_sql["visits"], {"crawl_id": crawl_id}).scalar_one())


def last_host(tx: Connection) -> int:
    return int(tx.execute(_sql["last_host"]).scalar_one())


def of_hosts(tx: Connection, *, crawl_id: int, after: int, until: int) -> None:
    """Delete the core's rows of a crawl, of the hosts with ids above `after`, up to `until`."""
    tx.execute(_sql["of_hosts"], {"crawl_id": crawl_id, "after": after, "until": until})


def suppressions(tx: Connection, crawl_id: int) -> int:
    """Delete refused links. Returns how many; 0: there are none left."""
    return tx.execute(_sql["suppressions"], {"crawl_id": crawl_id, "n": 10_000}).rowcount


def crawl(tx: Connection, crawl_id: int) -> bool:
    """Delete the crawl's own row. False where it is not finished."""
    return tx.execute(_sql["crawl"], {"crawl_id": crawl_id}).one_or_none() is not None
