"""Events of pages as rows: written by the settle, read in the order of commits. One query of changes.sql each.

The order is of transaction ids, then of the rows' own. A row is final when no transaction with a lower id, or with its
own, is open: until then readers wait. A page's settles follow each other, since each holds its host: so do its events.

The cursor of the changes: the database that it is of, and the last event that its reader has seen. Pure.

It is one word. A reader must not take it apart: only its equality means something.
"""

import base64
import binascii
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypedDict

from sqlalchemy import Connection, Engine

from app.errors import InputError, ServiceError
from app.store import db
from app.store.pages import DroppedPage, KeptPage, Where
from app.store.parameters import Fold

_sql = db.queries("changes", __file__)
FORGOTTEN_AT_ONCE = 5_000
_MARK: Final = "tc1"  # of the form: a later one gets another


class EventPlace(NamedTuple):
    """A place among the events: transaction id, and the event's own."""

    xid: int
    id: int


START: Final = EventPlace(0, 0)


class Cursor(NamedTuple):
    """lineage: as `tiptoe_lineage()` said it: cluster, timeline, database, table"""

    lineage: str
    place: EventPlace

    def __str__(self) -> str:
        said = f"{self.lineage}|{self.place.xid}|{self.place.id}"
        return _MARK + base64.urlsafe_b64encode(said.encode()).decode().rstrip("=")


def is_cursor(text: str) -> bool:
    """Whether a text is meant as a cursor, right or wrong."""
    return text.strip().startswith(_MARK)


def parse(text: str) -> Cursor:
    """Read a cursor. Raises InputError."""
    given = text.strip()
    body = given.removeprefix(_MARK)
    try:
        if not is_cursor(given) or len(given) > 300 or not given.isascii():
            raise ValueError
        said = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True).decode()
        lineage, xid, at = said.split("|")
        place = EventPlace(int(xid), int(at))
        if str(Cursor(lineage, place)) != given or not 0 <= place.xid < 1 << 64 or not 0 <= place.id < 1 << 63:
            raise ValueError
    except (ValueError, binascii.Error):
        raise InputError(_shown(given), "is no cursor; give one as `tiptoe changes --json` wrote it") from None
    return Cursor(lineage, place)


def check(cursor: Cursor, *, lineage: str, top: EventPlace, deleted: EventPlace) -> None:
    """Check that the events after a cursor can all be told. Raises InputError.

    lineage  of the database;   newest: the last event that is final;   deleted: events up to here are not all there
    """
    shown, remedy = _shown(str(cursor)), "begin again with --from start"
    if cursor.lineage != lineage:
        ours, theirs = lineage.split("/"), cursor.lineage.split("/")
        is_moved = theirs[:1] == ours[:1] and theirs[2:] == ours[2:]
        why = "was restored, or another server took over, since" if is_moved else "is another one"
        raise InputError(shown, f"the database {why}: its events cannot be continued; {remedy}")
    if cursor.place < deleted:
        raise InputError(shown, f"is too old: events after it were deleted; {remedy}")
    if cursor.place > top:
        raise InputError(
            shown, f"is ahead of this database, which was set back to an earlier state, or is another copy; {remedy}"
        )


def _shown(cursor: str) -> str:
    return f"cursor {cursor if len(cursor) <= 24 else cursor[:12] + '…' + cursor[-8:]}"


class PageChangeKind(StrEnum):
    """Kinds of changes.

    A page came, or its main text is another; its site says that it is gone, or its owner that it must not be kept; one
    that was gone is there again.
    """

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"
    WITHDRAWN = "withdrawn"
    RETURNED = "returned"


class TurnedUrl(TypedDict):
    """A URL that was fetched, and whose page is gone now, or is there again.   was_gone: before"""

    host_id: int
    crawl_id: int
    key: bytes
    was_gone: bool


class Horizon(NamedTuple):
    """The state of the events.

    newest   the last one that is final: none can appear before it any more
    deleted  events up to here may have been deleted
    top      no cursor names an event behind it
    lineage  of the database
    """

    newest: EventPlace
    deleted: EventPlace
    top: EventPlace
    lineage: str
    now: datetime


class PageEvent(NamedTuple):
    """An event of a page.

    text_sha256  of its main text; None: it is not there any more
    title, text  of the page as it is by now; text: where it is asked for
    is_wanted    its page has the words that were asked for
    """

    place: EventPlace
    kind: PageChangeKind
    at: datetime
    host_id: int
    key: bytes
    url: str
    host: str
    text_sha256: bytes | None
    why: str | None
    title: str | None
    text: str | None
    is_wanted: bool


class Filters(NamedTuple):
    """Filters of events.

    url_like  pattern of LIKE;   words: in lower case, all of them, of the title and the text
    with_text  events bring the texts of their pages
    """

    since: datetime | None = None
    kinds: Sequence[str] | None = None
    url_like: str | None = None
    words: Sequence[str] | None = None
    with_text: bool = False


NO_FILTERS = Filters()


