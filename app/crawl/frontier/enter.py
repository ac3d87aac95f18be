"""How rows enter the frontier, in the transaction of whoever found them, and what a process remembers of it after the commit.

robots.txt of other origins, if anybody has it ▶ caps of crawls ▶ hosts made where they are new ▶ caps of hosts ▶ rows
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection, Engine

from app.crawl.frontier import caps
from app.crawl.frontier.admit import refusal_key
from app.crawl.state.batch import Batch
from app.crawl.state.visit import Stay
from app.model import Cause, Origin, Refusal, Url
from app.policy.host import queue_for, registrable_domain
from app.policy.lifecycle import UrlEvent, UrlState, url_after
from app.policy.robots import ALLOW_ALL, DISALLOW_ALL, Robots, in_force_rules
from app.store import db, hosts, robots, urls
from app.store.robots import Elsewhere
from app.store.urls import Admission


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """Rows that are in the frontier now, by whomever, how many new queued ones each host got; hosts that were not known."""

    rows: list[Admission]
    queued: Counter[int]
    hosts: Mapping[str, int]


def admit(tx: Connection, found: Sequence[tuple[Stay, list[Admission]]]) -> Entered:
    """Rows for the frontier that visits have found, judged by their origins' robots.txt and the caps, their hosts made where they
    are new."""
    judged = []
    found, standing = _without_standing(tx, found)
    for stay, rows in found:
        rows = _first_allowed(_with_foreign_robots(stay, tx, rows))
        judged.append((stay, caps.of_crawls(stay, tx, rows) if stay.floors else rows))
    made = _with_hosts(tx, [stay for stay, _ in found], [row for _, rows in judged for row in rows])
    entering: list[Admission] = []
    giving_way = []
    for stay, rows in judged:
        if caps.is_tight(stay, rows):
            rows, weaker = caps.of_hosts(stay, tx, rows)
            if weaker:
                giving_way.append((stay, weaker))
        entering += rows
    gone = {where for _, weaker in giving_way for where in weaker}
    if gone:  # another's link to one of them, too
        entering = [row for row in entering if (row["host_id"], row["crawl_id"], row["key"]) not in gone]
    queued = urls.admit(tx, entering).queued
    for stay, _ in found:
        stay.unfetched += queued[stay.host_id]
    for stay, weaker in giving_way:
        caps.give_way(stay, tx, weaker)
    return Entered(rows=entering + standing, queued=queued, hosts=made)


def _without_standing(
    tx: Connection, found: Sequence[tuple[Stay, list[Admission]]]
) -> tuple[list[tuple[Stay, list[Admission]]], list[Admission]]:
    """Without the rows that are there already, and those: what the Bloom filter takes for known is looked up, all at once."""
    ids = {id(row): host_id for stay, rows in found for row in rows if (host_id := _seen_host(stay, row)) is not None}
    if not ids:
        return list(found), []
    places = {
        id(row): (ids[id(row)], row["crawl_id"], row["key"]) for _, rows in found for row in rows if id(row) in ids
    }
    there = urls.stand(tx, sorted(set(places.values())))
    standing = [row for _, rows in found for row in rows if places.get(id(row)) in there]
    evicted = found[0][0].kit.known.evicted
    if evicted is not None:
        evicted.confirmed += len(standing)
        evicted.refuted += len(places) - len(standing)
    return [(stay, [row for row in rows if places.get(id(row)) not in there]) for stay, rows in found], standing


def _seen_host(stay: Stay, row: Admission) -> int | None:
    """The id of its host, where the row may be there already and the process knows the host."""
    if not row.get("seen"):
        return None
    name = _hostname(row["url"].split("/", 3)[2])
    return stay.host_id if name == stay.taken.name else stay.kit.host_ids.get(name)


def committed(stays: Sequence[Stay], entered: Entered, batches: Sequence[Batch]) -> None:
    """After the commit: what is there is known, refusals too, and other hosts with a new URL are woken."""
    kit = stays[0].kit
    for name, host_id in entered.hosts.items():
        kit.host_ids.put(name, host_id)
    for row in entered.rows:
        # A refused form tells nothing of the URL's others: one that is allowed would be queued.
        is_refused = row["state"] == UrlState.REFUSED
        kit.known.add(row["crawl_id"], row.get("form", row["key"]) if is_refused else row["key"])
    for batch in batches:
        for crawl_id, key, _ in batch.suppressions:
            kit.known.add(crawl_id, refusal_key(key))
    visited = {stay.host_id for stay in stays}
    others = {host_id: n for host_id, n in entered.queued.items() if host_id not in visited}
    if others:
        db.repeat(partial(_wake, kit.engine, sorted(others)))
    caps.tell(kit, others)


def _wake(engine: Engine, host_ids: list[int]) -> None:
    with db.transaction(engine) as tx:
        hosts.wake(tx, host_ids)


def _with_foreign_robots(stay: Stay, tx: Connection, rows: list[Admission]) -> list[Admission]:
    """Links to origins that we are not visiting: judged by their robots.txt, if anybody has it (R6).

    A refusal by a copy that we remember is confirmed: the file may have changed, and what its change reopened is past.
    """
    book = stay.kit.robots
    judged = [(row, url) for row in rows if not isinstance(url := _url(stay, row), Refusal)]
    foreign = {url.origin for _, url in judged if url.origin not in stay.robots}
    _look_up(stay, tx, {origin for origin in foreign if book.foreign(origin, stay.now()) is None})
    refused = _refused(stay, judged, foreign)
    if refused:
        _look_up(stay, tx, {url.origin for _, url in refused})
    for row, _ in _refused(stay, refused, foreign):
        row["state"], row["cause"] = url_after(None, UrlEvent.DISALLOWED).value, Cause.ROBOTS
    return rows


def _url(stay: Stay, row: Admission) -> Url | Refusal:
    return stay.kit.canon.of_row(row["url"], row["key"], row.get("linked"))


def _first_allowed(rows: list[Admission]) -> list[Admission]:
    """One form of each URL: the first that is not refused, else the first."""
    if len({row["key"] for row in rows}) == len(rows):
        return rows
    chosen: dict[tuple[int, bytes], Admission] = {}
    for row in rows:
        where = row["crawl_id"], row["key"]
        if where not in chosen or (chosen[where]["state"] == UrlState.REFUSED and row["state"] != UrlState.REFUSED):
            chosen[where] = row
    return list(chosen.values())


def _look_up(stay: Stay, tx: Connection, origins: set[Origin]) -> None:
    """Remember what the database has of these origins' robots.txt."""
    book = stay.kit.robots
    stored = robots.of_origins(tx, sorted(origins)) if origins else {}
    for origin in origins:
        found = stored.get(origin)
        book.remember(origin, ALLOW_ALL if found is None else _rules(stay, found), stay.now())


