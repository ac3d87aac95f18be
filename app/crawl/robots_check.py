"""robots.txt by hand: what the stored copy says, and asking a site for it once, politely.

`ask` is one request under a lease borrowed for it, logged as a visit of its own and settled like one: whoever asks by
hand keeps to the host's pace like everybody, and a Crawl-delay that comes back holds from there on.
"""

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Engine

from app.config import Settings
from app.crawl.pacing import fetch_row
from app.crawl.ruling import Ruling, canonical, ruling
from app.crawl.settle import host_rows
from app.crawl.stay import LEASE_MARGIN_S
from app.crawl.waits import Row, host_waits_for, when
from app.errors import InputError, LeaseLost
from app.model import Header, Reply, Request, RequestKind, Url
from app.policy import pace, robots
from app.policy.robots import Availability
from app.store import db, fetches, hosts, visits
from app.store import robots as robots_store
from app.store.robots import Fetched


@dataclass(frozen=True, slots=True, kw_only=True)
class _Errand:
    """A lease borrowed for one request. host: its row.   anchor: database time; opened: the same moment, monotonic."""

    host: Row
    token: UUID
    visit_id: int
    anchor: datetime
    opened: float


def check(engine: Engine, settings: Settings, text: str) -> Ruling:
    """By the stored copy. Raises InputError for what is no URL."""
    url = canonical(settings, text)
    with db.transaction(engine) as tx:
        host_id = hosts.ids(tx, [url.host]).get(url.host)
        stored = robots_store.of_host(tx, host_id) if host_id is not None else []
    return ruling(stored, url, settings.product_token)


def ask(engine: Engine, settings: Settings, text: str, send: Callable[[Request], Reply]) -> Ruling:
    """Fetch robots.txt of the URL's origin once and store it. Raises InputError when the host may not be contacted now."""
    url = canonical(settings, text)
    own = canonical(settings, f"{url.origin}/robots.txt")
    errand = _borrow(engine, settings, url)
    reply = send(
        Request(
            url=own.text,
            kind=RequestKind.ROBOTS,
            max_body_bytes=robots.MAX_BYTES + 1,
            deadline_s=settings.robots_deadline_s,
        )
    )
    with db.transaction(engine) as tx:
        held = hosts.lock_leased(tx, host_id=errand.host["id"], token=errand.token) is not None
        row = _log_row(errand, own, reply)
        fetches.log(tx, visit_id=errand.visit_id, anchor=errand.anchor, rows=[row], fenced=not held)
        visits.close(tx, visit_id=errand.visit_id, ending="robots check" if held else "fenced", fetches=1)
        if held:
            _settle(tx, settings, errand, url, reply)
    if not held:
        raise LeaseLost(f"host {url.host}: the lease for this request ran out; nothing was kept but the log")
    if _redirects(reply):
        location = reply.header(Header.LOCATION)
        raise InputError(own.text, f"redirects to {location}; a visit follows that, at that host's own pace")
    return check(engine, settings, url.text)


def _borrow(engine: Engine, settings: Settings, url: Url) -> _Errand:
    """Raises InputError saying until when the host is to be left alone."""
    with db.transaction(engine) as tx:
        hosts.ensure(tx, rows=host_rows([url.host], settings.queues), delay_s=settings.default_delay_s)
    with db.transaction(engine) as tx:
        loan = hosts.borrow(
            tx,
            name=url.host,
            lease_s=settings.robots_deadline_s + LEASE_MARGIN_S,
            isolate=settings.settle_urls,
        )
        host = hosts.show(tx, url.host)
        assert host is not None
        if loan is None:
            raise InputError(f"host {url.host}", f"may not be contacted now; it waits for {_why_not(host)}")
        worker = f"{socket.gethostname()}:{os.getpid()}"
        visit_id, anchor = visits.open_borrowed(tx, host_id=loan.host_id, token=loan.token, worker=worker)
    return _Errand(host=host, token=loan.token, visit_id=visit_id, anchor=anchor, opened=time.monotonic())


def _why_not(host: Row) -> str:
    until = max(host["polite_at"], host["blocked_until"] or host["polite_at"])
    if host["state"] == "idle" and until > host["now"]:
        because = host["resting_because"] or f"delay of {host['delay_s']:g} s"
        return f"its {because} to pass, {when(until, host['now'])}"
    return host_waits_for(host)


def _settle(tx: Connection, settings: Settings, errand: _Errand, url: Url, reply: Reply) -> None:
    """The copy, and the host's next contact at the pace that the copy asks for."""
    host: Any = errand.host
    if not _redirects(reply):
        robots_store.store(tx, host_id=host["id"], origin=url.origin, fetched=_judge(settings, reply))
    asked_s = pace.slowest(row.crawl_delay_s for row in robots_store.of_host(tx, host["id"]))
    delay_s = pace.delay_in_force_s(
        operator_s=host["delay_override_s"],
        robots_s=asked_s,
        default_s=settings.default_delay_s,
        robots_max_s=settings.crawl_delay_max_s,
        floor_s=settings.delay_override_s,
    )
    contact = hosts.Contact(
        delay_s=delay_s,
        robots_delay_s=asked_s,
        age_s=max(time.monotonic() - reply.ended_s, 0.0),
        answered=reply.status is not None,
        address=reply.address,
        failures=host["failures"],
        isolate=host["isolate"],
    )
    hosts.leave(tx, host_id=host["id"], token=errand.token, contact=contact)


def _redirects(reply: Reply) -> bool:
    return reply.failure is None and reply.status in {301, 302, 303, 307, 308}


def _judge(settings: Settings, reply: Reply) -> Fetched:
    found = robots.availability(reply)
    file = robots.parse(reply.body, settings.product_token) if found is Availability.AVAILABLE else None
    fresh_s = robots.fresh_for_s(reply.header(Header.CACHE_CONTROL))
    return Fetched(
        availability=found.value,
        revalidated=False,
        status=reply.status,
        detail=reply.detail or (reply.failure.value if reply.failure else ""),
        body=reply.body if file else None,
        etag=reply.header(Header.ETAG),
        last_modified=reply.header(Header.LAST_MODIFIED),
        fresh_s=settings.backoff_base_s if found is Availability.UNREACHABLE else fresh_s,
        failures=1 if found is Availability.UNREACHABLE else 0,
        crawl_delay_raw=file.crawl_delay_raw if file else None,
        crawl_delay_s=file.crawl_delay_s if file else None,
        sitemaps=file.sitemaps if file else (),
    )


def _log_row(errand: _Errand, url: Url, reply: Reply) -> fetches.Fetch:
    return fetch_row(
        reply,
        url=url.text,
        key=url.key,
        kind=RequestKind.ROBOTS,
        reason="robots",
        conditional=False,
        host_id=errand.host["id"],
        anchor=errand.opened,
        delay_s=errand.host["delay_s"],
    )
