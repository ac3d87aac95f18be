"""Recrawls of a crawl: their price, and what they bring (promises V1, V2). One query of recrawls.sql each, in the
caller's transaction.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("recrawls")


class Priced(NamedTuple):
    """An active crawl that keeps fresh. recrawl_price_s: as visits reckon with it."""

    id: int
    name: str
    profile: str
    recrawl_price_s: float | None


class Sampled(NamedTuple):
    """A page that was fetched. change_shape, change_s: a `ChangeRate`; None: it was never seen twice."""

    crawl_id: int
    url: str
    change_shape: float | None
    change_s: float | None


def wanted(tx: Connection) -> list[Priced]:
    return [Priced(*row) for row in tx.execute(_sql["wanted"])]


def sample(tx: Connection, crawl_ids: Sequence[int], *, percent: float, n: int) -> list[Sampled]:
    """Pages of these crawls in so many percent of the frontier's blocks."""
    where = {"crawl_ids": list(crawl_ids), "percent": percent, "n": n}
    return [Sampled(*row) for row in tx.execute(_sql["sample"], where)]


def set_price(tx: Connection, *, crawl_id: int, price_s: float | None) -> None:
    tx.execute(_sql["set_price"], {"crawl_id": crawl_id, "price_s": price_s})


def freshness(tx: Connection, crawl_id: int, *, percent: float = 100) -> list[Mapping[str, Any]]:
    """Rows of changes (a bucket), pages, interval_s, late, age_s and fresh (a share), of so many percent of the
    frontier. 100: reads every page of the crawl."""
    where = {"crawl_id": crawl_id, "percent": percent}
    return [dict(row) for row in tx.execute(_sql["freshness"], where).mappings()]


def yields(tx: Connection, *, crawl_id: int, days: int) -> Mapping[str, Any]:
    """Recrawls of the last days, and how many of them were answered 304 or with a page."""
    return dict(tx.execute(_sql["yields"], {"crawl_id": crawl_id, "days": days}).mappings().one())
