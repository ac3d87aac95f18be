"""Shows a host, and changes it for an operator: pause, resume, slow down, pin, release from a rest, forget its
robots.txt.

No function here contacts a host or lets one be contacted early: each changes when the next visit may start, never the
pace. Each change leaves a row in `host_events`, in the same transaction: the audit asks who ended a rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine

from app.admin.robots_report import opt_out
from app.admin.waiting import PaceRule, host_waits_for, pace_rule
from app.config import Settings
from app.errors import InputError
from app.model import Origin, Url
from app.model.reasons import HostWait
from app.policy.host import queue_for, registrable_domain
from app.policy.moment import Hours
from app.policy.url import hostname, site_url
from app.store import budgets, db, domains, fetches, hosts, robots, visits
from app.store.robots import Stored
from app.words import counted

LONGEST_DELAY_S = 86_400.0
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPage:
    """Everything about one host. host: its row.   robots: by origin, the file as text.

    pace: the rule that holds it back.   domain: an operator's settings for its registrable domain
    address_budget: the budget that it shares at its address.   visits, fetches, events: the latest. Events are
    operators' actions: at, event, detail.
    """

    host: Row
    waits_for: str
    pace: PaceRule
    domain: Row | None
    address_budget: Row | None
    robots: list[Row]
    visits: list[Row]
    fetches: list[Row]
    events: list[Row]


def show(engine: Engine, settings: Settings, name: str, *, latest: int = 10) -> HostPage:
    """Show a host. Raises InputError for one that no crawl has met.

    name: the host's name, or any URL of it, for which opt-outs are then shown
    """
    url = site_url(name)
    name = url.host
    with db.transaction(engine) as tx:
        host = hosts.show(tx, name)
        if host is None:
            raise _unknown(name)
        domain = domains.find(tx, host["domain"]) if host["domain"] else None
        return HostPage(
            host=host,
            waits_for=host_waits_for(host),
            pace=pace_rule(host, settings, domain_delay_s=domain["delay_override_s"] if domain else None),
            domain=domain,
            address_budget=budgets.of_address(tx, str(host["address"])) if host["address"] else None,
            robots=[_copy(url, row, settings) for row in robots.of_host(tx, host["id"])],
            visits=visits.recent(tx, host_id=host["id"], n=latest),
            fetches=fetches.of_host(tx, host_id=host["id"], n=latest),
            events=hosts.events(tx, host_id=host["id"], n=latest),
        )


def known(engine: Engine, name: str) -> Row:
    """A host's row, by its name or any URL of it. Raises InputError for one that no crawl has met."""
    url = site_url(name)
    with db.transaction(engine) as tx:
        host = hosts.show(tx, url.host)
    if host is None:
        raise _unknown(url.host)
    return host


def listed(engine: Engine, *, waits_for: str | None = None, most: int = 100) -> list[Row]:
    """List hosts. Raises InputError for an unknown waits_for.

    waits_for: the beginning of what they wait for, as in v_host_status: "resting", "delay", "paused" …
    """
    if waits_for is not None and not any(waits_for.startswith(each) or each.startswith(waits_for) for each in HostWait):
        raise InputError(f"waits for {waits_for!r}", f"use the beginning of one of: {', '.join(HostWait)}")
    with db.transaction(engine) as tx:
        return hosts.listed(tx, waits_for=waits_for, n=most)


def pause(engine: Engine, name: str) -> str:
    """Pause a host. Returns when that takes effect: a running visit ends at its next settle."""
    name = hostname(name)
    with db.transaction(engine) as tx:
        state = hosts.pause(tx, name)
        hosts.note_event(tx, name, "paused")
    if state is None:
        raise _unknown(name)
    return "paused" if state == "paused" else "pauses when its running visit settles, in seconds"


def resume(engine: Engine, name: str) -> None:
    """Resume a paused host: it may be visited again, no sooner than its pace allows."""
    name = hostname(name)
    with db.transaction(engine) as tx:
        _wake(tx, name, hosts.resume(tx, name))
        hosts.note_event(tx, name, "resumed")


def release(engine: Engine, name: str) -> None:
    """End a host's rest after errors or a Retry-After; the delay still holds."""
    name = hostname(name)
    with db.transaction(engine) as tx:
        _wake(tx, name, hosts.release(tx, name))
        hosts.note_event(tx, name, "released")


