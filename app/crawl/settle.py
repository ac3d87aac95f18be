"""Settle: a batch's results, the links they admit and the host's next contact, in one transaction, fenced by the token.

The host's row is locked first: whoever lost the lease writes nothing (the requests are logged all the same, as fenced).
Order within: lock ▶ hosts in name order ▶ URLs in key order ▶ our own rows ▶ the host. Every settle keeps to it, waits
for others only while inserting, and touches only its own host's rows after: no deadlock by construction.
Other hosts are woken after the commit.
"""

from collections.abc import Iterable, Mapping

import structlog
from sqlalchemy import Connection

from app.crawl import admit, duplicates, pick
from app.crawl.stay import Batch, Stay
from app.errors import LeaseLost
from app.model import Origin, Refusal, Url
from app.policy.host import queue_for, registrable_domain
from app.policy.lifecycle import UrlEvent, url_after
from app.policy.robots import ALLOW_ALL, Availability
from app.store import crawls, db, fetches, hosts, pages, robots, suppressions, urls, visits
from app.store.urls import Admission

_log = structlog.get_logger()
REOPEN_PAGE = 1_000


def go_on(stay: Stay) -> None:
    """Settle the batch, extend the lease, and pick the next URLs. Raises LeaseLost."""
    sent = _settle(stay, ending=None)
    stay.lease_ends = sent + stay.kit.settings.lease_s


def leave(stay: Stay, ending: str) -> None:
    """Settle the batch and give the host back, due again when its pace allows if anything is queued. Raises LeaseLost."""
    _settle(stay, ending=ending)


def _settle(stay: Stay, *, ending: str | None) -> float:
    """Returns the moment the first statement was sent."""
    batch, kit = stay.batch, stay.kit
    sent = stay.now()
    with db.transaction(kit.engine) as tx:
        pause_requested = hosts.lock_leased(tx, host_id=stay.host_id, token=stay.token)
        if pause_requested is not None:
            admitted, woken = _write(stay, tx)
            if pause_requested and ending is None:
                ending = "paused"
            _host(stay, tx, ending)
    if pause_requested is None:
        raise LeaseLost(stay.taken.name)
    for row in admitted:
        kit.known.add(row["crawl_id"], row["key"])
    for crawl_id, key, _ in batch.suppressions:
        kit.known.add(crawl_id, admit.refusal_key(key))
    woken.discard(stay.host_id)
    if woken:
        with db.transaction(kit.engine) as tx:
            hosts.wake(tx, sorted(woken))
    _log.debug(
        "visit.settled",
        host=stay.taken.name,
        urls=len(batch.results),
        fetches=len(batch.fetches),
        ending=ending,
    )
    stay.batch = Batch(started=stay.now(), last_end=batch.last_end)
    stay.has_left = ending is not None
    return sent


def _write(stay: Stay, tx: Connection) -> tuple[list[Admission], set[int]]:
    """Everything but the host's own row. Returns the admitted rows and the hosts that got a new queued URL."""
    batch = stay.batch
    admitted = _admissions(stay, duplicates.note(stay, tx))
    admitted = _with_hosts(stay, tx, _with_foreign_robots(stay, tx, admitted))
    woken = urls.admit(tx, admitted).woken
    suppressions.note(tx, list(batch.suppressions.values()))
    urls.record(tx, host_id=stay.host_id, rows=batch.results)
    if batch.give_up is not None:
        ending = batch.give_up
        urls.give_up(tx, host_id=stay.host_id, state=ending.state, cause=ending.cause, prefix=ending.prefix)
    fetches.log(tx, visit_id=stay.taken.visit_id, anchor=stay.taken.now, rows=batch.fetches)
    crawls.count(
        tx,
        host_id=stay.host_id,
        rows=[
            {
                "crawl_id": crawl_id,
                "pages": tally.pages,
                "fetches": tally.fetches,
                "failed": tally.failed,
                "bytes": tally.bytes,
            }
            for crawl_id, tally in batch.tallies.items()
        ],
    )
    pages.keep(
        tx,
        host_id=stay.host_id,
        rows=[reading.page for reading in batch.readings if reading.page is not None],
    )
    for origin, fetched in batch.robots:
        robots.store(tx, host_id=stay.host_id, origin=origin, fetched=fetched)
    for origin in batch.renewed_robots:
        _reopen(stay, tx, origin)
    return admitted, woken


def _host(stay: Stay, tx: Connection, ending: str | None) -> None:
    """The host's next contact: the last statement, so that it sees what was admitted while we waited for the lock."""
    if ending is None:
        pick.pick(stay, tx)
    else:
        visits.close(tx, visit_id=stay.taken.visit_id, ending=ending, fetches=stay.requests)
        pick.give_back(stay, tx)
    last_end = stay.batch.last_end
    contact = hosts.Contact(
        delay_s=stay.delay_s,
        robots_delay_s=stay.robots_delay_s,
        age_s=None if last_end is None else stay.now() - last_end,
        answered=stay.answered and last_end is not None,
        address=stay.address,
        failures=stay.failures,
        isolate=stay.isolate,
        rest_s=stay.rest_s,
        resting_because=stay.resting_because,
    )
    if ending is None:
        hosts.stay(tx, host_id=stay.host_id, token=stay.token, lease_s=stay.kit.settings.lease_s, contact=contact)
    else:
        hosts.leave(tx, host_id=stay.host_id, token=stay.token, contact=contact)


