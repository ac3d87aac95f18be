"""Hosts: claiming, taking up, staying, leaving, waking.

Each function runs one query of hosts.sql in the caller's transaction.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from app.model import Rest, RestReason
from app.policy.pace import History
from app.store import clocks, db
from app.store.host_rows import Contact, HostPace, Loan, Locked, Offer, TakenHost

_sql = db.queries("hosts")
MOST_QUEUED = 10_000


def claim_due(
    tx: Connection,
    *,
    capacity: Mapping[str, int],
    n: int,
    ahead_s: float,
    offer_s: float,
    isolate: int,
    since: Mapping[str, datetime] = MappingProxyType({}),
) -> list[Offer]:
    """Claim due hosts, n at most.

    capacity  how many hosts each queue may be given; queues named first are served first
    since     for some queues: hosts that were due before are skipped
    """
    rows = db.run(
        tx,
        _sql["claim_due"],
        {
            "queues": list(capacity),
            "capacity": list(capacity.values()),
            "since": [since.get(queue) for queue in capacity],
            "n": n,
            "ahead_s": ahead_s,
            "offer_s": offer_s,
            "isolate": isolate,
            **clocks.steady(),
        },
    )
    return rows.of(Offer)


def take_up(tx: Connection, *, host_id: int, token: UUID, worker: str, lease_s: float) -> TakenHost | None:
    """Turn an offer into a visit. None: the host was taken up before, claimed again, or paused."""
    where = {"host_id": host_id, "token": token, "worker": worker, "lease_s": lease_s}
    row = db.run(tx, _sql["take_up"], where).one_or_none()
    if row is None:
        return None
    history = History(row.adaptive_level, tuple(row.recent_statuses), tuple(row.recent_ms), row.latency_s)
    return TakenHost(
        visit_id=row.visit_id,
        name=row.name,
        domain=row.domain,
        address=row.address,
        delay_override_s=row.delay_override_s,
        quiet_hours=row.quiet_hours,
        resting_because=row.resting_because,
        contacted=row.contacted,
        unfetched=row.unfetched,
        now=row.now,
        wait_s=row.wait_s,
        lineage=row.lineage,
        pace=HostPace(
            delay_s=row.delay_s,
            robots_delay_s=row.robots_delay_s,
            history=history,
            trips=row.breaker_trips,
            failures=row.failures,
            isolate=row.isolate,
            answered=row.answered,
        ),
    )


def offer_now(tx: Connection, *, name: str, offer_s: float, isolate: int) -> Offer | None:
    """Offer a host to the caller, which visits it itself. None when the host may not be contacted now."""
    rows = db.run(tx, _sql["offer_now"], {"name": name, "offer_s": offer_s, "isolate": isolate, **clocks.steady()})
    return next(iter(rows.of(Offer)), None)


def borrow(tx: Connection, *, name: str, lease_s: float, isolate: int) -> Loan | None:
    """Lease a host for one request. None when it may not be contacted now. isolate: as in claim_due."""
    rows = db.run(tx, _sql["borrow"], {"name": name, "lease_s": lease_s, "isolate": isolate, **clocks.steady()})
    return next(iter(rows.of(Loan)), None)


def free_in(tx: Connection, name: str) -> float | None:
    """Seconds until a host that could not be borrowed may be contacted, by its row. None: it is paused."""
    row = db.run(tx, _sql["free_in"], {"name": name}).one_or_none()
    return row.seconds if row else None


def return_loan(
    tx: Connection,
    *,
    host_id: int,
    token: UUID,
    age_s: float | None,
    rest_s: float | None = None,
    why: Rest | None = None,
) -> None:
    """End a borrowed lease. age_s, rest_s: as in Contact."""
    where = {"host_id": host_id, "token": token, "age_s": age_s, "rest_s": rest_s, **_why(why)}
    db.run(tx, _sql["return_loan"], where)


def lock_leased(tx: Connection, *, host_id: int, token: UUID) -> bool | None:
    """Lock a leased host. Returns whether a pause was requested; None when the lease is lost."""
    return lock_all_leased(tx, [(host_id, token)]).pauses.get(token)


def lock_all_leased(tx: Connection, leases: Sequence[tuple[int, UUID]]) -> Locked:
    """Lock leased hosts. leases: host id, token."""
    ids, tokens = zip(*leases, strict=True)
    where = {"ids": db.array_param(ids), "tokens": db.array_param(tokens)}
    rows = db.run(tx, _sql["lock_leased"], where).all()
    return Locked(pauses={row.token: row.pause_requested for row in rows}, xid=rows[0].xid if rows else "")


def extend_visits(tx: Connection, contacts: Sequence[Contact], *, lease_s: float) -> None:
    if contacts:
        db.run(tx, _sql["extend_visits"], {"rows": _contacts(contacts), "lease_s": lease_s})


def leave(tx: Connection, contacts: Sequence[Contact]) -> None:
    if contacts:
        db.run(tx, _sql["leave"], {"rows": _contacts(contacts)})


def block(tx: Connection, *, host_id: int, rest_s: float, why: Rest) -> None:
    db.run(tx, _sql["block"], {"host_id": host_id, "rest_s": rest_s, **_why(why)})


def _why(rest: Rest | None) -> dict[str, str | None]:
    reason, detail = rest or (None, None)
    return {"resting_because": reason, "resting_detail": detail}


def extend(tx: Connection, *, host_id: int, token: UUID, lease_s: float) -> bool:
    """Extend a lease. False: it is lost."""
    return db.run(tx, _sql["extend"], {"host_id": host_id, "token": token, "lease_s": lease_s}).rowcount == 1


def ensure(tx: Connection, *, rows: Sequence[Mapping[str, Any]], delay_s: float) -> dict[str, int]:
    """Find or make hosts. rows: name, domain, queue. Returns {name: id}."""
    if not rows:
        return {}
    found = {row.name: row.id for row in db.run(tx, _sql["ensure"], {"rows": db.rows_param(rows), "delay_s": delay_s})}
    missing = [row["name"] for row in rows if row["name"] not in found]
    return found | ids(tx, missing) if missing else found  # made since our snapshot


def ids(tx: Connection, names: Sequence[str]) -> dict[str, int]:
    return {row.name: row.id for row in db.run(tx, _sql["ids"], {"names": list(names)})}


def lock(tx: Connection, host_ids: Sequence[int]) -> None:
    """Lock hosts before their URLs or robots.txt are changed without their lease, so that settles wait."""
    tx.execute(_sql["lock"], {"ids": sorted(host_ids)})


def wake(tx: Connection, host_ids: Sequence[int]) -> int:
    """Wake hosts after the commit that queued their URLs. Returns how many got a next contact."""
    ids = sorted(host_ids)
    db.run(tx, _sql["lock_quiet"], {"ids": ids})
    return len(db.run(tx, _sql["wake"], {"ids": ids}).all())


def wake_forgotten(tx: Connection, *, most: int, turn: int | None = None) -> int:
    """Wake hosts that a crash left with queued URLs and no next contact. Returns how many.

    most  hosts that are looked at, by id; further ones follow in the next turn
    turn  None: one every 10 s
    """
    return len(tx.execute(_sql["wake_forgotten"], {"slice": most, "turn": turn}).all())


def pause_outlived(tx: Connection) -> int:
    return len(tx.execute(_sql["pause_outlived"]).all())


def held_by(tx: Connection, machine: str) -> list[tuple[int, UUID, str]]:
    """(host id, token, worker) of the leases that workers on this machine hold."""
    return [(row.host_id, row.token, row.worker) for row in tx.execute(_sql["held_by"], {"machine": machine})]


def end_dead(tx: Connection, *, host_id: int, token: UUID) -> bool:
    """End the lease of a worker that is certainly dead."""
    return tx.execute(_sql["end_dead"], {"host_id": host_id, "token": token}).one_or_none() is not None


def pause(tx: Connection, name: str) -> str | None:
    """Pause a host. Returns its state, None when there is no such host."""
    row = tx.execute(_sql["pause"], {"name": name}).one_or_none()
    return row.state if row else None


def resume(tx: Connection, name: str) -> int | None:
    row = tx.execute(_sql["resume"], {"name": name}).one_or_none()
    return row.id if row else None


def release(tx: Connection, name: str) -> int | None:
    row = tx.execute(_sql["release"], {"name": name}).one_or_none()
    return row.id if row else None


def slow(tx: Connection, name: str, delay_s: float | None) -> int | None:
    """Set an operator's delay. Returns how often it is doubled; None: there is no such host."""
    row = tx.execute(_sql["slow"], {"name": name, "delay_s": delay_s}).one_or_none()
    return row.adaptive_level if row else None


