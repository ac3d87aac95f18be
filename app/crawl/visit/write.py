"""Writes the batches of a settle, without the hosts' own rows: a loop over the steps, in the order of their ranks."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection

from app import plugins
from app.crawl.frontier import duplicates, enter, give_up, naming, worth
from app.crawl.frontier.enter import Entered
from app.crawl.page import read, sitemaps
from app.crawl.robots import reopen
from app.crawl.state.batch import Batch
from app.crawl.state.part import SettlePart, SettleStep
from app.crawl.state.settling import Settling
from app.crawl.state.visit import Visit
from app.policy.candidate import Candidate
from app.store import crawls, fetches, pages, patterns, robots, suppressions, urls
from app.store.pages import Where


def write(visits: Sequence[Visit], tx: Connection) -> Settling:
    """Write everything but the hosts' own rows."""
    settling = Settling(tx, visits)
    for step in steps(visits[0].worker.hooks):
        if not isinstance(step, SettlePart) or any(visit.batch.rows(step) for visit in visits):
            settling.brought[step] = step.write(settling)
    return settling


@cache
def steps(hooks: Any) -> Sequence[SettleStep]:
    """The steps of a settle, the core's and the features' that answer these hooks, in the order of their ranks."""
    return sorted([*_CORE, *plugins.steps(hooks)], key=lambda step: step.rank)


def _enter(settling: Settling) -> Entered:
    batches = [visit.batch for visit in settling.visits]
    repeating = duplicates.note(batches, settling.tx)
    return enter.admit(settling.tx, [(visit, _admissions(visit.batch, repeating)) for visit in settling.visits])


def _suppress(settling: Settling) -> None:
    refused = {each: row for visit in settling.visits for each, row in visit.batch.found.suppressions.items()}
    suppressions.note(settling.tx, list(refused.values()))


def _record(settling: Settling) -> None:
    urls.record(settling.tx, [result for visit in settling.visits for result in visit.batch.results])


def _log(settling: Settling) -> None:
    fetches.log(settling.tx, [fetch for visit in settling.visits for fetch in visit.batch.fetches])


def _count(settling: Settling) -> None:
    crawls.count(
        settling.tx,
        [
            {
                "crawl_id": crawl_id,
                "host_id": visit.host_id,
                "pages": tally.pages,
                "fetches": tally.fetches,
                "failed": tally.failed,
                "bytes": tally.bytes,
            }
            for visit in settling.visits
            for crawl_id, tally in visit.batch.tallies.of_crawl.items()
        ],
    )


def _patterns(settling: Settling) -> None:
    """Write what patterns of URLs have brought; those that bring something again get their refused URLs back."""
    rows = [worth.changed_rows(visit.host_id, visit.picked.focus) for visit in settling.visits]
    patterns.keep(settling.tx, [row for kept, _ in rows for row in kept])
    queued = patterns.reopen(settling.tx, [row for _, turned in rows for row in turned])
    for visit in settling.visits:
        visit.picked.unfetched += queued[visit.host_id]


def _keep(settling: Settling) -> None:
    readings = [reading for visit in settling.visits for reading in visit.batch.found.readings]
    pages.keep(settling.tx, [reading.page for reading in readings if reading.page is not None])


def _robots(settling: Settling) -> None:
    files = [(visit.host_id, origin, each) for visit in settling.visits for origin, each in visit.batch.robots.files]
    robots.store(settling.tx, files)
    for visit in settling.visits:
        _write_robots(visit, settling.tx)


ENTERED = SettleStep(name="entered", rank=20, write=_enter)
_CORE: Sequence[SettleStep] = [
    read.KEPT_OUT,
    ENTERED,
    naming.RAISES,
    SettleStep(name="suppressions", rank=40, write=_suppress),
    SettleStep(name="results", rank=50, write=_record),
    give_up.GIVE_UP,
    SettleStep(name="fetches", rank=70, write=_log),
    SettleStep(name="tallies", rank=90, write=_count),
    SettleStep(name="patterns", rank=100, write=_patterns),
    SettleStep(name="pages", rank=110, write=_keep),
    read.REVISIONS,
    SettleStep(name="robots", rank=140, write=_robots),
    sitemaps.CLAIMS,
]


def _write_robots(visit: Visit, tx: Connection) -> None:
    batch = visit.batch
    robots.store_tdmrep(tx, host_id=visit.host_id, asked=batch.robots.tdmrep)
    for origin in batch.robots.doubted:
        robots.doubt(tx, host_id=visit.host_id, origin=origin, recheck_s=visit.worker.settings.robots_recheck_s)
    reopen.of_batch(visit, tx)


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
