"""Finds sitemaps, reads them as streams, admits their pages, and tests what they say of changes (promise M1, M2).

A sitemap is a row of the frontier like a page (`urls.kind`), so that its host's pace, robots.txt, retries and recrawls
hold for it. It is found in robots.txt, at /sitemap.xml of a host that the crawl's seeds name, in an index, or given by
hand. Its body goes to a temporary file and its entries to the frontier 1,000 at a time, each time under the lease:
constant memory, and a crash repeats at most one file.
"""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from itertools import islice
from typing import BinaryIO, NamedTuple

import structlog

from app.crawl.frontier import admit, enter
from app.crawl.page import isolation, recrawls
from app.crawl.page.attempt import Attempt, Conclusion, conclude
from app.crawl.state.batch import Batch
from app.crawl.state.lease import Lease
from app.crawl.state.origins import HostOrigins
from app.crawl.state.part import SettlePart
from app.crawl.state.picked import Picked
from app.crawl.state.settling import Settling
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.crawl.state.worth import FoundAt
from app.errors import LeaseLost, Unwritable, is_ours
from app.model import Cause, Origin, Refusal, RequestKind, Url, VisitEnding
from app.parse.sitemap.sitemap import Child, Entry, SitemapReading
from app.policy import recrawl
from app.policy.candidate import Candidate, in_front
from app.policy.host import registrable_domain, site_of
from app.policy.lifecycle import UrlEvent
from app.policy.scope import Scope, ScopeKind, leads_away
from app.policy.url import Canon
from app.sandbox.reader import Listing
from app.store import db, hosts, sitemaps, suppressions
from app.store.sitemaps import Known, ReadSitemap
from app.store.url_rows import Due

_log = structlog.get_logger()
MAX_BYTES = 50 * 1024 * 1024  # sitemaps.org, "Sitemap files must be no larger than 50MB"
LEVELS = 3  # of index files above a sitemap
ELSEWHERE_MOST = 20  # sitemaps of other domains that a robots.txt names: each is an index of a site, may be
_ELSEWHERE = "a sitemap of a host that is not one of the crawl's"
_TOO_MANY = f"behind {ELSEWHERE_MOST} sitemaps of other domains that its robots.txt names"
_TOO_DEEP = f"a sitemap below more than {LEVELS} indexes"


def discover(worker: Worker, origins: HostOrigins, picked: Picked, batch: Batch, due: Due, origin: Origin) -> None:
    """Admit the sitemaps of an origin whose robots.txt is known, once a visit, if the crawl is about its host."""
    asked = picked.crawls[due.crawl_id].sitemaps
    if asked == "none" or (due.crawl_id, origin) in origins.discovered:
        return
    origins.discovered.add((due.crawl_id, origin))
    scope = picked.scopes[due.crawl_id]
    if (due.depth > 0 and not _is_named(scope, origin.host)) or leads_away(scope, origin.host):
        return
    file = origins.robots[origin]
    declared = file.rules.sitemaps if file.rules is not None else ()
    texts: Iterable[str] = declared or (("/sitemap.xml",) if asked == "all" else ())
    try:
        found = [worker.canon.join(f"{origin}/", text) for text in texts]
    except Exception as error:
        if is_ours(error):
            raise
        _log.exception("robots.crashed", origin=str(origin))  # the page that happens to be next is not to blame
        return
    found_on = f"{origin}/robots.txt" if declared else f"{origin}/"
    known, elsewhere = worker.caches.known, 0
    for url in found:
        if isinstance(url, Refusal):
            continue
        is_elsewhere = not (_is_named(scope, url.host) or site_of(url.host) == site_of(origin.host))
        elsewhere += is_elsewhere
        if is_elsewhere and elsewhere > ELSEWHERE_MOST:
            admit.suppress(known, batch, due.crawl_id, url, Refusal.SCOPE, found_on=found_on, detail=_TOO_MANY)
        elif not known.has(due.crawl_id, url.key):
            batch.found.admissions.append(in_front(due.crawl_id, url, RequestKind.SITEMAP, found_on=found_on))


