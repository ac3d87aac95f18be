"""The database's clock beside those of the machines that dispatch. One query of clocks.sql each.

Leases and delays end at moments of the database's clock. When that is set, such as after a sleep of its machine, they
would end too early or too late. Each machine that dispatches notes the database's time beside its own seconds: a step
is a difference between the two. After a step forward no query lends a host until `accept` has run.
"""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from app.clock import DRIFT, STEP_S, clock_name, monotonic, step_s
from app.store import db

_sql = db.queries("clocks")
QUICK_S = 1.0  # an exchange that took longer is not noted: it may have waited anywhere
NOTED_S = 600.0  # a note is renewed so often: small steps until then add up to one that is seen
HELD_S = 20.0  # a shared budget is held by a host for so long at most (app.crawl.request.slots)
LONGEST_REST_S = 86_400.0  # that a site asks for, or the breaker


class ClockStep(NamedTuple):
    """A step of the database's clock.   by_s: negative: back;   noted_at: what it was compared with"""

    by_s: float
    noted_at: datetime


def steady() -> dict[str, object]:
    """The parameters by which a query lends nothing after a step forward."""
    return {"clock": clock_name(), "boot_s": monotonic(), "step_s": STEP_S, "drift": DRIFT}


def look(tx: Connection) -> ClockStep | None:
    """Compare the database's clock with ours. None: it is steady, which is noted."""
    sent = monotonic()
    row = db.run(tx, _sql["look"], {"machine": clock_name()}).one()
    received = monotonic()
    now = {"machine": clock_name(), "at": row.now, "boot_s": sent}
    if row.at is None:
        db.run(tx, _sql["begin"], now)
        return None
    by_s = step_s((row.now - row.at).total_seconds(), least_s=sent - row.boot_s, most_s=received - row.boot_s)
    if by_s:
        return ClockStep(by_s, row.at)
    if received - sent < QUICK_S and received - row.boot_s > NOTED_S:
        db.run(tx, _sql["note"], now)
    return None


def accept(tx: Connection, step: ClockStep, *, lease_s: float, gap_s: float) -> int | None:
    """Move what hosts and shared budgets wait for, by the step. Returns how many hosts; None: another process just has.

    gap_s: the longest of a shared budget
    """
    ours = {"machine": clock_name(), "at": step.noted_at, "step_s": step.by_s}
    if not db.run(tx, _sql["move"], ours).all():
        return None
    bounds = {"gap_s": gap_s, "rest_s": LONGEST_REST_S, "lease_s": lease_s}
    if step.by_s > 0:
        moved = tx.execute(_sql["ahead_hosts"], {**bounds, "step_s": step.by_s}).rowcount
        tx.execute(_sql["ahead_budgets"], {"step_s": step.by_s, "held_s": HELD_S + gap_s, "rest_s": LONGEST_REST_S})
    else:
        moved = tx.execute(_sql["back_hosts"], bounds).rowcount
        tx.execute(_sql["back_budgets"], {"held_s": HELD_S + gap_s, "rest_s": LONGEST_REST_S})
    return moved
