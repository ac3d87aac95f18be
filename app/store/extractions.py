"""Extractions: the pages that handlers are to handle. One query of extractions.sql each, in the caller's transaction.

A row is written with the settle that wrote its capture, so that nothing has to be looked for by ids, which commit out
of order. A worker takes rows for a while; what it writes counts only where the row still waits for the same capture
and version.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypedDict

from sqlalchemy import Connection

from app.model import Capture
from app.model.handler import HandlerSpec
from app.store import db

_sql = db.queries("extractions")
TAKES_ALONE = 3  # a row that was taken so often, and never came back, is taken alone
TAKES_MOST = 10
_FOREVER = 32_000  # of a smallint
RECENT_S = 60.0


class DuePage(NamedTuple):
    """A page that may be due for a handler.   awaits: a browser is to open it; what it made before stands"""

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    capture_id: int
    body_sha256: bytes | None
    awaits: bool = False


class Claimed(NamedTuple):
    """A row that a worker has taken.   crawl: its name;   takes: with this one"""

    host_id: int
    crawl_id: int
    key: bytes
    handler: str
    url: str
    capture_id: int
    version: int
    admits: bool
    attempts: int
    takes: int
    crawl: str

    @property
    def place(self) -> "Place":
        return self.host_id, self.crawl_id, self.key, self.handler


Place = tuple[int, int, bytes, str]


class ExtractionEnding(TypedDict):
    """How a row ends: every column that `end` writes, and what `hold` compares. items, links None: as they were.

    state  done, failed, or due where it is tried again in due_s
    """

    host_id: int
    crawl_id: int
    key: bytes
    handler: str
    capture_id: int
    version: int
    state: str
    attempts: int
    cause: str | None
    traceback: str | None
    took_ms: float | None
    items: int | None
    links: int | None
    would_follow: Sequence[Mapping[str, Any]] | None
    due_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerCounts:
    """Pages of a handler and version.

    waiting       all that are due;   retrying, elsewhere: of these, after a failure, and on another machine's disk
    would_follow  links of runs that admitted none;   lately: pages that ended in the last minute
    """

    handler: str
    version: int
    done: int
    waiting: int
    failed: int
    retrying: int
    elsewhere: int
    would_follow: int
    lately: int
    mean_ms: float | None


class Left(NamedTuple):
    """Rows that are not at their end.   resting: due later, after a failure;   elsewhere: on another machine's disk"""

    waiting: int
    resting: int
    elsewhere: int


class Failed(NamedTuple):
    """A page that a handler failed on."""

    handler: str
    version: int
    crawl: str
    url: str
    state: str
    attempts: int
    cause: str
    traceback: str | None
    ended_at: datetime


def due(
    tx: Connection,
    pages: Iterable[DuePage],
    handlers: Collection[HandlerSpec],
    *,
    named: bool = False,
    again: bool = False,
    admits: bool = True,
) -> int:
    """Make pages due for the handlers that they fit. Returns how many rows were written.

    A page whose body this version has handled is left alone, and so is a page of a crawl that names other handlers.
    named: the handlers get pages of any crawl;   again: of any body;   admits: the links they yield are admitted
    """
    rows = {
        (page.host_id, page.crawl_id, page.key, handler.name): page._asdict()
        | {"handler": handler.name, "version": handler.version}
        for page in pages
        for handler in handlers
        if handler.fits(page.url)
    }
    if not rows:
        return 0
    where = {"rows": db.rows_param(list(rows.values())), "named": named, "again": again, "admits": admits}
    return db.run(tx, _sql["due"], where).rowcount


def pages(tx: Connection, *, crawl_id: int, after: tuple[int, bytes], n: int) -> list[DuePage]:
    """The latest captures of a crawl's pages with (host id, key) after a place, in that order."""
    where = {"crawl_id": crawl_id, "host_id": after[0], "key": after[1], "n": n}
    return db.run(tx, _sql["pages"], where).of(DuePage)


def claim(
    tx: Connection,
    handlers: Collection[HandlerSpec],
    *,
    n: int,
    lease_s: float,
    node: str | None = None,
    crawl_id: int | None = None,
) -> list[Claimed]:
    """Take up to n rows of each handler that are due: those that only this machine can read first.

    Rows of one capture are neighbours. A row that its workers lost again and again comes alone."""
    where = {
        "handlers": db.rows_param([{"name": each.name, "version": each.version} for each in handlers]),
        "crawl_id": crawl_id,
        "lease_s": lease_s,
        "n": n,
    }
    found = db.run(tx, _sql["claim_near"], {**where, "node": node}).of(Claimed) if node is not None else []
    if not found:
        found = db.run(tx, _sql["claim"], {**where, "least": 0, "most": TAKES_ALONE - 1}).of(Claimed)
    if not found:
        found = db.run(tx, _sql["claim"], {**where, "n": 1, "least": TAKES_ALONE, "most": _FOREVER}).of(Claimed)[:1]
    return sorted(found, key=lambda row: (row.crawl_id, row.capture_id))


