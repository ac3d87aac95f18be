"""Metrics of crawls by interval (promise S6). One query of crawl_metrics.sql each, in the caller's transaction."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, TextClause

from app.policy.focus.verdict import Measured
from app.store import db

_sql = db.queries("crawl_metrics")


class MeasuredSpan(NamedTuple):
    """A crawl, and the time that a row of it is about."""

    id: int
    since: datetime
    until: datetime


def spans(tx: Connection, *, longest_s: float) -> list[MeasuredSpan]:
    """Crawls that are to be measured."""
    return db.run(tx, _sql["spans"], {"longest_s": longest_s}).of(MeasuredSpan)


def of_fetches(tx: Connection, spans: Sequence[MeasuredSpan]) -> dict[int, Any]:
    """By crawl: requests, good, pages (new), recrawls, changed, response_ms."""
    earliest = min(span.since for span in spans)
    return _by_crawl(tx, _sql["of_fetches"], {"rows": _rows(spans), "earliest": earliest})


def of_duplicates(tx: Connection, spans: Sequence[MeasuredSpan]) -> dict[int, Any]:
    """By crawl: duplicates."""
    return _by_crawl(tx, _sql["of_duplicates"], {"rows": _rows(spans)})


def of_links(tx: Connection, spans: Sequence[MeasuredSpan]) -> dict[int, Any]:
    """By crawl: refused."""
    return _by_crawl(tx, _sql["of_links"], {"rows": _rows(spans)})


def of_frontier(tx: Connection, spans: Sequence[MeasuredSpan], *, percent: float) -> dict[int, Any]:
    """By crawl, in so many percent of the frontier: admitted, queued, denied, p1, p1_fetched, age_s."""
    return _by_crawl(tx, _sql["of_frontier"], {"rows": _rows(spans), "percent": percent})


def put(tx: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    db.run(tx, _sql["put"], {"rows": db.rows_param(rows)})


def prune(tx: Connection, *, days: int) -> None:
    db.run(tx, _sql["prune"], {"days": days})


def days(tx: Connection, *, crawl_id: int, days: int) -> list[Measured]:
    """The last days of a crawl, a row each."""
    return [Measured(**row) for row in tx.execute(_sql["days"], {"crawl_id": crawl_id, "days": days}).mappings()]


def drop_crawl(tx: Connection, crawl_id: int) -> None:
    tx.execute(_sql["drop_crawl"], {"crawl_id": crawl_id})


def _by_crawl(tx: Connection, query: TextClause, where: Mapping[str, Any]) -> dict[int, Any]:
    return {row.crawl_id: row for row in db.run(tx, query, where)}


def _rows(spans: Sequence[MeasuredSpan]) -> db.RowsParam:
    return db.rows_param([span._asdict() for span in spans])
