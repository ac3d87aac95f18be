"""Renders: the pages that a browser is to open, and the workers that have one. One query of renders.sql each.

A row is written with the settle of the plain answer, and holds that answer until it is rendered. It changes under its
host's lease alone, so that two workers cannot open one page.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypedDict
from uuid import UUID

from sqlalchemy import Connection

from app.model.render import ShellSign
from app.store import db
from app.store.host_rows import Offer
from app.store.url_rows import Due, due_of

_sql = db.queries("renders")


class RenderRow(TypedDict):
    """A page to be rendered, with its plain answer.

    pattern   the shape of its URL;   evidence: that it is empty without JavaScript; None: its crawl renders all
    headers   by lower-case names;   body: deflated
    """

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    pattern: str
    evidence: Mapping[ShellSign, str] | None
    status: int
    headers: Mapping[str, str]
    body: bytes
    body_sha256: bytes


class TakenRender(NamedTuple):
    """A page that is being rendered.   takes: with this one;   text_sha256: of the rendering before"""

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    takes: int
    attempts: int
    evidence: Mapping[ShellSign, str] | None
    status: int
    headers: Mapping[str, str]
    body: bytes
    body_sha256: bytes
    text_sha256: bytes | None


class RenderEnd(TypedDict):
    """How a rendering ended: the columns that `end` writes, and what is only counted.

    state    done, failed, or due where it is tried again in due_s
    takes    that count further; 0: its worker lived, and the page was shown or is not to blame
    answered, cached  requests of the page that brought an answer, and those of them that were not sent: for metrics
    refused  requests of the page, by the reason why they were not sent
    changed  its text is another than that of the rendering before
    """

    host_id: int
    crawl_id: int
    key: bytes
    body_sha256: bytes
    state: str
    cause: str | None
    attempts: int
    takes: int
    due_s: float | None
    ending: str | None
    brought: int | None
    wall_ms: float | None
    cpu_ms: float | None
    asked: int | None
    answered: int
    cached: int
    refused: Mapping[str, int] | None
    text_sha256: bytes | None
    changed: bool


class PlainAnswer(NamedTuple):
    """The answer that a page waits for a browser with.   headers: by lower-case names;   body: deflated"""

    crawl_id: int
    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


class RenderWorker(NamedTuple):
    """A worker of queue render.   browser: its version;   problem: why it can render nothing, and the remedy"""

    name: str
    browser: str | None
    problem: str | None
    seen_at: datetime


def queue(tx: Connection, rows: Sequence[RenderRow], *, ttl_s: float) -> None:
    """Make pages due. One that was rendered from the same body within ttl_s is left alone."""
    if rows:
        db.run(tx, _sql["queue"], {"rows": db.rows_param(rows), "ttl_s": ttl_s})


def claim(tx: Connection, *, ahead_s: float, offer_s: float, isolate: int) -> Offer | None:
    """Offer a host with a page to render to the caller, which visits it itself. isolate: as in hosts.claim_due."""
    rows = db.run(tx, _sql["claim"], {"ahead_s": ahead_s, "offer_s": offer_s, "isolate": isolate})
    return next(iter(rows.of(Offer)), None)


def take(tx: Connection, *, host_id: int, token: UUID) -> TakenRender | None:
    """Take the host's next page, under its lease. None: there is none, or the lease is lost."""
    rows = db.run(tx, _sql["take"], {"host_id": host_id, "token": token})
    return next(iter(rows.of(TakenRender)), None)


def page(tx: Connection, taken: TakenRender) -> Due | None:
    """The frontier's row of a page. None: its crawl was deleted."""
    where = {"host_id": taken.host_id, "crawl_id": taken.crawl_id, "key": taken.key}
    row = db.run(tx, _sql["page"], where).one_or_none()
    return None if row is None else due_of(row)


def end(tx: Connection, rows: Sequence[RenderEnd]) -> None:
    """Write endings of pages that still wait. Their host is locked."""
    if rows:
        db.run(tx, _sql["end"], {"rows": db.rows_param(rows)})


def waiting(tx: Connection) -> bool:
    """Whether a page is to be rendered now."""
    return bool(db.run(tx, _sql["waiting"]).one().yes)


def due_of_crawl(tx: Connection, crawl_id: int) -> int:
    """Pages of a crawl that wait for a browser, also where it has ended."""
    return int(db.run(tx, _sql["due_of_crawl"], {"crawl_id": crawl_id}).one().pages)


def depth(tx: Connection, most: int) -> int:
    """Pages of active crawls that wait for a browser, `most` if there are more."""
    return int(db.run(tx, _sql["depth"], {"most": most}).one().pages)


def seen(tx: Connection, *, name: str, browser: str | None, problem: str | None) -> None:
    db.run(tx, _sql["seen"], {"name": name, "browser": browser, "problem": problem})


def gone(tx: Connection, name: str) -> None:
    db.run(tx, _sql["gone"], {"name": name})


def workers(tx: Connection) -> list[RenderWorker]:
    """Workers that were there within the last minute, the healthy first."""
    return db.run(tx, _sql["workers"]).of(RenderWorker)


def of_crawl(tx: Connection, crawl_id: int) -> list[Mapping[str, Any]]:
    """Rows of state, cause, pages, wall_ms, asked."""
    return [dict(row) for row in tx.execute(_sql["of_crawl"], {"crawl_id": crawl_id}).mappings()]


def refused_of_crawl(tx: Connection, crawl_id: int) -> dict[str, int]:
    """Requests by the reason why they were refused, the most frequent first."""
    return {row.reason: int(row.requests) for row in db.run(tx, _sql["refused_of_crawl"], {"crawl_id": crawl_id})}


def plain_of_url(tx: Connection, *, host_id: int, key: bytes) -> list[PlainAnswer]:
    """The answers that wait for a browser, of any crawl."""
    return db.run(tx, _sql["plain_of_url"], {"host_id": host_id, "key": key}).of(PlainAnswer)


def of_url(tx: Connection, *, host_id: int, key: bytes) -> dict[int, dict[str, Any]]:
    """The rows of a URL by crawl id."""
    found = tx.execute(_sql["of_url"], {"host_id": host_id, "key": key})
    return {row["crawl_id"]: dict(row) for row in found.mappings()}


def hosts_deleted(tx: Connection, crawl_id: int, *, after: int, until: int) -> None:
    """Delete the rows of a crawl that is deleted, of the hosts with ids above `after`, up to `until`."""
    db.run(tx, _sql["hosts_deleted"], {"crawl_id": crawl_id, "after": after, "until": until})
