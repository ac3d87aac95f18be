"""Query parameters of a host that change nothing, and the folding of its URLs without them (promise U4).

One query of parameters.sql each, in the caller's transaction.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection

from app.policy.focus.parameters import Brought
from app.store import db

_sql = db.queries("parameters")


class UrlForm(NamedTuple):
    """A row of the frontier of one host, in the form that it has."""

    crawl_id: int
    key: bytes
    url: str
    linked: str | None
    state: str
    is_fetched: bool


class Fold(NamedTuple):
    """A URL of one host, and the form that it gets."""

    crawl_id: int
    key: bytes
    new_key: bytes
    url: str
    linked: str | None


def brought(tx: Connection, *, host_id: int, n: int) -> list[Brought]:
    """The latest n pages of a host, in every crawl."""
    where = {"host_id": host_id, "n": n}
    named = {(row.crawl_id, row.found_on): tuple(row.urls) for row in db.run(tx, _sql["named"], where)}
    return [
        Brought(row.crawl_id, row.url, row.body, row.text, named.get((row.crawl_id, row.url), ()))
        for row in db.run(tx, _sql["brought"], where)
    ]


def of_hosts(tx: Connection) -> dict[str, frozenset[str]]:
    """The parameters that operators dropped, by hostname; hosts without any are left out."""
    return {row.name: frozenset(row.dropped_parameters) for row in db.run(tx, _sql["of_hosts"])}


def set_dropped(tx: Connection, *, host_id: int, names: Sequence[str]) -> None:
    """Set the parameters of a host, and let workers know of it. Its host is locked."""
    db.run(tx, _sql["set"], {"host_id": host_id, "names": list(names)})
    db.run(tx, _sql["renew"])


def with_query(tx: Connection, *, host_id: int, after: tuple[int, bytes], n: int) -> list[UrlForm]:
    """The next n URLs of a host with a query. after: crawl and key of the last one before"""
    where = {"host_id": host_id, "after_crawl": after[0], "after_key": after[1], "n": n}
    return db.run(tx, _sql["with_query"], where).of(UrlForm)


def standing(tx: Connection, *, host_id: int, keys: Sequence[tuple[int, bytes]]) -> list[UrlForm]:
    """Those of these (crawl, key) that have a row."""
    rows = [{"crawl_id": crawl_id, "key": key} for crawl_id, key in keys]
    return db.run(tx, _sql["standing"], {"host_id": host_id, "rows": db.rows_param(rows)}).of(UrlForm)


def forget(tx: Connection, *, host_id: int, keys: Sequence[tuple[int, bytes]]) -> None:
    """Delete URLs that are another's by now; their pages are dropped by `pages.drop`."""
    if keys:
        rows = [{"crawl_id": crawl_id, "key": key} for crawl_id, key in keys]
        db.run(tx, _sql["forget"], {"host_id": host_id, "rows": db.rows_param(rows)})


def move(tx: Connection, *, host_id: int, folds: Sequence[Fold]) -> None:
    """Give URLs their new forms. No row has these. The words of their pages were forgotten."""
    if folds:
        db.run(tx, _sql["move"], {"host_id": host_id, "rows": _rows(folds)})


def move_records(tx: Connection, *, host_id: int, folds: Sequence[Fold]) -> None:
    """Let the archive's answers, and the notes of copies, follow URLs that moved or were folded into another."""
    where = {"host_id": host_id, "rows": _rows(folds)}
    db.run(tx, _sql["move_captures"], where)
    db.run(tx, _sql["forget_copies"], where)
    db.run(tx, _sql["move_originals"], where)


def _rows(folds: Sequence[Fold]) -> db.RowsParam:
    rows: list[Mapping[str, Any]] = [fold._asdict() for fold in folds]
    return db.rows_param(rows)
