"""Sitemaps that were read, and their claims about pages. One query of sitemaps.sql each, in the caller's transaction."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("sitemaps")


class Known(NamedTuple):
    """A known sitemap. claims, true_claims: how often its lastmod was tested, and was true."""

    id: int
    claims: int
    true_claims: int


class ReadSitemap(NamedTuple):
    """A sitemap as it was read.

    format   its kind, such as an index
    entries  read from it so far
    problem  why reading ended early; None: it did not
    """

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    format: str | None
    entries: int
    problem: str | None


def note(tx: Connection, sitemap: ReadSitemap) -> Known:
    return Known(*tx.execute(_sql["note"], sitemap._asdict()).one())


def credit(tx: Connection, rows: Sequence[Mapping[str, int]]) -> None:
    """Add tested claims. rows: host_id, id, claims, true_claims to add; other hosts' sitemaps are left alone."""
    if rows:
        db.run(tx, _sql["credit"], {"rows": db.rows_param(rows)})


def claim(
    tx: Connection, *, host_id: int, crawl_id: int, sitemap_id: int, believed: bool, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Store claims. rows: key, lastmod (ISO text), of URLs of the host."""
    if rows:
        where = {"host_id": host_id, "crawl_id": crawl_id, "sitemap_id": sitemap_id, "believed": believed}
        db.run(tx, _sql["claim"], {**where, "rows": db.rows_param(rows)})


def of_crawl(tx: Connection, *, crawl_id: int, n: int) -> list[Mapping[str, Any]]:
    return [dict(row) for row in tx.execute(_sql["of_crawl"], {"crawl_id": crawl_id, "n": n}).mappings()]