def turned(tx: Connection, rows: Sequence[TurnedUrl]) -> set[Where]:
    """Write events of pages that are gone, or are there again. Returns these pages."""
    found = db.run(tx, _sql["turned"], {"rows": db.rows_param(rows)})
    return {(row.host_id, row.crawl_id, row.key) for row in found}


def kept(tx: Connection, pages: Sequence[KeptPage]) -> None:
    """Write events of pages that are new or changed."""
    if pages:
        rows = [{**page._asdict(), "at": page.at.isoformat()} for page in pages]
        db.run(tx, _sql["kept"], {"rows": db.rows_param(rows)})


def dropped(tx: Connection, pages: Sequence[DroppedPage]) -> None:
    """Write events of pages that were deleted."""
    if pages:
        db.run(tx, _sql["dropped"], {"rows": db.rows_param([page._asdict() for page in pages])})


@contextmanager
def moving(tx: Connection, *, host_id: int, folds: Sequence[Fold]) -> Iterator[None]:
    """Context in which pages get other URLs: they are gone from the old ones, and new at the others."""
    where = {"host_id": host_id, "rows": db.rows_param([fold._asdict() for fold in folds])}
    db.run(tx, _sql["left"], where)
    yield
    db.run(tx, _sql["arrived"], where)


def horizon(engine: Engine) -> Horizon:
    """Find how far events are final. Events that came with a restored database get ids of this one first."""
    with db.transaction(engine) as tx:
        row = db.run(tx, _sql["horizon"]).one()
        if row.seen is None:
            db.run(tx, _sql["begin"])
        elif row.seen != row.lineage:
            _adopt(tx, row.seen, row.lineage)
    if row.seen != row.lineage:
        with db.transaction(engine) as tx:
            row = db.run(tx, _sql["horizon"]).one()
    newest = EventPlace(row.xid, row.id)
    top = max(newest, EventPlace(row.top_xid, row.top_id))
    return Horizon(newest, EventPlace(row.deleted_xid, row.deleted_id), top, row.lineage, row.now)


def _adopt(tx: Connection, seen: str, lineage: str) -> None:
    """Take over the events of another database.

    A server that took over, or went back in time, has ids that go on from them. In another cluster they mean nothing.
    """
    if db.run(tx, _sql["move"]).one_or_none() is not None and seen.split("/")[0] != lineage.split("/")[0]:
        if not db.run(tx, _sql["is_oldest"]).scalar_one():  # events of an older one would stand before all others
            raise ServiceError("changes", "the database was restored just now; try again in a minute")
        db.run(tx, _sql["adopt"])


def read(
    tx: Connection, *, crawl_id: int, after: EventPlace, until: EventPlace, filters: Filters, n: int
) -> list[PageEvent]:
    """The next n events of a crawl.   until: of a horizon. The words are looked for in what this returns."""
    where = {
        "crawl_id": crawl_id,
        "xid": after.xid,
        "id": after.id,
        "until_xid": until.xid,
        "until_id": until.id,
        "since": filters.since,
        "kinds": None if filters.kinds is None else list(filters.kinds),
        "url_like": filters.url_like,
        "words": None if filters.words is None else list(filters.words),
        "with_text": filters.with_text,
        "n": n,
    }
    return _events(db.run(tx, _sql["read"], where))


def latest(tx: Connection, *, crawl_id: int, until: EventPlace, filters: Filters, n: int) -> list[PageEvent]:
    """The last n events of a crawl, the newest first.   until: of a horizon. It looks for no words."""
    where = {
        "crawl_id": crawl_id,
        "until_xid": until.xid,
        "until_id": until.id,
        "kinds": None if filters.kinds is None else list(filters.kinds),
        "url_like": filters.url_like,
        "n": n,
    }
    return _events(db.run(tx, _sql["latest"], where))


def _events(found: Iterable[Any]) -> list[PageEvent]:
    return [PageEvent(EventPlace(row.xid, row.id), PageChangeKind(row.kind), *row[3:]) for row in found]


def forget(engine: Engine, *, keep_days: int) -> tuple[int, int]:
    """Delete a lot of old events, but the last of each page that is there. Returns how many were old, and are deleted.

    The next lot begins behind this one, and after the last at the start again.
    """
    with db.transaction(engine) as tx:
        old = db.run(tx, _sql["old"], {"keep_days": keep_days, "n": FORGOTTEN_AT_ONCE}).all()
        if not old:
            db.run(tx, _sql["look_again"])
            return 0, 0
        where = {"keep_days": keep_days, "xid": old[-1].xid, "id": old[-1].id}
        return len(old), int(db.run(tx, _sql["forget"], where).scalar_one())


def drop_crawl(tx: Connection, crawl_id: int) -> int:
    """Delete events of a crawl. Returns how many; 0: there are none left."""
    return int(db.run(tx, _sql["drop_crawl"], {"crawl_id": crawl_id, "n": FORGOTTEN_AT_ONCE}).scalar_one())
