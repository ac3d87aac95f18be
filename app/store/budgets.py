"""Budgets that several hosts share: an address, a network, a registrable domain, and the fleet's ceiling.

One query of budgets.sql each.

One mechanism for all: `reserve` grants the start of one request on every budget that it draws on, in one statement, or
returns when to ask again. A host that has to ask again queues at the budget that made it wait: a crowd is spread over
time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import Connection

from app.model import Rest, RestReason
from app.store import db

_sql = db.queries("budgets")

# After a refused connection one host at a time tries the address: longer than connecting may take (app.net.connection).
PROBE_S = 15.0
LONE_S = 1.0
LOT_S = 0.65  # the longest stretch of starts that one process draws at once


class BudgetKind(StrEnum):
    """`budgets.kind`. ALL is the fleet's ceiling: a rate, whose starts may be late; the others are gaps."""

    ADDRESS = "address"
    NETWORK = "network"  # a shared front that an operator named by CIDR
    DOMAIN = "domain"
    ALL = "all"


_BUDGET = {
    BudgetKind.ADDRESS: RestReason.ADDRESS_BUDGET,
    BudgetKind.NETWORK: RestReason.NETWORK_BUDGET,
    BudgetKind.DOMAIN: RestReason.DOMAIN_BUDGET,
    BudgetKind.ALL: RestReason.ALL_BUDGET,
}
# Only what a connection goes to rests as a whole.
_RESTS = {BudgetKind.ADDRESS: RestReason.ADDRESS_RESTS, BudgetKind.NETWORK: RestReason.NETWORK_RESTS}


class Budget(NamedTuple):
    """gap_s: seconds between the starts of two requests."""

    kind: BudgetKind
    name: str
    gap_s: float

    @property
    def slack_s(self) -> float:
        """Seconds that starts are granted further apart than the budget asks.

        They cover a late start, and a network that delays one request more than the next."""
        return 0.0 if self.kind is BudgetKind.ALL else min(0.05, max(self.gap_s / 5, 0.02))

    @property
    def lot_most(self) -> int:
        """The number of starts that may be drawn at once."""
        return max(int(LOT_S / self.gap_s), 1)

    @property
    def promise_s(self) -> float:
        """Seconds between two promised times: as fast as starts can be drawn in the largest lots, and 2 % slower."""
        most = self.lot_most
        return self.gap_s + self.slack_s if most == 1 else (self.gap_s + self.slack_s / most) * 1.02


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetAnswer:
    """granted: the request may start in wait_s; else ask again in wait_s, `why` says which budget.

    is_near    several hosts share it, and its promised time is within the horizon: stand in line. Of a draw: ask again
               in wait_s
    failures   refused or reset connections in a row of the budget that rests as a whole
    blocked    one of the budgets rests
    shared     other hosts have drawn on one of them lately; else the start may be LONE_S late
    held       the next starts, until hold_s from `now`, are granted with it
    now        database time that wait_s counts from;   took_s: since the query arrived there, waits for locks included
    """

    granted: bool
    is_near: bool
    wait_s: float
    why: Rest
    failures: int
    blocked: bool
    shared: bool
    held: bool
    now: datetime
    took_s: float


class StartTerms(NamedTuple):
    """The terms on which a start is asked for.

    ready_in_s  until the host itself is ready
    horizon_s   longest wait of a grant
    has_ticket  the host returns at its promised time
    hold_s      a host that shares none is granted every start for so long; it keeps the gaps, and returns them when it
                leaves
    starts      draw so many at once, a gap apart, for hosts with a promise; 0: ask, and get a promise where the budget
                is shared
    near_s      of a draw: ask again for a start that is no further away than this
    lost        starts that this process drew lately and could not use;   returned: of an earlier lot, used by nobody
    alone       the transaction writes nothing else
    is_new      most likely nobody has asked for these budgets yet: they are made first, which saves asking twice
    """

    host_id: int
    ready_in_s: float
    horizon_s: float
    has_ticket: bool = False
    hold_s: float = 0.0
    starts: int = 0
    near_s: float = 0.0
    lost: int = 0
    returned: int = 0
    alone: bool = False
    is_new: bool = False