def log_fenced(stay: Stay) -> None:
    """For a visit that lost its lease: what the fence refuses is still logged, these requests were made."""
    with db.transaction(stay.kit.engine) as tx:
        fetches.log(tx, visit_id=stay.taken.visit_id, anchor=stay.taken.now, rows=stay.batch.fetches, fenced=True)
        visits.close(tx, visit_id=stay.taken.visit_id, ending="fenced", fetches=stay.requests)
    _log.warning("visit.fenced", host=stay.taken.name, fetches=len(stay.batch.fetches))


def _admissions(stay: Stay, repeating: set[tuple[int, bytes]]) -> list[Admission]:
    """The batch's links, each once, but for those of documents that repeat another's."""
    rows: dict[tuple[int, bytes], Admission] = {}
    for reading in stay.batch.readings:
        if reading.page is not None and (reading.page["crawl_id"], reading.page["key"]) in repeating:
            continue
        for row in reading.links:
            rows.setdefault((row["crawl_id"], row["key"]), row)
    return list(rows.values())


def _with_foreign_robots(stay: Stay, tx: Connection, rows: list[Admission]) -> list[Admission]:
    """Links to origins that we are not visiting: judged by their robots.txt, if anybody has it (R6).

    A refusal by a copy that we remember is confirmed: the file may have changed, and what its change reopened is past.
    """
    book = stay.kit.robots
    judged = [(row, url) for row in rows if not isinstance(url := stay.kit.canon.canonicalise(row["url"]), Refusal)]
    foreign = {url.origin for _, url in judged if url.origin not in stay.robots}
    _look_up(stay, tx, {origin for origin in foreign if book.foreign(origin, stay.now()) is None})
    refused = _refused(stay, judged, foreign)
    if refused:
        _look_up(stay, tx, {url.origin for _, url in refused})
    for row, _ in _refused(stay, refused, foreign):
        row["state"], row["cause"] = url_after(None, UrlEvent.DISALLOWED).value, "robots.txt"
    return rows


def _look_up(stay: Stay, tx: Connection, origins: set[Origin]) -> None:
    """Remember what the database has of these origins' robots.txt."""
    book = stay.kit.robots
    stored = robots.of_origins(tx, sorted(origins)) if origins else {}
    for origin in origins:
        availability, body = stored.get(origin, (Availability.UNAVAILABLE, None))
        has_rules = availability == Availability.AVAILABLE and body is not None
        book.remember(origin, book.parsed(body) if has_rules and body is not None else ALLOW_ALL, stay.now())


def _refused(stay: Stay, judged: list[tuple[Admission, Url]], foreign: set[Origin]) -> list[tuple[Admission, Url]]:
    found = []
    for row, url in judged:
        rules = stay.kit.robots.foreign(url.origin, stay.now()) if url.origin in foreign else None
        if rules is not None and not rules.allowed(url.target):
            found.append((row, url))
    return found


def _with_hosts(stay: Stay, tx: Connection, rows: list[Admission]) -> list[Admission]:
    """host_id filled in; hosts made where they are new."""
    names = {row["url"]: row["url"].split("/", 3)[2] for row in rows}
    ids: dict[str, int] = {stay.taken.name: stay.host_id}
    hostnames = {url: _hostname(authority) for url, authority in names.items()}
    wanted = set(hostnames.values()) - ids.keys()
    for name in wanted:
        known = stay.kit.host_ids.get(name)
        if known is not None:
            ids[name] = known
    made = hosts.ensure(
        tx,
        rows=host_rows(sorted(wanted - ids.keys()), stay.kit.settings.queues),
        delay_s=stay.kit.settings.default_delay_s,
    )
    for name, host_id in made.items():
        stay.kit.host_ids.put(name, host_id)
    ids |= made
    for row in rows:
        row["host_id"] = ids[hostnames[row["url"]]]
    return rows


def host_rows(names: Iterable[str], queues: int) -> list[Mapping[str, str | None]]:
    """Rows for hosts.ensure."""
    return [{"name": name, "domain": registrable_domain(name), "queue": queue_for(name, queues)} for name in names]


def _hostname(authority: str) -> str:
    """Host of a canonical authority: a port is cut off, an IPv6 literal keeps its brackets."""
    if authority.endswith("]") or ":" not in authority:
        return authority
    return authority[: authority.rindex(":")]


def _reopen(stay: Stay, tx: Connection, origin: Origin) -> None:
    """robots.txt of an origin was fetched anew: what it allows now is queued again (R6)."""
    rules = stay.robots[origin].rules
    if rules is None:
        return
    after = (0, b"")
    while rows := urls.refused_of_host(tx, host_id=stay.host_id, after=after, n=REOPEN_PAGE):
        after = rows[-1][:2]
        parsed = [(crawl_id, key, stay.kit.canon.canonicalise(text)) for crawl_id, key, text in rows]
        urls.reopen(
            tx,
            host_id=stay.host_id,
            rows=[
                {"crawl_id": crawl_id, "key": key}
                for crawl_id, key, url in parsed
                if not isinstance(url, Refusal) and url.origin == origin and rules.allowed(url.target)
            ],
        )
