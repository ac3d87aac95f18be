"""The lineage of the rows: cluster, timeline, database, table. One query of lineage.sql each.

A promoted replica, a recovery to a point in time and a restored dump continue from rows that may be older than the last
write. `tiptoe_lineage()` differs then from the remembered `lineage`. Until `move` has run, no query of hosts.sql lends
a host or lets a visit write.
"""

from datetime import datetime
from typing import Literal

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("lineage")


def has_changed(tx: Connection) -> bool:
    """Whether the lineage differs from the remembered one. The first call remembers it."""
    row = db.run(tx, _sql["current"]).one()
    if row.seen is None:
        tx.execute(_sql["begin"])
    return row.seen not in (None, row.now)


def move(tx: Connection) -> bool:
    """Remember the new lineage. False: another process just has."""
    return tx.execute(_sql["move"]).one_or_none() is not None


def hold(tx: Connection, *, lease_s: float, gap_s: float) -> int:
    """Fence all visits; hosts wait for lease_s and their delay, shared budgets for gap_s. Returns how many hosts."""
    tx.execute(_sql["hold_budgets"], {"gap_s": gap_s})
    return tx.execute(_sql["hold_hosts"], {"lease_s": lease_s}).rowcount


def fate(tx: Connection, *, xid: str, since: datetime | None) -> Literal["committed", "aborted"] | None:
    """The fate of a transaction with an unanswered commit: "committed" or "aborted"; None: unknown, or not yet known.

    since  as at its take-up (host_rows.TakenHost.lineage): in another lineage its id may be another's
    """
    match db.run(tx, _sql["fate"], {"xid": xid, "since": since}).scalar_one():
        case "committed":
            return "committed"
        case "aborted":
            return "aborted"
        case _:
            return None
