"""Counts what was settled, for the process's metrics, and logs its memory now and then."""

from collections.abc import Sequence

import structlog

from app.crawl.state.batch import Batch
from app.crawl.state.lease import Lease
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.metrics.counts import SettledBatch, resident_bytes
from app.model import VisitEnding

_log = structlog.get_logger()
MIB = 1024 * 1024


def settled(visits: Sequence[Visit], batches: Sequence[Batch], *, took_s: float | None) -> None:
    """Count batches that were settled together, after their commit.

    Each visit that left has its ending in `leaving`.
    """
    worker = visits[0].worker
    found = [_as_settled(visit.lease, batch, visit.leaving) for visit, batch in zip(visits, batches, strict=True)]
    pages = worker.counts.settled(found, took_s=took_s)
    rss = resident_bytes() if pages is not None else None
    if rss is not None:
        _log.info("worker.memory", pages=pages, rss_mib=round(rss / MIB), known_keys=worker.caches.known.load().used)


def fenced(worker: Worker, lease: Lease, batch: Batch) -> None:
    """Count the requests of a visit that lost its lease."""
    worker.counts.fenced_off(_as_settled(lease, batch, VisitEnding.FENCED))


def _as_settled(lease: Lease, batch: Batch, ending: VisitEnding | None) -> SettledBatch:
    pages = sum(tally.pages for tally in batch.tallies.of_crawl.values())
    return SettledBatch(lease.visit_id, lease.host_id, batch.fetches, pages, ending.value if ending else None)
