"""How rows enter the frontier, in the transaction of whoever found them, and what a process remembers afterwards.

robots.txt of other origins, if anybody has it ▶ caps of crawls ▶ hosts made where they are new ▶ caps of hosts ▶ rows
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import structlog
from sqlalchemy import Connection, Engine

from app.crawl.frontier import caps, duplicates
from app.crawl.frontier.admit import refusal_key, suppress_ending
from app.crawl.state.batch import Batch
from app.crawl.state.finder import Finder
from app.crawl.state.part import SettleStep
from app.crawl.state.robots_book import RobotsBook
from app.crawl.state.settling import Settling
from app.crawl.state.worker import Worker
from app.errors import is_ours
from app.model import Origin, RequestKind, Url
from app.policy.candidate import Candidate
from app.policy.lifecycle import UrlEvent, UrlState
from app.policy.robots import ALLOW_ALL, DISALLOW_ALL, Robots, RobotsVerdict, Work, in_force_rules
from app.policy.url import file_ending
from app.store import db, hosts, robots, urls
from app.store.host_rows import host_rows
from app.store.robots import Elsewhere
from app.store.url_rows import Where, admission

_log = structlog.get_logger()
_Found = Sequence[tuple[Finder, list[Candidate]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """Candidates that are in the frontier now, new queued URLs of each host, and hosts that were not known."""

    candidates: list[Candidate]
    queued: Counter[int]
    hosts: Mapping[str, int]


def _enter(settling: Settling) -> Entered:
    batches = [visit.batch for visit in settling.visits]
    repeating = duplicates.note(batches, settling.tx)
    return admit(settling.tx, [(visit, _admissions(visit.batch, repeating)) for visit in settling.visits])


ENTERED = SettleStep(name="entered", rank=20, write=_enter)


def _admissions(batch: Batch, repeating: set[Where]) -> list[Candidate]:
    """The batch's sitemaps and links, each once, but for those of documents that repeat another's."""
    found = {each.form: each for each in batch.found.admissions}
    for reading in batch.found.readings:
        page = reading.page
        if page is not None and (page["host_id"], page["crawl_id"], page["key"]) in repeating:
            continue
        for each in reading.links:
            found.setdefault(each.form, each)
    return list(found.values())


def admit(tx: Connection, found: _Found) -> Entered:
    """Rows for what was found, judged by their origins' robots.txt and the caps; hosts are made where they are new."""
    judged, work = [], Work()
    found = _without_files(tx, found)
    found, standing = _without_standing(tx, found)
    for finder, candidates in found:
        worker, picked = finder.worker, finder.picked
        candidates = _first_allowed(_with_foreign_robots(finder, work, tx, candidates))
        judged.append(
            (finder, caps.of_crawls(worker, picked, finder.batch, tx, candidates) if picked.floors else candidates)
        )
    names = {each.url.origin.host for _, candidates in judged for each in candidates}
    ids, made = _host_ids(tx, [finder for finder, _ in found], names)
    entering: list[Candidate] = []
    evictions = []
    for finder, candidates in judged:
        if caps.is_tight(finder.worker, finder.picked, candidates):
            candidates, weaker = caps.of_hosts(finder, tx, candidates, ids)
            if weaker:
                evictions.append((finder, weaker))
        entering += candidates
    gone = {where for _, weaker in evictions for where in weaker}
    if gone:  # another's link to one of them, too
        entering = [each for each in entering if (ids[each.url.host], each.crawl_id, each.url.key) not in gone]
    queued = urls.admit(tx, [admission(each, ids[each.url.origin.host]) for each in entering]).queued
    for finder, _ in found:
        finder.picked.unfetched += queued[finder.host_id]
    for finder, weaker in evictions:
        caps.evict(finder.worker, finder.picked, finder.batch, tx, weaker)
    return Entered(candidates=entering + standing, queued=queued, hosts=made)


def _without_files(tx: Connection, found: _Found) -> _Found:
    """Without links to other hosts that end as files do, of which none was a page there."""
    asked = {
        (each.url.host, each.crawl_id, ending)
        for finder, candidates in found
        for each in candidates
        if (ending := _foreign_ending(finder, each)) is not None
    }
    if not asked:
        return found
    refused = found[0][0].worker.hooks.refused_endings(tx=tx, asked=asked) or ()
    kept: list[tuple[Finder, list[Candidate]]] = []
    for finder, candidates in found:
        kept.append((finder, []))
        for each in candidates:
            ending = _foreign_ending(finder, each)
            if ending is None or (each.url.host, each.crawl_id, ending) not in refused:
                kept[-1][1].append(each)
            else:
                known, batch = finder.worker.caches.known, finder.batch
                suppress_ending(known, batch, each.crawl_id, each.url, ending, found_on=each.found_on)
    return kept


def _foreign_ending(finder: Finder, each: Candidate) -> str | None:
    is_judged = each.depth > 0 and each.kind is RequestKind.PAGE and each.url.host != finder.host
    return file_ending(each.url.target) if is_judged else None


def _without_standing(tx: Connection, found: _Found) -> tuple[_Found, list[Candidate]]:
    """Without what has a row already, and that: what the Bloom filter takes for known is looked up, all at once."""
    places = {
        id(each): (host_id, each.crawl_id, each.url.key)
        for finder, candidates in found
        for each in candidates
        if each.seen and (host_id := _known_host(finder, each.url)) is not None
    }
    if not places:
        return found, []
    there = urls.stand(tx, sorted(set(places.values())))
    standing = [each for _, candidates in found for each in candidates if places.get(id(each)) in there]
    evicted = found[0][0].worker.caches.known.evicted
    if evicted is not None:
        evicted.confirmed += len(standing)
        evicted.refuted += len(places) - len(standing)
    others = [
        (finder, [each for each in candidates if places.get(id(each)) not in there]) for finder, candidates in found
    ]
    return others, standing


