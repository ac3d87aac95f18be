"""Lists hosts by key: by name, by next contact, or those of a crawl; filtered by what they wait for.

A filter reads a bounded slice of hosts. Where the slice ends before a page is full, the next one goes on from there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Engine

from app.admin.crawls import find
from app.config import Settings
from app.errors import InputError
from app.model.reasons import HostWait
from app.store import board, db
from app.store.board import START, Row

PAGE = 50
SLICE = 1_000
SORTS = ("name", "contact")
ID_DIGITS = 18  # of a bigint, at most


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
    if not text.isascii() or not text.isdecimal() or len(text) > ID_DIGITS:
        raise no_place(text)
    return int(text)


def no_place(key: str) -> InputError:
    """The error of a place that is none."""
    return InputError(f"after {key[:80]!r}", "is not a place in this list; begin at its first page")