def slow(engine: Engine, name: str, delay_s: float | None) -> str:
    """Set an operator's delay between requests, which overrides robots.txt and the default; None removes it.

    Returns "", or what the host's answers do to it for now.
    """
    name = hostname(name)
    _check_delay(delay_s)
    with db.transaction(engine) as tx:
        doubled = hosts.slow(tx, name, delay_s)
        if doubled is None:
            raise _unknown(name)
        hosts.note_event(tx, name, "slowed", "default" if delay_s is None else f"{delay_s:g} s")
    return f", doubled {counted(doubled, 'time')} for now by how the host answers" if doubled else ""


def slow_domain(engine: Engine, name: str, delay_s: float | None) -> tuple[str, int]:
    """Set the delay of every host in the registrable domain of `name` that has no delay of its own.

    Hosts that are met later are included. Returns the domain, and how many of its hosts are known.
    """
    _check_delay(delay_s)
    domain = _domain(name)
    with db.transaction(engine) as tx:
        for host in (known := domains.slow(tx, domain, delay_s)):
            hosts.note_event(tx, host, "slowed", f"domain: {'default' if delay_s is None else f'{delay_s:g} s'}")
    return domain, len(known)


def quiet(engine: Engine, name: str, hours: str | None) -> str | None:
    """Set the host's quiet hours of the day (UTC), such as 08:00-18:00; None removes them. Returns them as stored."""
    name = hostname(name)
    kept = None if hours is None else str(Hours.parse(hours))
    with db.transaction(engine) as tx:
        if hosts.quiet(tx, name, kept) is None:
            raise _unknown(name)
        hosts.note_event(tx, name, "quiet", kept or "default")
    return kept


def quiet_domain(engine: Engine, name: str, hours: str | None) -> tuple[str, int]:
    """Set the quiet hours of every host in the registrable domain, including hosts met later.

    Returns as slow_domain does.
    """
    kept = None if hours is None else str(Hours.parse(hours))
    domain = _domain(name)
    with db.transaction(engine) as tx:
        for host in (known := domains.quiet(tx, domain, kept)):
            hosts.note_event(tx, host, "quiet", f"domain: {kept or 'default'}")
    return domain, len(known)


def pin(engine: Engine, settings: Settings, name: str, queue: str | None) -> str:
    """Pin a host's visits to this queue from the next offer on; None: to its own by hash. Returns the queue."""
    name = hostname(name)
    if queue is not None and queue not in settings.queue_names:
        raise InputError(
            f"queue {queue!r}", f"no worker serves it; set TIPTOE_PINNED_QUEUES={queue} for workers and beat"
        )
    chosen = queue or queue_for(name, settings.queues)
    with db.transaction(engine) as tx:
        if hosts.pin(tx, name, chosen, pinned=queue is not None) is None:
            raise _unknown(name)
        hosts.note_event(tx, name, "pinned", chosen if queue else f"default: {chosen}")
    return chosen


def forget(engine: Engine, name: str) -> int:
    """Forget a host's robots.txt: it is fetched again before the next request. Returns for how many origins."""
    name = hostname(name)
    with db.transaction(engine) as tx:
        host_id = hosts.ids(tx, [name]).get(name)
        if host_id is None:
            raise _unknown(name)
        hosts.lock(tx, [host_id])
        origins = robots.forget(tx, host_id)
        hosts.note_event(tx, name, "forgotten", f"robots.txt of {counted(origins, 'origin')}")
        return origins


def _check_delay(delay_s: float | None) -> None:
    if delay_s is not None and not 0 <= delay_s <= LONGEST_DELAY_S:
        raise InputError(f"delay of {delay_s:g} s", f"use 0 to {LONGEST_DELAY_S:g} seconds, or default")


def _domain(name: str) -> str:
    found = registrable_domain(hostname(name))
    if found is None:
        raise InputError(f"host {name}", "belongs to no registrable domain; leave --domain out")
    return found


def _copy(url: Url, row: Stored, settings: Settings) -> Row:
    return {
        "origin": str(Origin(row.scheme, url.host, row.port)),
        "availability": row.availability,
        "status": row.status,
        "detail": row.detail or None,
        "fetched_at": row.fetched_at,
        "expires_at": row.expires_at,
        "unreachable_since": row.unreachable_since,
        "crawl_delay_s": row.crawl_delay_s,
        "sitemaps": row.sitemaps,
        "opt_out": opt_out(row, url.target, settings),
        "text": None if row.body is None else row.body.decode("utf-8", "replace"),
    }


def _wake(tx: Connection, name: str, host_id: int | None) -> None:
    if host_id is None:
        raise _unknown(name)
    hosts.wake(tx, [host_id])


def _unknown(name: str) -> InputError:
    return InputError(f"host {name}", "no crawl has met it; `tiptoe host list` names those that are known")
