"""Writes the batches of a settle, without the hosts' own rows."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from app.crawl.frontier import duplicates, enter, worth
from app.crawl.frontier.enter import Entered
from app.crawl.page.renders import TTL_S
from app.crawl.state.batch import Batch
from app.crawl.state.picked import Picked
from app.crawl.state.visit import Visit
from app.model import CaptureKind, Cause, Origin, Refusal
from app.policy.candidate import Candidate
from app.policy.robots import Robots, Verdict, Work
from app.policy.url import Canon
from app.store import (
    captures,
    crawls,
    extractions,
    fetches,
    links,
    pages,
    patterns,
    renders,
    robots,
    sitemaps,
    suppressions,
    urls,
)
from app.store.extractions import DuePage
from app.store.pages import Where

REOPEN_PAGE = 1_000
NOT_MODIFIED = 304


class Written(NamedTuple):
    """The results of a settle's writing.   entered: what was admitted;   capture_ids: by segment and offset"""

    entered: Entered
    capture_ids: dict[tuple[int, int], int]


def write(visits: Sequence[Visit], tx: Connection) -> Written:
    """Write everything but the hosts' own rows."""
    batches = [visit.batch for visit in visits]
    kept_out = [page for batch in batches for page in batch.kept_out]
    pages.drop(tx, kept_out)  # first: a page that is dropped must not count as the original of a new one
    repeating = duplicates.note(batches, tx)
    entered = enter.admit(tx, [(visit, _admissions(visit.batch, repeating)) for visit in visits])
    urls.raise_scores(tx, [row for batch in batches for row in batch.raises.values()])
    refused = {each: row for batch in batches for each, row in batch.suppressions.items()}
    suppressions.note(tx, list(refused.values()))
    urls.record(tx, [result for batch in batches for result in batch.results])
    for visit in visits:
        _give_up(visit.host_id, visit.batch, visit.picked, tx)
    fetches.log(tx, [fetch for batch in batches for fetch in batch.fetches])
    capture_ids = captures.add(tx, [capture for batch in batches for capture in batch.captures])
    crawls.count(
        tx,
        [
            {
                "crawl_id": crawl_id,
                "host_id": visit.host_id,
                "pages": tally.pages,
                "fetches": tally.fetches,
                "failed": tally.failed,
                "bytes": tally.bytes,
            }
            for visit in visits
            for crawl_id, tally in visit.batch.tallies.items()
        ],
    )
    _write_patterns(visits, tx)
    pages.keep(tx, [reading.page for batch in batches for reading in batch.readings if reading.page is not None])
    links.keep(tx, [row for batch in batches for row in batch.kept_links])
    pages.revise(tx, [revision for batch in batches for revision in batch.revisions])
    robots.store(tx, [(visit.host_id, origin, each) for visit in visits for origin, each in visit.batch.robots])
    for visit in visits:
        _write_robots(visit, tx)
    sitemaps.credit(
        tx,
        [
            {"host_id": visit.host_id, "id": id, "claims": claims, "true_claims": true_claims}
            for visit in visits
            for id, (claims, true_claims) in sorted(visit.batch.claims.items())
        ],
    )
    renders.queue(tx, [row for batch in batches for row in batch.renders], ttl_s=TTL_S)
    renders.end(tx, [row for batch in batches for row in batch.rendered])
    if handlers := visits[0].worker.handlers:
        extractions.due(tx, _captured(batches, capture_ids), handlers)
    return Written(entered, capture_ids)


def _captured(batches: Sequence[Batch], ids: Mapping[tuple[int, int], int]) -> list[DuePage]:
    """The pages of the batches that are in the archive now, and what a browser made of them. A 304 brings none."""
    return [
        DuePage(
            row.host_id,
            row.crawl_id,
            row.key,
            row.url,
            ids[row.segment_id, row.at_offset],
            row.body_sha256,
            row.to_render,
        )
        for batch in batches
        for row in batch.captures
        if row.kind in {CaptureKind.PAGE, CaptureKind.RENDERED} and row.status != NOT_MODIFIED
    ]


def _give_up(host_id: int, batch: Batch, picked: Picked, tx: Connection) -> None:
    for ending in batch.give_up:
        picked.unfetched -= urls.give_up(
            tx,
            host_id=host_id,
            state=ending.state,
            cause=ending.cause,
            detail=ending.detail,
            prefix=ending.prefix,
            spares_fresh=ending.spares_fresh,
        )


def _write_patterns(visits: Sequence[Visit], tx: Connection) -> None:
    """Write what patterns of URLs have brought; those that bring something again get their refused URLs back."""
    rows = [worth.changed_rows(visit.host_id, visit.picked.focus) for visit in visits]
    patterns.keep(tx, [row for kept, _ in rows for row in kept])
    queued = patterns.reopen(tx, [row for _, turned in rows for row in turned])
    for visit in visits:
        visit.picked.unfetched += queued[visit.host_id]


def _write_robots(visit: Visit, tx: Connection) -> None:
    batch = visit.batch
    robots.store_tdmrep(tx, host_id=visit.host_id, asked=batch.tdmrep)
    for origin in batch.doubted_robots:
        robots.doubt(tx, host_id=visit.host_id, origin=origin, recheck_s=visit.worker.settings.robots_recheck_s)
    for origin in batch.renewed_robots:
        picked = visit.picked
        picked.unfetched += _reopen(visit.worker.canon, visit.host_id, origin, visit.origins.robots[origin].rules, tx)


def _admissions(batch: Batch, repeating: set[Where]) -> list[Candidate]:
    """The batch's sitemaps and links, each once, but for those of documents that repeat another's."""
    found = {each.form: each for each in batch.admissions}
    for reading in batch.readings:
        page = reading.page
        if page is not None and (page["host_id"], page["crawl_id"], page["key"]) in repeating:
            continue
        for each in reading.links:
            found.setdefault(each.form, each)
    return list(found.values())


def _reopen(canon: Canon, host_id: int, origin: Origin, rules: Robots | None, tx: Connection) -> int:
    """Queue again what an origin's new robots.txt allows, and an earlier one refused (promise R6). Returns how many.

    The transaction has a budget of work. URLs past it are left to their gates, but for those that were too costly.
    """
    if rules is None:
        return 0
    after, reopened, work = (0, b""), 0, Work()
    while rows := urls.refused_of_host(tx, host_id=host_id, after=after, n=REOPEN_PAGE):
        after = rows[-1][0], rows[-1][1]
        parsed = [(row[0], row[1], canon.of_row(row[2], row[1], row[3]), row[4]) for row in rows]
        reopened += urls.reopen(
            tx,
            host_id=host_id,
            rows=[
                {"crawl_id": crawl_id, "key": key}
                for crawl_id, key, url, cause in parsed
                if not isinstance(url, Refusal) and url.origin == origin and _reopens(rules.verdict(url, work), cause)
            ],
        )
    return reopened


def _reopens(verdict: Verdict, cause: str) -> bool:
    """Whether a refused URL is queued again."""
    return verdict is Verdict.ALLOWED or (verdict is Verdict.TOO_COSTLY and cause != Cause.TOO_COSTLY)
