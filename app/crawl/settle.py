"""Settle: a batch's results, the links they admit and the host's next contact, in one transaction, fenced by the token.

The host's row is locked first: whoever lost the lease writes nothing (the requests are logged all the same, as fenced).
Order within: lock ▶ hosts in name order ▶ URLs in key order ▶ own URLs that give way ▶ refusals in key order ▶ our own rows ▶
bodies of robots.txt in key order ▶ crawls ▶ the host ▶ budgets in key order. Every settle keeps to it, as a take-up does, and
waits for others only while inserting, for crawls with a budget and for budgets; else it changes only its own host's rows: no
deadlock by construction. Who waits for a URL that gives way has come no further than to URLs. Other hosts are woken after the
commit.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import structlog
from sqlalchemy import Connection

from app.crawl import admit, caps, duplicates, pick, turn
from app.crawl.stay import Batch, Stay
from app.errors import LeaseLost, ServiceError
from app.model import Origin, Refusal, Url
from app.policy.host import queue_for, registrable_domain
from app.policy.lifecycle import UrlEvent, url_after
from app.policy.robots import ALLOW_ALL, Availability
from app.store import budgets, crawls, db, fetches, hosts, pages, robots, sitemaps, suppressions, urls, visits
from app.store.urls import Admission

_log = structlog.get_logger()
REOPEN_PAGE = 1_000


def go_on(stay: Stay) -> str | None:
    """Settle the batch, extend the lease, and pick the next URLs. Raises LeaseLost.

    Returns why the host was given back: a pause was asked for, or nothing is due; None: the visit goes on.
    """
    sent, ending = _settle(stay, ending=None)
    if ending is None:
        stay.lease_ends = sent + stay.kit.settings.lease_s
    return ending


def leave(stay: Stay, ending: str) -> None:
    """Settle the batch and give the host back, due again when its pace allows if anything is queued. Raises LeaseLost."""
    _settle(stay, ending=ending)


def _settle(stay: Stay, *, ending: str | None) -> tuple[float, str | None]:
    """Returns the moment the first statement was sent, and how the visit ended, if it did."""
    batch, kit = stay.batch, stay.kit
    sent, estimate = stay.now(), (stay.unfetched, stay.told, stay.counted)
    try:
        with db.transaction(kit.engine) as tx:
            pause_requested = hosts.lock_leased(tx, host_id=stay.host_id, token=stay.token)
            if pause_requested is not None:
                admitted = _write(stay, tx)
                if pause_requested and ending is None:
                    ending = "paused"
                if ending is None:
                    ending = _next(stay, tx)
                _host(stay, tx, ending)
                _tell_budgets(stay, tx)
            stay.is_in_doubt = True
    except ServiceError:
        stay.unfetched, stay.told, stay.counted = estimate
        raise
    stay.is_in_doubt = False
    if pause_requested is None:
        raise LeaseLost(stay.taken.name)
    stay.batch = Batch(started=stay.now(), last_end=batch.last_end)
    stay.has_left = ending is not None
    committed(stay, admitted, batch)
    _log.debug(
        "visit.settled",
        host=stay.taken.name,
        urls=len(batch.results),
        fetches=len(batch.fetches),
        ending=ending,
    )
    return sent, ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """Rows that are in the frontier now, by whomever, how many new queued ones each host got; hosts that were not known."""

    rows: list[Admission]
    queued: Counter[int]
    hosts: Mapping[str, int]


def admit_rows(stay: Stay, tx: Connection, rows: list[Admission]) -> Entered:
    """Rows for the frontier, judged by their origins' robots.txt and the caps, their hosts made where they are new."""
    rows = _with_foreign_robots(stay, tx, rows)
    if stay.floors:
        rows = caps.of_crawls(stay, tx, rows)
    found = _with_hosts(stay, tx, rows)
    rows, giving_way = caps.of_hosts(stay, tx, rows) if caps.is_tight(stay, rows) else (rows, {})
    queued = urls.admit(tx, rows).queued
    stay.unfetched += queued[stay.host_id]
    if giving_way:
        caps.give_way(stay, tx, giving_way)
    return Entered(rows=rows, queued=queued, hosts=found)


def committed(stay: Stay, entered: Entered, batch: Batch) -> None:
    """After the commit: what is there is known, refusals too, and other hosts with a new URL are woken."""
    for name, host_id in entered.hosts.items():
        stay.kit.host_ids.put(name, host_id)
    for row in entered.rows:
        stay.kit.known.add(row["crawl_id"], row["key"])
    for crawl_id, key, _ in batch.suppressions:
        stay.kit.known.add(crawl_id, admit.refusal_key(key))
    woken = entered.queued.keys() - {stay.host_id}
    if woken:
        with db.transaction(stay.kit.engine) as tx:
            hosts.wake(tx, sorted(woken))
    caps.tell(stay, entered.queued)