def captures_of(tx: Connection, rows: Iterable[Claimed]) -> dict[tuple[int, int], Capture]:
    """The captures of claimed rows, by crawl and id; those that retention deleted are missing."""
    wanted = [{"crawl_id": crawl, "id": id} for crawl, id in sorted({(row.crawl_id, row.capture_id) for row in rows})]
    found = db.run(tx, _sql["captures"], {"rows": db.rows_param(wanted)}).of(Capture)
    return {(each.crawl_id, each.id): each for each in found}


def before(tx: Connection, *, crawl_id: int, id: int) -> Capture | None:
    """The last capture of the same page that has another body."""
    found = db.run(tx, _sql["before"], {"crawl_id": crawl_id, "id": id}).of(Capture)
    return found[0] if found else None


def hold(tx: Connection, endings: Sequence[ExtractionEnding]) -> set[Place]:
    """Lock the rows that still wait for these captures and versions. The others were handled, or changed, since."""
    wanted = [
        {name: each[name] for name in ("host_id", "crawl_id", "key", "handler", "capture_id", "version")}
        for each in endings
    ]
    found = db.run(tx, _sql["hold"], {"rows": db.rows_param(wanted)})
    return {(row.host_id, row.crawl_id, bytes(row.key), row.handler) for row in found}


def end(tx: Connection, endings: Sequence[ExtractionEnding]) -> None:
    """Write endings of rows that are held."""
    if endings:
        db.run(tx, _sql["end"], {"rows": db.rows_param(endings)})


def give_back(tx: Connection, rows: Iterable[Claimed], *, node: str | None = None, due_s: float = 0.0) -> None:
    """Return rows that were not handled.

    node: the machine that has their captures;   due_s: when others may try again
    """
    returned = [_place(row) | {"capture_id": row.capture_id, "node": node, "due_s": due_s} for row in rows]
    if returned:
        db.run(tx, _sql["give_back"], {"rows": db.rows_param(returned)})


def extend(tx: Connection, rows: Iterable[Claimed], *, lease_s: float) -> None:
    """Keep rows for longer."""
    kept = [_place(row) | {"capture_id": row.capture_id} for row in rows]
    if kept:
        db.run(tx, _sql["extend"], {"rows": db.rows_param(kept), "lease_s": lease_s})


def waiting(tx: Connection, *, most: int) -> int:
    """How many rows could be taken now: at most `most` are counted."""
    return int(db.run(tx, _sql["waiting"], {"most": most}).scalar_one())


def left(tx: Connection, *, crawl_id: int, handlers: Sequence[str] | None = None) -> Left:
    """Rows of a crawl, and of some handlers, that are not at their end."""
    names = None if handlers is None else list(handlers)
    (found,) = db.run(tx, _sql["left"], {"crawl_id": crawl_id, "handlers": names}).of(Left)
    return found


def status(tx: Connection, *, crawl_id: int | None = None) -> list[HandlerCounts]:
    found = db.run(tx, _sql["status"], {"crawl_id": crawl_id, "within_s": RECENT_S})
    return [HandlerCounts(**row._asdict()) for row in found]


def failures(tx: Connection, *, handler: str | None, crawl_id: int | None, n: int) -> list[Failed]:
    """Pages whose last attempt failed, the latest first; some of them are tried again."""
    return db.run(tx, _sql["failures"], {"handler": handler, "crawl_id": crawl_id, "n": n}).of(Failed)


def retry(tx: Connection, *, handler: str | None, crawl_id: int | None) -> int:
    """Make failed pages due again. Returns how many."""
    return db.run(tx, _sql["retry"], {"handler": handler, "crawl_id": crawl_id}).rowcount


def depths(tx: Connection, rows: Iterable[Claimed]) -> dict[tuple[int, int, bytes], tuple[int, str | None]]:
    """(depth, directives) of the pages that are in the frontier, by host, crawl and key."""
    wanted = [_place(row) for row in rows]
    found = db.run(tx, _sql["depths"], {"rows": db.rows_param(wanted)})
    return {(row.host_id, row.crawl_id, bytes(row.key)): (row.depth, row.directives) for row in found}


def _place(row: Claimed) -> dict[str, Any]:
    return {"host_id": row.host_id, "crawl_id": row.crawl_id, "key": row.key, "handler": row.handler}


def hosts_deleted(tx: Connection, crawl_id: int, *, after: int, until: int) -> None:
    """Delete the rows of a crawl that is deleted, of the hosts with ids above `after`, up to `until`."""
    db.run(tx, _sql["hosts_deleted"], {"crawl_id": crawl_id, "after": after, "until": until})
