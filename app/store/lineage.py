"""What the rows are in: cluster, timeline, database, table. One query of lineage.sql each.

A promoted replica, a recovery to a point in time and a restored dump go on from rows that may be older than what was written
last. `tiptoe_lineage()` is different then from what `lineage` remembers. Until `move` was run, no query of hosts.sql lends a host
or lets a visit write.
"""

from datetime import datetime
from typing import Literal

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("lineage")


def has_changed(tx: Connection) -> bool:
    """Whether the rows are in another one than they were last known to be in. Begins to remember, the first time."""
    row = db.run(tx, _sql["current"]).one()
    if row.seen is None:
        tx.execute(_sql["begin"])
    return row.seen not in (None, row.now)


def move(tx: Connection) -> bool:
    """Remember the new one. False: somebody else just has."""
    return tx.execute(_sql["move"]).one_or_none() is not None


def hold(tx: Connection, *, lease_s: float, gap_s: float) -> int:
    """All visits are fenced, all hosts wait for lease_s and their delay, and shared budgets for gap_s. Returns how many hosts."""
    tx.execute(_sql["hold_budgets"], {"gap_s": gap_s})
    return tx.execute(_sql["hold_hosts"], {"lease_s": lease_s}).rowcount


def fate(tx: Connection, *, xid: str, since: datetime | None) -> Literal["committed", "aborted"] | None:
    """Of a transaction whose commit was not answered: "committed" or "aborted"; None: nobody knows, or not yet.

    since  as at its take-up (host_rows.Taken.lineage): in another lineage its id may be another's
    """
    match db.run(tx, _sql["fate"], {"xid": xid, "since": since}).scalar_one():
        case "committed":
            return "committed"
        case "aborted":
            return "aborted"
        case _:
            return None
