"""Puts pages up for a browser, and writes what one has opened, by the hooks."""

from collections.abc import Sequence

from sqlalchemy import Connection

from app.crawl.page.attempt import PageRead
from app.crawl.state.batch import Batch
from app.crawl.state.part import SettleStep
from app.crawl.state.settling import Settling
from app.crawl.state.visit import Visit
from app.features.render.take_in import RENDERED, RENDERS, put_up
from app.hooks import answers
from app.store import renders


@answers
def steps() -> Sequence[SettleStep]:
    return [RENDERS, RENDERED]


@answers
def awaits(visit: Visit, read: PageRead) -> bool | None:
    return put_up(visit, read) or None


@answers
def settled(batches: Sequence[Batch], settling: Settling) -> None:
    settling.visits[0].worker.counts.rendered([row for batch in batches for row in batch.rows(RENDERED)])


@answers
def hosts_deleted(tx: Connection, crawl_id: int, after: int, until: int) -> None:
    renders.hosts_deleted(tx, crawl_id, after=after, until=until)