def sink() -> BinaryIO:
    """Where a body of up to MAX_BYTES goes: memory at first, then a temporary file that has no name."""
    return tempfile.SpooledTemporaryFile(max_size=1024 * 1024)  # type: ignore[return-value]  # it has all methods of one


def read(visit: Visit, attempt: Attempt, body: BinaryIO) -> VisitEnding | None:
    """Admit what the sitemap lists, and put its result into the batch. Returns how the visit ends, None to go on.
    Raises LeaseLost.
    """
    due = attempt.due
    if attempt.reply.truncated and attempt.request.kind is RequestKind.PAGE:
        # A seed that turned out to be one, and is longer than a page may be: it is asked for again, as what it is.
        conclude(visit.batch, visit.picked, due, Conclusion(UrlEvent.REQUEUED, replace(attempt, is_unread=True)))
        return None
    digest = _digest(body)
    reading = isolation.sitemap(visit.worker, visit.lease, attempt, body)
    if not isinstance(reading, SitemapReading | Listing):
        return isolation.unread(visit.worker, visit.batch, visit.picked, attempt, reading)
    try:
        _admit_all(visit, due, attempt.url, reading)
    except Unwritable as error:
        detail = str(error)[:300]
        end = Conclusion(UrlEvent.EXHAUSTED, attempt, cause=Cause.LIST_UNWRITABLE, detail=detail)
        conclude(visit.batch, visit.picked, due, end)
        return None
    changed = due.known.body_sha256 != digest
    following = recrawls.after(visit, attempt, changed=None if due.known.body_sha256 is None else changed)
    end = Conclusion(
        UrlEvent.SETTLED,
        attempt,
        due_s=following.due_s,
        interval_s=following.interval_s,
        belief=following.belief,
        body_sha256=digest,
        changed=changed,
    )
    conclude(visit.batch, visit.picked, due, end)
    return None


class Claim(NamedTuple):
    """A claim of a sitemap that its page has changed, tested."""

    host_id: int
    sitemap_id: int
    is_true: bool


def _credit(settling: Settling) -> None:
    said = Counter((row.host_id, row.sitemap_id) for row in settling.rows(CLAIMS))
    true = Counter((row.host_id, row.sitemap_id) for row in settling.rows(CLAIMS) if row.is_true)
    sitemaps.credit(
        settling.tx,
        [
            {"host_id": host_id, "id": id, "claims": claims, "true_claims": true[host_id, id]}
            for (host_id, id), claims in sorted(said.items())
        ],
    )


CLAIMS: SettlePart[Claim] = SettlePart(name="claims", rank=160, write=_credit, words=lambda _: "what a sitemap claimed")


def score_claim(batch: Batch, due: Due, *, changed: bool | None) -> None:
    """A page that a sitemap lists was fetched again: did its lastmod tell the truth?"""
    if due.sitemap_id is None or due.lastmod is None or due.fetched_at is None or changed is None:
        return
    verdict = recrawl.is_true(due.lastmod, fetched_at=due.fetched_at, changed=changed)
    if verdict is not None:
        batch.add(CLAIMS, Claim(due.host_id, due.sitemap_id, is_true=verdict))


def _admit_all(visit: Visit, due: Due, base: Url, reading: SitemapReading | Listing) -> None:
    values = iter(reading)
    known = _note(visit.worker, visit.lease, due, reading)
    while chunk := list(islice(values, 1_000)):
        _admit(visit, due, known, base, chunk)
    _note(visit.worker, visit.lease, due, reading)


def _admit(visit: Visit, due: Due, known: Known, base: Url, chunk: list[Entry | Child]) -> None:
    canon, now = visit.worker.canon, visit.lease.database_time(visit.now())
    candidates = _children(
        visit.worker, visit.batch, visit.picked, due, base, [value for value in chunk if isinstance(value, Child)]
    )
    pages = list(_urls(_join(canon, base, value) for value in chunk if isinstance(value, Entry)))
    said = {url.key: recrawl.plausible(when, now) for url, when in pages}
    believed = recrawl.is_believed(known.claims, known.true_claims)
    hints = {key: when for key, when in said.items() if when is not None} if believed else admit.NO_HINTS
    listed = [url for url, _ in pages]
    for each in admit.candidates(visit, due.crawl_id, listed, FoundAt(due.url, 1, 0), hints=hints):
        when = said[each.url.key]
        candidates.append(each if when is None else each._replace(sitemap_id=known.id, lastmod=_iso(when)))
    new = {each.url.key for each in candidates}
    claims = [
        {"key": url.key, "lastmod": _iso(said[url.key])}
        for url, _ in pages
        if url.host == visit.lease.host and said[url.key] is not None and url.key not in new
    ]
    _write(visit, due, known, candidates, claims)


