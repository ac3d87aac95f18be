"""The fleet's ceiling on requests a second: one row of budgets, `all`. One query of ceiling.sql each."""

from sqlalchemy import Connection

from app.store import db

_sql = db.queries("ceiling")


def draw(tx: Connection, *, n: int, gap_s: float, horizon_s: float, returned: int = 0) -> float:
    """Draw n starts, gap_s apart. Returns the seconds until the first; more than horizon_s: none was drawn.

    returned: unused starts of an earlier lot, returned first.
    """
    where = {"n": n, "gap_s": gap_s, "horizon_s": horizon_s, "returned": returned}
    row = db.run(tx, _sql["draw"], where).one_or_none()
    if row is None:
        db.run(tx, _sql["ensure"])
        row = db.run(tx, _sql["draw"], where).one()
    return float(row.wait_s)
