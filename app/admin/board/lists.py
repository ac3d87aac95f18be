"""Lists of the dashboard, by key: hosts, pages, requests, traps, duplicates, items, refused links, orders.

Hosts come by name, by next contact, or those of a crawl; filtered by what they wait for. A filter reads a bounded slice
of hosts. Where the slice ends before a page is full, the next one goes on from there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Connection, Engine

from app.admin.crawls import find
from app.admin.failing import Failures, failures
from app.admin.hosts import known
from app.config import Settings
from app.errors import InputError
from app.model.reasons import HostWait
from app.store import board, db, operator_log
from app.store.board import END, START, Row
from app.store.operator_log import NEWEST, OperatorOrder

PAGE = 50
SLICE = 1_000
LINKS_SLICE = 10_000  # of refused links: most are of one reason, and a rare one is looked for
SEPARATOR = "|"
SORTS = ("name", "contact")


class PageKind(StrEnum):
    """Pages that a list may be limited to."""

    CHANGED = "changed since they were first fetched"
    RENDERED = "made by a browser"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A page of a list. next: where the next page begins; None: this is the last."""

    rows: Sequence[Row]
    next: str | None


def requests(engine: Engine, *, after: str = "") -> Listed:
    """Requests, the newest first. Raises InputError for no place."""
    with db.transaction(engine) as tx:
        found = board.requests(tx, before=place(after) if after else END, n=PAGE + 1)
    return _by_time(found, PAGE)


def requests_of_host(engine: Engine, name: str, *, after: str = "", n: int = PAGE) -> Listed:
    """Requests to a host, the newest first, with the gap before each. Raises InputError."""
    host = known(engine, name)
    with db.transaction(engine) as tx:
        before = place(after)[0] if after else END[0]
        found = board.requests_of_host(tx, host_id=host["id"], before=before, n=n + 1)
    return _by_time(found, n)


def errors(engine: Engine, crawl: str | None) -> Sequence[Row]:
    """Failures of the last day by class, among the newest requests. Raises InputError."""
    crawl_id = None if crawl is None else find(engine, crawl).id
    with db.transaction(engine) as tx:
        return board.errors(tx, crawl_id=crawl_id)


def failing(engine: Engine, crawl: str | None) -> Failures:
    """Failures of the last day by host, among the newest requests. Raises InputError."""
    crawl_id = None if crawl is None else find(engine, crawl).id
    with db.transaction(engine) as tx:
        return failures(tx, crawl_id)


def pages(
    engine: Engine,
    crawl: str,
    *,
    find_text: str | None = None,
    language: str | None = None,
    kind: PageKind | None = None,
    after: str = "",
) -> Listed:
    """Pages of a crawl whose texts are stored, by host and key: those that match, in the next slice.

    find_text: part of the URL or title;   language: a tag, or its first part. Raises InputError.
    """
    crawl_id = find(engine, crawl).id
    host, key = _parts(after, 2) if after else ("0", "")
    is_filtered = bool(find_text or language or kind)
    n = SLICE if is_filtered else PAGE + 1
    with db.transaction(engine) as tx:
        found, last_host = board.pages(tx, crawl_id=crawl_id, after=(number(host), _hex(key)), n=n)
    wanted = [row for row in found if _is_wanted(row, find_text, language, kind)]
    last = None
    if last_host is not None:
        last = found[-1] if len(found) == n else {"host_id": last_host, "key": "ff" * 32}  # behind all keys
    return _listed(wanted, ("host_id", "key"), last=last)


def _is_wanted(row: Row, find_text: str | None, language: str | None, kind: PageKind | None) -> bool:
    tag = (row["language"] or "").lower()
    is_of_kind = {
        None: True,
        PageKind.CHANGED: row["changed_at"] is not None,
        PageKind.RENDERED: row["rendered_at"] is not None,
        PageKind.GONE: row["gone_at"] is not None,
    }
    said = f"{row['url']}\n{row['title'] or ''}".lower()
    return (
        is_of_kind[kind]
        and (not language or language.lower() in {tag, tag.partition("-")[0]})
        and (not find_text or find_text.lower() in said)
    )


def traps(engine: Engine, *, after: str = "") -> Listed:
    """Patterns of URLs that were refused as traps. Raises InputError for no place."""
    host, crawl, pattern = _parts(after, 3) if after else ("0", "0", "")
    with db.transaction(engine) as tx:
        found = board.traps(tx, after=(number(host), number(crawl), pattern), n=SLICE)
    refused = [row for row in found if row["refused"]]
    return _listed(refused, ("host_id", "crawl_id", "pattern"), last=found[-1] if len(found) == SLICE else None)


def duplicates(engine: Engine, *, after: str = "") -> Listed:
    """Pages that repeat another. Raises InputError for no place."""
    host, crawl, key = _parts(after, 3) if after else ("0", "0", "")
    with db.transaction(engine) as tx:
        found = board.duplicates(tx, after=(number(host), number(crawl), _hex(key)), n=PAGE + 1)
    return _listed(found, ("host_id", "crawl_id", "key"))


def items(engine: Engine, *, crawl: str | None, handler: str | None, after: str = "") -> Listed:
    """Items that handlers extracted, of one crawl or handler, in the next slice. Raises InputError for no place."""
    host, crawl_id, key, of, n = _parts(after, 5) if after else ("0", "0", "", "", "0")
    where = (number(host), number(crawl_id), _hex(key), of, number(n))
    with db.transaction(engine) as tx:
        found = board.items(tx, after=where, n=SLICE)
    wanted = [
        row
        for row in found
        if (crawl is None or row["crawl"] == crawl) and (handler is None or row["handler"] == handler)
    ]
    parts = ("host_id", "crawl_id", "key", "handler", "n")
    return _listed(wanted, parts, last=found[-1] if len(found) == SLICE else None)