def _rules(stay: Stay, found: Elsewhere) -> Robots:
    book = stay.kit.robots
    return in_force_rules(found.standing, stay.kit.settings, lambda: book.parsed(found.body or b""))[1]


def _refused(stay: Stay, judged: list[tuple[Admission, Url]], foreign: set[Origin]) -> list[tuple[Admission, Url]]:
    """Links that a file refuses. Where nothing may be fetched for now, a link is not refused: it waits for its gate."""
    found = []
    for row, url in judged:
        rules = stay.kit.robots.foreign(url.origin, stay.now()) if url.origin in foreign else None
        if rules is None or rules is DISALLOW_ALL:
            continue
        if not rules.permits(url):
            found.append((row, url))
        elif rules is not ALLOW_ALL:
            row["reopens"] = True
    return found


def _with_hosts(tx: Connection, stays: Sequence[Stay], rows: list[Admission]) -> dict[str, int]:
    """host_id filled in; hosts made where they are new. Returns those that the process did not know: no sooner than committed."""
    kit = stays[0].kit
    names = {row["url"]: row["url"].split("/", 3)[2] for row in rows}
    ids: dict[str, int] = {stay.taken.name: stay.host_id for stay in stays}
    hostnames = {url: _hostname(authority) for url, authority in names.items()}
    wanted = set(hostnames.values()) - ids.keys()
    for name in wanted:
        known = kit.host_ids.get(name)
        if known is not None:
            ids[name] = known
    made = hosts.ensure(
        tx,
        rows=host_rows(sorted(wanted - ids.keys()), kit.settings.queues),
        delay_s=kit.settings.default_delay_s,
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
