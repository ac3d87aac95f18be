"""The cursor of the changes: the database that it is of, and the last event that its reader has seen. Pure.

It is one word. A reader must not take it apart: only its equality means something.
"""

import base64
import binascii
from typing import Final, NamedTuple

from app.errors import InputError

_MARK: Final = "tc1"  # of the form: a later one gets another
_MOST_CHARS: Final = 300


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
        if not is_cursor(given) or len(given) > _MOST_CHARS or not given.isascii():
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
