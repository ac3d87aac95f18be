"""robots.txt by origin: one copy for the fleet. One query of robots.sql each, in the caller's transaction."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from app.model import Origin
from app.policy.robots import Standing
from app.store import db

LOT_BYTES = 1024 * 1024  # a parameter holds them as hex, in several copies
_sql = db.queries("robots")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """An origin's robots.txt as stored.

    status, detail, fetched_at   of the last attempt
    failures                     times in a row that it was out of reach
    answered                     the host has, once, and the origin, whatever the status
    body, copied_at              of the last good copy; copied_at None where it is older than the history
    tdmrep                       /.well-known/tdmrep.json; None: never requested, or not answered. Empty: there is none
    now                          database time of the query
    """

    scheme: str
    port: int
    availability: str
    body: bytes | None
    etag: str | None
    last_modified: str | None
    fetched_at: datetime
    expires_at: datetime
    unreachable_since: datetime | None
    failures: int
    answered: bool
    crawl_delay_s: float | None
    detail: str | None
    status: int | None
    sitemaps: tuple[str, ...]
    tdmrep: bytes | None
    copied_at: datetime | None
    now: datetime

    @property
    def standing(self) -> Standing:
        since = self.unreachable_since
        away_s = None if since is None else (self.now - since).total_seconds()
        return Standing(self.availability, away_s, self.body is not None, self.status is not None)


class RobotsSummary(NamedTuple):
    """The parts of `Stored` that a visit needs at its start, in seconds from there.

    fresh_s             until it is fetched again
    age_s               since the last attempt
    unreachable_for_s   since the first failure after the last success
    answered            the origin has, once, whatever the status
    """

    scheme: str
    port: int
    availability: str
    status: int | None
    failures: int
    body_sha256: bytes | None
    etag: str | None
    last_modified: str | None
    crawl_delay_s: float | None
    fresh_s: float
    age_s: float
    unreachable_for_s: float | None
    answered: bool


class Elsewhere(NamedTuple):
    """The stored robots.txt by which a link to another origin is judged; fields as in Stored and RobotsSummary."""

    availability: str
    status: int | None
    body: bytes | None
    unreachable_for_s: float | None

    @property
    def standing(self) -> Standing:
        return Standing(self.availability, self.unreachable_for_s, self.body is not None, self.status is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The result of a fetch of robots.txt.

    at           database time of its end
    fresh_s      seconds from there until it is fetched again
    failures     times in a row that it was out of reach
    revalidated  a 304
    """

    at: datetime
    availability: str
    revalidated: bool
    status: int | None
    detail: str
    body: bytes | None
    etag: str | None
    last_modified: str | None
    fresh_s: float
    failures: int
    crawl_delay_raw: str | None
    crawl_delay_s: float | None
    sitemaps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A line of an origin's history, which decides from `since` up to the next line (`app.policy.robots.in_force`).

    body               of the last good copy, None when there is none
    unreachable_since  not None: the file could not be had, since then
    """

    scheme: str
    port: int
    since: datetime
    availability: str
    status: int | None
    body: bytes | None
    unreachable_since: datetime | None

    def standing(self, moment: datetime) -> Standing:
        since = self.unreachable_since
        away_s = None if since is None else (moment - since).total_seconds()
        return Standing(self.availability, away_s, self.body is not None, self.status is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTdmrep:
    """The result of a request for /.well-known/tdmrep.json.

    at    database time of its end, or of the end of the rest that the host asked for
    body  empty: there is none. None: no answer, the previous one stays
    """

    at: datetime
    body: bytes | None


def of_host(tx: Connection, host_id: int) -> list[Stored]:
    rows = db.run(tx, _sql["of_host"], {"host_id": host_id})
    return [
        Stored(
            scheme=row.scheme,
            port=row.port,
            availability=row.availability,
            body=row.body,
            etag=row.etag,
            last_modified=row.last_modified,
            fetched_at=row.fetched_at,
            expires_at=row.expires_at,
            unreachable_since=row.unreachable_since,
            failures=row.failures,
            answered=row.answered,
            crawl_delay_s=row.crawl_delay_s,
            detail=row.detail,
            status=row.status,
            sitemaps=tuple(row.sitemaps),
            tdmrep=row.tdmrep,
            copied_at=row.copied_at,
            now=row.now,
        )
        for row in rows
    ]


def pace_of_host(tx: Connection, host_id: int, *, at: datetime) -> list[RobotsSummary]:
    """The stored robots.txt of a host's origins, briefly. at: the visit's take-up, database time."""
    return db.run(tx, _sql["pace_of_host"], {"host_id": host_id, "at": at}).of(RobotsSummary)


def body(tx: Connection, *, host_id: int, scheme: str, port: int) -> bytes:
    """The body of an origin's robots.txt. Empty when there is none."""
    row = db.run(tx, _sql["body"], {"host_id": host_id, "scheme": scheme, "port": port}).one_or_none()
    return (row.body or b"") if row else b""