def _known_host(finder: Finder, url: Url) -> int | None:
    """The id of its host, if the process knows it."""
    return finder.host_id if url.host == finder.host else finder.worker.caches.host_ids.get(url.host)


def committed(finders: Sequence[Finder], entered: Entered, batches: Sequence[Batch]) -> None:
    """After the commit: what is there is known, refusals too, and other hosts with a new URL are woken."""
    worker = finders[0].worker
    for name, host_id in entered.hosts.items():
        worker.caches.host_ids.put(name, host_id)
    for each in entered.candidates:
        # A refused form tells nothing of the URL's others: one that is allowed would be queued.
        worker.caches.known.add(each.crawl_id, each.url.form if each.state is UrlState.REFUSED else each.url.key)
    for batch in batches:
        for crawl_id, key, _ in batch.found.suppressions:
            worker.caches.known.add(crawl_id, refusal_key(key))
    visited = {finder.host_id for finder in finders}
    others = {host_id: n for host_id, n in entered.queued.items() if host_id not in visited}
    if others:
        db.repeat(partial(_wake, worker.engine, sorted(others)))
    caps.add_queued(worker, others)


def _wake(engine: Engine, host_ids: list[int]) -> None:
    with db.transaction(engine) as tx:
        hosts.wake(tx, host_ids)


def _with_foreign_robots(finder: Finder, work: Work, tx: Connection, candidates: list[Candidate]) -> list[Candidate]:
    """Links to origins that we are not visiting: judged by their robots.txt, if anybody has it (R6).

    A refusal by a copy that we remember is confirmed: the file may have changed, and what its change reopened is past.
    work: the budget of the settle; links past it wait for their gates.
    """
    worker, now = finder.worker, finder.now()
    foreign = {each.url.origin for each in candidates} - finder.origins.robots.keys()
    if not foreign:
        return candidates
    book = worker.robots
    _look_up(worker, now, tx, {origin for origin in foreign if book.foreign(origin, now) is None})
    verdicts = [_allows(book, now, each.url, work) if each.url.origin in foreign else None for each in candidates]
    if False in verdicts:
        refused = {each.url.origin for each, allowed in zip(candidates, verdicts, strict=True) if allowed is False}
        _look_up(worker, now, tx, refused)
        verdicts = [
            _allows(book, now, each.url, work) if allowed is False else allowed
            for each, allowed in zip(candidates, verdicts, strict=True)
        ]
    return [
        each if allowed is None else _judged(each, allowed) for each, allowed in zip(candidates, verdicts, strict=True)
    ]


def _allows(book: RobotsBook, now: float, url: Url, work: Work) -> bool | None:
    """Whether a file allows it.

    None: no file says so, or it is too costly to judge. Where nothing may be fetched for now, a link waits for its
    gate.
    """
    rules = book.foreign(url.origin, now)
    if rules is None or rules is ALLOW_ALL or rules is DISALLOW_ALL:
        return None
    verdict = rules.verdict(url, work)
    return None if verdict is RobotsVerdict.TOO_COSTLY else verdict is RobotsVerdict.ALLOWED


def _judged(candidate: Candidate, allowed: bool) -> Candidate:
    return candidate._replace(reopens=True) if allowed else candidate._replace(event=UrlEvent.DISALLOWED)


def _first_allowed(candidates: list[Candidate]) -> list[Candidate]:
    """One form of each URL: the first that is not refused, else the first."""
    if len({each.url.key for each in candidates}) == len(candidates):
        return candidates
    chosen: dict[tuple[int, bytes], Candidate] = {}
    for each in candidates:
        before = chosen.setdefault((each.crawl_id, each.url.key), each)
        if before.state is UrlState.REFUSED and each.state is not UrlState.REFUSED:
            chosen[each.crawl_id, each.url.key] = each
    return list(chosen.values())


def _look_up(worker: Worker, now: float, tx: Connection, origins: set[Origin]) -> None:
    """Remember what the database has of these origins' robots.txt."""
    stored = robots.of_origins(tx, sorted(origins)) if origins else {}
    for origin in origins:
        found = stored.get(origin)
        worker.robots.remember(origin, ALLOW_ALL if found is None else _rules(worker, origin, found), now)


def _rules(worker: Worker, origin: Origin, found: Elsewhere) -> Robots:
    """ALLOW_ALL for a file that we cannot read, by a bug: its links wait for their gate."""
    book = worker.robots
    try:
        return in_force_rules(found.standing, worker.settings, lambda: book.parsed(found.body or b""))[1]
    except Exception as error:
        if is_ours(error):
            raise
        _log.exception("robots.crashed", origin=str(origin))
        return ALLOW_ALL


def _host_ids(tx: Connection, finders: Sequence[Finder], names: set[str]) -> tuple[dict[str, int], dict[str, int]]:
    """{name: id}, hosts made where they are new; and those that the process did not know: no sooner than committed."""
    worker = finders[0].worker
    ids = {finder.host: finder.host_id for finder in finders}
    for name in names - ids.keys():
        known = worker.caches.host_ids.get(name)
        if known is not None:
            ids[name] = known
    made = hosts.ensure(
        tx,
        rows=host_rows(sorted(names - ids.keys()), worker.settings.queues),
        delay_s=worker.settings.default_delay_s,
    )
    return ids | made, made