def _children(worker: Worker, batch: Batch, picked: Picked, due: Due, base: Url, found: list[Child]) -> list[Candidate]:
    """The sitemaps that an index names, on its host or another of the crawl's hosts; a refused one leaves a row."""
    known, scope = worker.caches.known, picked.scopes[due.crawl_id]
    admitted = []
    for each in found:
        url = worker.canon.join(base.text, each.loc)
        if isinstance(url, Refusal):
            admit.suppress_text(known, batch, due.crawl_id, each.loc, url, found_on=due.url)
        elif url.host != base.host and not _is_named(scope, url.host):
            admit.suppress(known, batch, due.crawl_id, url, Refusal.SCOPE, found_on=due.url, detail=_ELSEWHERE)
        elif due.depth >= LEVELS:
            admit.suppress(known, batch, due.crawl_id, url, Refusal.DEPTH, found_on=due.url, detail=_TOO_DEEP)
        elif not known.has(due.crawl_id, url.key):
            depth = due.depth + 1
            admitted.append(in_front(due.crawl_id, url, RequestKind.SITEMAP, depth=depth, found_on=due.url))
    return admitted


def _write(
    visit: Visit, due: Due, known: Known, candidates: list[Candidate], claims: Sequence[Mapping[str, object]]
) -> None:
    """Write a chunk, of which Postgres takes nearly all the time, and take a seat again after the commit."""
    sent = visit.now()
    with visit.worker.stays.seats.left(), db.transaction(visit.worker.engine) as tx:
        if not hosts.extend(tx, host_id=visit.host_id, token=visit.lease.token, lease_s=visit.worker.settings.lease_s):
            raise LeaseLost(visit.lease.host)
        admitted = enter.admit(tx, [(visit, candidates)])
        suppressions.note(tx, list(visit.batch.found.suppressions.values()))
        believed = recrawl.is_believed(known.claims, known.true_claims)
        sitemaps.claim(
            tx, host_id=visit.host_id, crawl_id=due.crawl_id, sitemap_id=known.id, believed=believed, rows=claims
        )
    visit.lease.renew(sent, visit.worker.settings.lease_s)
    enter.committed([visit], admitted, [visit.batch])
    visit.batch.found.suppressions.clear()


def _note(worker: Worker, lease: Lease, due: Due, reading: SitemapReading | Listing) -> Known:
    with worker.stays.seats.left(), db.transaction(worker.engine) as tx:
        if hosts.lock_leased(tx, host_id=lease.host_id, token=lease.token) is None:
            raise LeaseLost(lease.host)
        read = ReadSitemap(
            host_id=lease.host_id,
            crawl_id=due.crawl_id,
            key=due.key,
            url=due.url,
            format=reading.kind.value,
            entries=reading.entries,
            problem=reading.problem,
        )
        return sitemaps.note(tx, read)


def _is_named(scope: Scope, host: str) -> bool:
    """Not one that some link led to. Seeds, whatever the scope, are known by their depth."""
    return host in scope.hosts or (scope.kind is ScopeKind.DOMAIN and registrable_domain(host) in scope.domains)


def _join(canon: Canon, base: Url, value: Entry | Child) -> tuple[Url | Refusal, datetime | None]:
    return canon.join(base.text, value.loc), value.lastmod


def _urls(found: Iterable[tuple[Url | Refusal, datetime | None]]) -> Iterator[tuple[Url, datetime | None]]:
    return ((url, when) for url, when in found if isinstance(url, Url))


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _digest(body: BinaryIO) -> bytes:
    body.seek(0)
    digest = sha256()
    while block := body.read(1024 * 1024):
        digest.update(block)
    body.seek(0)
    return digest.digest()