def quiet(tx: Connection, name: str, hours: str | None) -> int | None:
    row = tx.execute(
        _sql["quiet"], {"name": name, "hours": hours, "reason": RestReason.QUIET_HOURS.value}
    ).one_or_none()
    return row.id if row else None


def pin(tx: Connection, name: str, queue: str, *, pinned: bool) -> int | None:
    row = tx.execute(_sql["pin"], {"name": name, "queue": queue, "pinned": pinned}).one_or_none()
    return row.id if row else None


def note_event(tx: Connection, name: str, event: str, detail: str | None = None) -> None:
    """Log an operator's command, for the audit. Nothing when there is no such host."""
    tx.execute(_sql["note_event"], {"name": name, "event": event, "detail": detail})


def events(tx: Connection, *, host_id: int, n: int) -> list[Mapping[str, Any]]:
    """Rows of at, event, detail, the latest first."""
    return [dict(row) for row in tx.execute(_sql["events"], {"host_id": host_id, "n": n}).mappings()]


def show(tx: Connection, name: str) -> Mapping[str, Any] | None:
    """The host's row, `now`, and `queued`, where MOST_QUEUED stands for that or more.

    `next_fetch_at` is None where no active crawl has anything queued there: the row keeps its moment when a crawl ends.
    """
    row = tx.execute(_sql["show"], {"name": name, "most": MOST_QUEUED}).mappings().one_or_none()
    if row is None:
        return None
    is_leased = row["lease_until"] is not None and row["lease_until"] > row["now"]
    return dict(row) if is_leased or row["queued"] else {**row, "next_fetch_at": None}


def listed(tx: Connection, *, waits_for: str | None, n: int) -> list[Mapping[str, Any]]:
    """Hosts and their waits. waits_for: start of v_host_status.waits_for, None for all."""
    return [dict(row) for row in tx.execute(_sql["list"], {"waits_for": waits_for, "n": n}).mappings()]


def paused_of(tx: Connection, *, crawl_id: int, n: int) -> list[str]:
    """Names of paused hosts that a crawl has URLs queued at, by name. Reads all hosts."""
    return [row.name for row in tx.execute(_sql["paused_of"], {"crawl_id": crawl_id, "n": n})]


def ahead(tx: Connection) -> tuple[int, datetime | None]:
    """How many hosts were contacted in the future, by a clock that was set back since, and when at the latest."""
    found = tx.execute(_sql["ahead"]).one()
    return found.n, found.latest


def queues(tx: Connection) -> list[Mapping[str, Any]]:
    """Rows of queue, hosts, offers, overdue, overdue_since, for hosts that have a next contact."""
    return [dict(row) for row in tx.execute(_sql["queues"]).mappings()]


def _contacts(contacts: Sequence[Contact]) -> db.RowsParam:
    return db.rows_param([contact.columns() for contact in contacts])
