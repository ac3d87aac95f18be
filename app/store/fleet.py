"""The fleet's figures, for metrics: each costs the same however large the frontier is, and some are estimates.

Numbers of rows come from a sample of their table's blocks. A table that fits into it is counted in full.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("fleet")
SAMPLE_BLOCKS = 32  # some 1,000 URLs, or hosts: their figures are within a fifth, two times of three
NEWEST_REQUESTS = 200


class Depth(NamedTuple):
    """URLs of a lane that are queued.   due: of hosts that are due and unclaimed"""

    queued: float
    due: float


class JudgedGaps(NamedTuple):
    """Violations among the newest requests, each compared with the one before to its host."""

    judged: int
    concurrent: int
    gap: int


class Serving(NamedTuple):
    """A process that serves metrics.

    name     of its sessions: `session_name`
    address  that Postgres sees it at; None: a socket of this machine
    is_near  whether that is the asker's, too
    """

    name: str
    address: str | None
    is_near: bool


class Sample(NamedTuple):
    """The shares of the tables that a sample reads, in percent."""

    urls: float
    hosts: float


def sample(tx: Connection, blocks: int = SAMPLE_BLOCKS) -> Sample:
    (found,) = db.run(tx, _sql["sample_percents"], {"blocks": blocks}).of(Sample)
    return found


def frontier(tx: Connection, percent: float) -> dict[int, Depth]:
    """Queued URLs by lane."""
    rows = db.run(tx, _sql["frontier"], {"percent": percent})
    return {row.lane: Depth(row.queued * 100 / percent, row.due * 100 / percent) for row in rows}


def hosts(tx: Connection, percent: float) -> dict[str, float]:
    """Hosts by what they do: due, offered, visited, waiting, resting, paused, quiet."""
    return {row.state: row.hosts * 100 / percent for row in db.run(tx, _sql["hosts"], {"percent": percent})}


def lag_s(tx: Connection, queues: Sequence[str], *, offer_s: float) -> float:
    """Seconds that the host that has been due for longest waits for a worker."""
    found: float = db.run(tx, _sql["lag"], {"queues": list(queues), "offer_s": offer_s}).one().lag_s
    return found


def judged(tx: Connection, n: int = NEWEST_REQUESTS) -> JudgedGaps:
    (found,) = db.run(tx, _sql["judged"], {"n": n}).of(JudgedGaps)
    return found


def crawls(tx: Connection) -> Mapping[str, int]:
    return {row.state: row.crawls for row in db.run(tx, _sql["crawls"])}


def session_name(role: str, address: str, port: int) -> str:
    """The name of the Postgres sessions of a process that serves metrics: `serving` finds it by that.

    address: "*" for every one."""
    return f"tiptoe {role} at {address}:{port}"


def serving(tx: Connection) -> list[Serving]:
    """Processes that serve metrics and have a session now."""
    return db.run(tx, _sql["serving"]).of(Serving)
