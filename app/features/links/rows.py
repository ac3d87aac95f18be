"""Links of pages, for crawls that keep them: a row for each reading of a page. One query of links.sql each."""

from collections.abc import Sequence
from typing import TypedDict

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("links", __file__)
LATEST_READINGS = 20_000  # of a host, that are searched for a link: a few seconds where they are long


class LinksRow(TypedDict):
    """The links of a page. links: in document order; to, and anchor and rel where the link has them."""

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    links: list[dict[str, str]]


def keep(tx: Connection, rows: Sequence[LinksRow]) -> None:
    if rows:
        db.run(tx, _sql["keep"], {"rows": db.rows_param(rows)})


def are_kept(tx: Connection, crawl_id: int) -> bool:
    """Whether there are links of a crawl."""
    return bool(tx.execute(_sql["are_kept"], {"crawl_id": crawl_id}).scalar_one())


def linking(tx: Connection, *, host_id: int, crawl_id: int, to: str) -> list[str]:
    """Pages of a host that link to a URL, three at most, of its latest readings. [] where the crawl keeps no links."""
    where = {"host_id": host_id, "crawl_id": crawl_id, "to": to, "n": LATEST_READINGS}
    return [row.url for row in db.run(tx, _sql["linking"], where)]
