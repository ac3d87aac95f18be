"""Links that were not admitted, and why. One query of suppressions.sql each."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any, NotRequired, TypedDict

from sqlalchemy import Connection

from app.model import Refusal
from app.store import db

_sql = db.queries("suppressions")
HALF_BYTES = 16  # of a key


class Suppression(TypedDict):
    """A refused link, or `count` of one kind.

    key: SHA-256 of url, which is canonical where possible, else as found; of a kind, of its name
    """

    crawl_id: int
    key: bytes
    reason: str
    url: str
    detail: str | None
    found_on: str | None
    count: NotRequired[int]


def suppression(
    crawl_id: int, key: bytes, url: str, reason: Refusal, *, found_on: str | None, detail: str | None = None
) -> Suppression:
    """The row of a refusal. The one place that makes it."""
    return {
        "crawl_id": crawl_id,
        "key": key,
        "reason": reason.value,
        "url": url,
        "detail": detail,
        "found_on": found_on,
    }


def outside_key(host: str, visited: str) -> bytes:
    """The key of the row for links of a visited host to another that is out of scope: those to a host lie together."""
    return _of_host(host) + _of_host(visited)


@lru_cache(maxsize=4_096)  # every page of a site links to the same few
def _of_host(host: str) -> bytes:
    return sha256(f"{host}/*".encode()).digest()[:HALF_BYTES]


def note(tx: Connection, rows: Sequence[Suppression]) -> None:
    if rows:
        db.run(tx, _sql["note"], {"rows": db.rows_param(rows)})


def of_url(tx: Connection, key: bytes, *, host: str | None = None) -> list[Mapping[str, Any]]:
    """Refusals of a URL; host: its own, for the rows of links out of scope to it, too."""
    least = b"" if host is None else _of_host(host)
    values = {"key": key, "least": least, "most": least and least + b"\xff" * HALF_BYTES, "n": 20}
    return [dict(row) for row in tx.execute(_sql["of_url"], values).mappings()]


def counted(tx: Connection, crawl_id: int) -> int:
    """Links of a crawl that were refused."""
    return int(db.run(tx, _sql["counted"], {"crawl_id": crawl_id}).scalar_one())


def reasons(tx: Connection, crawl_id: int) -> list[Mapping[str, Any]]:
    """Rows of reason, links, times, last_at."""
    return [dict(row) for row in tx.execute(_sql["reasons"], {"crawl_id": crawl_id}).mappings()]


def old_until(tx: Connection, *, crawl_id: int, keep_days: int, most: int) -> datetime | None:
    """The time up to which refusals are to be deleted. keep_days, most (links of the crawl): 0 for no limit."""
    where = {"crawl_id": crawl_id, "keep_days": keep_days, "most": most}
    until: datetime | None = tx.execute(_sql["old_until"], where).scalar_one()
    return until


def prune(tx: Connection, *, crawl_id: int, until: datetime | None, n: int) -> int:
    """Delete the n oldest refusals of a crawl that were last met by then. Returns how many."""
    return tx.execute(_sql["prune"], {"crawl_id": crawl_id, "until": until, "n": n}).rowcount
