"""Reads what a small crawl did, host by host: for the closing lines of `tiptoe demo`. Each query reads all of it."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("by_host")


class BroughtByHost(NamedTuple):
    """Requests to a host.   missing: 404 and 410;   latency_s: to the first byte of a page, on average"""

    host: str
    requests: int
    pages: int
    rate_limited: int
    missing: int
    latency_s: float | None
    least_delay_s: float
    most_delay_s: float


class RefusedThere(NamedTuple):
    """URLs of a host that were not fetched, for one reason."""

    host: str
    reason: str
    urls: int


def brought(tx: Connection, since: datetime) -> list[BroughtByHost]:
    return db.run(tx, _sql["brought"], {"since": since}).of(BroughtByHost)


def refused(tx: Connection, crawl_id: int) -> list[RefusedThere]:
    return db.run(tx, _sql["refused"], {"crawl_id": crawl_id}).of(RefusedThere)