def of_origins(tx: Connection, origins: Sequence[Origin]) -> dict[Origin, Elsewhere]:
    """The stored robots.txt of those origins that have been fetched."""
    rows = db.run(tx, _sql["of_origins"], {"rows": db.rows_param([origin._asdict() for origin in origins])})
    return {
        Origin(row.scheme, row.host, row.port): Elsewhere(row.availability, row.status, row.body, row.unreachable_for_s)
        for row in rows
    }


def store(tx: Connection, fetched: Sequence[tuple[int, Origin, Fetched]]) -> None:
    """Store results of hosts, each host's in the order they were fetched; each change becomes a line of history.

    Three or four statements for all of them, unless they are large or an origin was asked twice."""
    if not fetched:
        return
    for results in _in_lots(fetched):
        rows = [
            asdict(each) | {"host_id": host_id, "scheme": origin.scheme, "port": origin.port}
            for (host_id, origin), each in results.items()
        ]
        if new := [row for row in rows if not row["revalidated"]]:
            db.run(tx, _sql["store"], {"rows": db.rows_param(new)})
        if confirmed := [row for row in rows if row["revalidated"]]:
            db.run(tx, _sql["revalidated"], {"rows": db.rows_param(confirmed)})
        origins = [{name: row[name] for name in ("host_id", "scheme", "port")} for row in rows]
        db.run(tx, _sql["note_copies"], {"rows": db.rows_param(origins)})
    bodies = list({each.body for _, _, each in fetched if each.body is not None})
    db.run(tx, _sql["keep_bodies"], {"host_ids": [host_id for host_id, _, _ in fetched], "bodies": bodies})


def _in_lots(fetched: Sequence[tuple[int, Origin, Fetched]]) -> list[dict[tuple[int, Origin], Fetched]]:
    """The results in lots with one of an origin each, as a statement changes no row twice; few if they are large."""
    lots: list[dict[tuple[int, Origin], Fetched]] = [{}]
    size = 0
    for host_id, origin, each in fetched:
        size += len(each.body or b"")
        if lots[-1] and ((host_id, origin) in lots[-1] or size > LOT_BYTES):
            lots.append({})
            size = len(each.body or b"")
        lots[-1][host_id, origin] = each
    return lots


def copies(tx: Connection, host_id: int) -> list[Copy]:
    """The history of all origins of a host, the oldest line first. Empty before migration 0002."""
    return [Copy(**row._asdict()) for row in tx.execute(_sql["copies"], {"host_id": host_id})]


def tdmrep(tx: Connection, *, host_id: int, origin: Origin) -> tuple[bytes | None, float | None]:
    """The body (empty: there is none, None: unknown), and seconds since it was requested (None: never)."""
    where = {"host_id": host_id, "scheme": origin.scheme, "port": origin.port}
    row = tx.execute(_sql["tdmrep"], where).one_or_none()
    return (row.tdmrep, row.age_s) if row else (None, None)


def store_tdmrep(tx: Connection, *, host_id: int, asked: Sequence[tuple[Origin, AskedTdmrep]]) -> None:
    """Store a result, after `store`, which makes the origin's row."""
    for origin, each in asked:
        where = {"host_id": host_id, "scheme": origin.scheme, "port": origin.port}
        db.run(tx, _sql["store_tdmrep"], where | {"body": each.body, "at": each.at})


def doubt(tx: Connection, *, host_id: int, origin: Origin, recheck_s: float) -> None:
    """Have the file fetched again before the next page, but no sooner than recheck_s after the last time."""
    where = {"host_id": host_id, "scheme": origin.scheme, "port": origin.port}
    db.run(tx, _sql["doubt"], where | {"recheck_s": recheck_s})


def forget(tx: Connection, host_id: int) -> int:
    """Have a host's files fetched again. Returns how many."""
    return len(tx.execute(_sql["forget"], {"host_id": host_id}).all())
