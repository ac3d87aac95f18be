"""Reads a crawl's pages for a script: those that are stored, and those that arrive. One query of feed.sql each."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("feed")
PagePlace = tuple[int, bytes]  # host id, URL key


class PageOfFeed(NamedTuple):
    """A row of pages, as far as a script needs it at once."""

    host_id: int
    key: bytes
    url: str
    status: int
    content_type: str | None
    language: str | None
    title: str | None
    main_text: str | None
    truncated: bool
    fetched_at: datetime


def stored(
    tx: Connection, *, crawl_id: int, after: PagePlace, since: datetime | None, until: datetime, n: int
) -> list[PageOfFeed]:
    """The next n pages, in the order of their keys.   since, until: when they were fetched last; before `until`"""
    where = {
        "crawl_id": crawl_id,
        "after_host": after[0],
        "after_key": after[1],
        "since": since or "-infinity",
        "until": until,
        "n": n,
    }
    return db.run(tx, _sql["stored"], where).of(PageOfFeed)


def arrived(tx: Connection, *, crawl_id: int, since: datetime, known_until: datetime) -> dict[PagePlace, datetime]:
    """When each page was fetched whose request began since then, in the order of their requests.

    known_until: pages that were fetched before are left out
    """
    where = {"crawl_id": crawl_id, "since": since, "known_until": known_until}
    return {(row.host_id, row.key): row.fetched_at for row in db.run(tx, _sql["arrived"], where)}


def of_keys(tx: Connection, *, crawl_id: int, places: Sequence[PagePlace]) -> list[PageOfFeed]:
    """These pages, in their order; some may be gone."""
    rows = db.rows_param([{"host_id": host_id, "key": key} for host_id, key in places])
    found = db.run(tx, _sql["of_keys"], {"crawl_id": crawl_id, "rows": rows}).of(PageOfFeed)
    by_place = {(row.host_id, row.key): row for row in found}
    return [by_place[place] for place in places if place in by_place]