def reserve(tx: Connection, wanted: Sequence[Budget], terms: StartTerms) -> BudgetAnswer:
    """Reserve a start on all `wanted` budgets, at least one, or a promised time.

    The last statement of a transaction, or one that commits by itself: it holds the budgets until the commit.
    """
    rows = _rows(wanted, terms.starts)
    where = {
        **terms._asdict(),
        "rows": rows,
        "draws": terms.starts > 0,
        "probe_s": PROBE_S,
        "lone_s": LONE_S,
    }
    if terms.is_new:
        db.run(tx, _sql["ensure"], {"rows": rows})
    row = db.run(tx, _sql["reserve"], where).one()
    if row.budgets < len(wanted):
        db.run(tx, _sql["ensure"], {"rows": rows})
        row = db.run(tx, _sql["reserve"], where).one()
    return _answer(row)


def _rows(wanted: Sequence[Budget], starts: int) -> db.RowsParam:
    lot_s = max(starts - 1, 0) * max(each.gap_s for each in wanted)  # the widest gap spaces them on every budget
    return db.rows_param(
        [
            {
                "kind": each.kind.value,
                "name": each.name,
                "gap_s": each.gap_s + each.slack_s,
                "lot_s": lot_s,
                "promise_s": each.promise_s,
            }
            for each in wanted
        ]
    )


def _answer(row: Any) -> BudgetAnswer:
    return BudgetAnswer(
        granted=row.granted,
        is_near=row.is_near,
        wait_s=row.wait_s,
        why=_why(row),
        failures=row.failures,
        blocked=row.blocked,
        shared=row.shared,
        held=row.granted and row.held,
        now=row.now,
        took_s=row.took_s,
    )


def _why(row: Any) -> Rest:
    """The budget that says when: its name, and whether it rests as a whole."""
    if row.rests:
        return Rest(_RESTS[row.kind], f"{row.name}, {row.resting_because}")
    return Rest(_BUDGET[row.kind], row.name or None)


def lock(tx: Connection, those: Sequence[Budget]) -> None:
    """Lock budgets before several of them change, each by a statement of its own."""
    db.run(tx, _sql["lock"], {"rows": db.rows_param([{"kind": each.kind, "name": each.name} for each in those])})


def return_held(tx: Connection, held: Sequence[tuple[int, Sequence[Budget], float]]) -> None:
    """Return held budgets. held: host id, its budgets, seconds until the gap after its last start is over."""
    rows = [
        {"kind": each.kind.value, "name": each.name, "host_id": host_id, "next_in_s": next_in_s}
        for host_id, drawn, next_in_s in held
        for each in drawn
    ]
    if rows:
        db.run(tx, _sql["return_held"], {"rows": db.rows_param(rows)})


def refused(tx: Connection, budget: Budget, *, because: str, base_s: float, max_s: float) -> float | None:
    """Make the address rest as a whole after a refused connection. Returns for how many seconds."""
    row = db.run(
        tx,
        _sql["refused"],
        {"kind": budget.kind, "name": budget.name, "because": because, "base_s": base_s, "max_s": max_s},
    ).one_or_none()
    return row.rest_s if row else None


def reset(tx: Connection, budget: Budget, *, host_id: int, because: str, base_s: float, max_s: float) -> float | None:
    """Note a reset connection, which may concern one name only: the address rests when two names fail.

    Returns for how many seconds it rests, None where it does not.
    """
    row = db.run(
        tx,
        _sql["note_reset"],
        # A name's reset connection counts against its address for so long.
        {"kind": budget.kind, "name": budget.name, "host_id": host_id, "memory_s": 600.0},
    ).one_or_none()
    if row is None or not row.rests:
        return None
    return refused(tx, budget, because=because, base_s=base_s, max_s=max_s)


def answered(tx: Connection, budget: Budget) -> None:
    db.run(tx, _sql["answered"], {"kind": budget.kind, "name": budget.name, "gap_s": budget.gap_s})


def of_address(tx: Connection, address: str) -> Mapping[str, Any] | None:
    row = tx.execute(_sql["of_address"], {"address": address}).mappings().one_or_none()
    return dict(row) if row else None


def prune(tx: Connection, n: int) -> int:
    return tx.execute(_sql["prune"], {"n": n}).rowcount