def refused_links(engine: Engine, crawl: str, *, reason: str | None, after: str = "") -> Listed:
    """Links of a crawl that were not admitted, the latest first, or those of a reason. Raises InputError."""
    crawl_id = find(engine, crawl).id
    before: datetime = place(f"{after} 0")[0] if after else END[0]
    n = PAGE if reason is None else LINKS_SLICE
    with db.transaction(engine) as tx:
        found = board.refused_links(tx, crawl_id=crawl_id, reason=reason, before=before, n=n)
    wanted = [row for row in found if reason is None or row["reason"] == reason]
    shown = wanted[:PAGE]
    is_cut = bool(found) and found[-1]["place"] == n
    last = shown[-1] if len(wanted) > PAGE else found[-1] if is_cut else None
    return Listed(rows=shown, next=None if last is None else last["last_at"].isoformat())


def orders(engine: Engine, *, subject: str | None = None, after: str = "", n: int = PAGE) -> Sequence[OperatorOrder]:
    """Orders that people gave, the latest first. Raises InputError for no place."""
    with db.transaction(engine) as tx:
        return operator_log.latest(tx, n=n, before=number(after) if after else NEWEST, subject=subject)


def _by_time(found: list[Row], n: int) -> Listed:
    rows = found[:n]
    return Listed(rows=rows, next=key_of(rows[-1]["started_at"], rows[-1]["id"]) if len(found) > n else None)


def _listed(rows: Sequence[Row], parts: Sequence[str], *, last: Row | None = None) -> Listed:
    """A page of rows.   last: the last row of a full slice, where rows were left out"""
    shown = rows[:PAGE]
    at = shown[-1] if len(rows) > PAGE else last
    return Listed(rows=shown, next=None if at is None else SEPARATOR.join(str(at[part]) for part in parts))


def _parts(after: str, n: int) -> list[str]:
    found = after.split(SEPARATOR, n - 1)
    if len(found) != n:
        raise no_place(after)
    return found


def _hex(text: str) -> str:
    try:
        return bytes.fromhex(text).hex()
    except ValueError:
        raise no_place(text) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSlice:
    """A page of hosts. next: where the next page begins; None: this is the last.   looked_at: hosts that were read"""

    hosts: Sequence[Row]
    next: str | None
    looked_at: int


def listed(
    engine: Engine,
    settings: Settings,
    *,
    crawl: str | None = None,
    waits_for: str | None = None,
    sort: str = "name",
    after: str = "",
) -> HostSlice:
    """A page of hosts. Raises InputError: an unknown crawl, reason, order or place."""
    if waits_for is not None and waits_for not in list(HostWait):
        raise InputError(f"waits for {waits_for!r}", f"is unknown; choose one of {', '.join(HostWait)}")
    if sort not in SORTS:
        raise InputError(f"sort {sort!r}", f"is unknown; choose one of {', '.join(SORTS)}")
    crawl_id = None if crawl is None else find(engine, crawl).id
    n = (SLICE if waits_for is not None else PAGE) + 1
    with db.transaction(engine) as tx:
        places = _places(tx, settings, crawl_id, sort, after, n)
        asked = places[: n - 1]
        rows = board.hosts(tx, names=[name for name, _ in asked], waits_for=waits_for)
    found = {row["host"]: row for row in rows}
    shown = [(name, key) for name, key in asked if name in found][:PAGE]
    is_cut = len(rows) > PAGE
    last = shown[-1][1] if is_cut else (asked[-1][1] if len(places) == n else None)
    return HostSlice(hosts=[found[name] for name, _ in shown], next=last, looked_at=len(asked))


def _places(
    tx: Connection, settings: Settings, crawl_id: int | None, sort: str, after: str, n: int
) -> list[tuple[str, str]]:
    """(name, place) of the next n hosts."""
    if crawl_id is not None:
        rows = board.names_of_crawl(tx, crawl_id=crawl_id, after=number(after or "0"), n=n)
        return [(row["host"], row["key"]) for row in rows]
    if sort == "name":
        return [(row["host"], row["key"]) for row in board.names_after(tx, after=after, n=n)]
    rows = board.names_by_contact(tx, queues=settings.queue_names, after=place(after) if after else START, n=n)
    return [(row["host"], key_of(row["at"], row["id"])) for row in rows]


def key_of(at: datetime, id: int) -> str:
    """A place in a list by time, for a link."""
    return f"{at.isoformat()} {id}"


def place(key: str) -> tuple[datetime, int]:
    """Read such a place. Raises InputError."""
    at, _, id = key.rpartition(" ")
    try:
        return datetime.fromisoformat(at), number(id)
    except ValueError:
        raise no_place(key) from None


def number(text: str) -> int:
    """Read an id of a place. Raises InputError for what is none, and for one that Postgres could not hold."""
    if not text.isascii() or not text.isdecimal() or len(text) > 18:  # digits that a bigint holds for sure
        raise no_place(text)
    return int(text)


def no_place(key: str) -> InputError:
    """The error of a place that is none."""
    return InputError(f"after {key[:80]!r}", "is not a place in this list; begin at its first page")