def _write(stay: Stay, tx: Connection) -> Entered:
    """Everything but the host's own row. Returns what was admitted."""
    batch = stay.batch
    pages.drop(tx, host_id=stay.host_id, keys=batch.kept_out)  # first: what goes is no original of what comes
    entered = admit_rows(stay, tx, _admissions(stay, duplicates.note(stay, tx)))
    suppressions.note(tx, list(batch.suppressions.values()))
    urls.record(tx, host_id=stay.host_id, rows=batch.results)
    for ending in batch.give_up:
        stay.unfetched -= urls.give_up(
            tx,
            host_id=stay.host_id,
            state=ending.state,
            cause=ending.cause,
            prefix=ending.prefix,
            spares_fresh=ending.spares_fresh,
        )
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
    pages.revise(tx, host_id=stay.host_id, rows=batch.revisions)
    robots.store(tx, host_id=stay.host_id, fetched=batch.robots)
    robots.store_tdmrep(tx, host_id=stay.host_id, asked=batch.tdmrep)
    for origin in batch.doubted_robots:
        robots.doubt(tx, host_id=stay.host_id, origin=origin, recheck_s=stay.kit.settings.robots_recheck_s)
    for origin in batch.renewed_robots:
        _reopen(stay, tx, origin)
    sitemaps.credit(
        tx,
        host_id=stay.host_id,
        rows=[
            {"id": id, "claims": claims, "true_claims": true_claims}
            for id, (claims, true_claims) in sorted(batch.claims.items())
        ],
    )
    return entered


def _next(stay: Stay, tx: Connection) -> str | None:
    """Pick what to fetch next. Returns why there is nothing to stay for."""
    pick.pick(stay, tx)
    return None if stay.due or stay.budget_spent else stay.rest_for_origins() or "nothing due"


def _host(stay: Stay, tx: Connection, ending: str | None) -> None:
    """The host's next contact: after all of its own rows, so that it sees what was admitted while we waited for the lock."""
    if ending is not None:
        _close(stay, tx, ending)
        pick.give_back(stay, tx)
    last_end = stay.batch.last_end
    contact = hosts.Contact(
        delay_s=stay.delay_s,
        pause_s=stay.delay_s if last_end is None else max(stay.ready_at - last_end, stay.delay_s),
        robots_delay_s=stay.robots_delay_s,
        age_s=None if last_end is None else stay.now() - last_end,
        answered=stay.answered and last_end is not None,
        address=stay.address,
        failures=stay.failures,
        adaptive_level=stay.history.level,
        recent_statuses=stay.history.statuses,
        recent_ms=stay.history.ms,
        latency_s=stay.history.latency_s,
        breaker_trips=stay.trips,
        isolate=stay.isolate,
        rest_s=stay.rest_s,
        resting_because=stay.resting_because,
        unfetched=max(stay.unfetched, 0) if stay.counted else stay.unfetched - stay.told,
        counted=stay.counted,
    )
    stay.told, stay.counted = stay.unfetched, False
    if ending is None:
        hosts.stay(tx, host_id=stay.host_id, token=stay.token, lease_s=stay.kit.settings.lease_s, contact=contact)
    else:
        hosts.leave(tx, host_id=stay.host_id, token=stay.token, contact=contact)
        if stay.held is not None:
            next_in_s = turn.others_from(stay) - stay.now()
            budgets.let_go(tx, stay.held.drawn, host_id=stay.host_id, next_in_s=next_in_s)


def _close(stay: Stay, tx: Connection, ending: str) -> None:
    visits.close(tx, visit_id=stay.taken.visit_id, taken_at=stay.taken.now, ending=ending, fetches=stay.requests)


def _tell_budgets(stay: Stay, tx: Connection) -> None:
    """An address that refused or reset a connection rests as a whole; one that answers again does not."""
    settings, batch = stay.kit.settings, stay.batch
    if batch.refused is not None:
        budget, because = batch.refused
        budgets.refused(tx, budget, because=because, base_s=settings.backoff_base_s, max_s=settings.backoff_max_s)
    elif batch.answered is not None:
        budgets.answered(tx, batch.answered)


def give_back(stay: Stay) -> bool:
    """After Postgres was away under the visit: settle what it holds, and leave. Raises LeaseLost, ServiceError.

    False: what it held may be written already, its commit was not answered. Its lease runs out.
    """
    if stay.is_in_doubt:
        return False
    if not stay.has_left:
        stay.granted.clear()  # of a transaction that was not, maybe; what is lost is counted free again
        leave(stay, "Postgres was away")
    return True


def log_fenced(stay: Stay) -> None:
    """For a visit that lost its lease: what the fence refuses is still logged, these requests were made, and a rest that a site
    asked for holds."""
    with db.transaction(stay.kit.engine) as tx:
        fetches.log(tx, visit_id=stay.taken.visit_id, anchor=stay.taken.now, rows=stay.batch.fetches, fenced=True)
        _close(stay, tx, "fenced")
        if stay.is_blocked and stay.rest_s is not None:
            hosts.block(tx, host_id=stay.host_id, rest_s=stay.rest_s, resting_because=stay.resting_because or "blocked")
    _log.warning("visit.fenced", host=stay.taken.name, fetches=len(stay.batch.fetches))


def _admissions(stay: Stay, repeating: set[tuple[int, bytes]]) -> list[Admission]:
    """The batch's sitemaps and links, each once, but for those of documents that repeat another's."""
    rows = {(row["crawl_id"], row["key"]): row for row in stay.batch.admissions}
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


def _with_hosts(stay: Stay, tx: Connection, rows: list[Admission]) -> dict[str, int]:
    """host_id filled in; hosts made where they are new. Returns those that the process did not know: no sooner than committed."""
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
    ids |= made
    for row in rows:
        row["host_id"] = ids[hostnames[row["url"]]]
    return made


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
        stay.unfetched += urls.reopen(
            tx,
            host_id=stay.host_id,
            rows=[
                {"crawl_id": crawl_id, "key": key}
                for crawl_id, key, url in parsed
                if not isinstance(url, Refusal) and url.origin == origin and rules.allowed(url.target)
            ],
        )
