"""Writes the batches of a settle, without the hosts' own rows: a loop over the steps, in the order of their ranks."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection

from app import plugins
from app.crawl.frontier import admit, enter, give_up
from app.crawl.page import read, sitemaps
from app.crawl.robots import obtain
from app.crawl.state.part import SettlePart, SettleStep
from app.crawl.state.settling import Settling
from app.crawl.state.visit import Visit
from app.store import crawls, fetches, urls


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


_CORE: Sequence[SettleStep] = [
    read.KEPT_OUT,
    enter.ENTERED,
    admit.SUPPRESSIONS,
    SettleStep(name="results", rank=50, write=_record),
    give_up.GIVE_UP,
    SettleStep(name="fetches", rank=70, write=_log),
    SettleStep(name="tallies", rank=90, write=_count),
    read.PAGES,
    read.REVISIONS,
    obtain.ROBOTS,
    sitemaps.CLAIMS,
]
