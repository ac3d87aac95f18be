"""Queues pages whose text is new to be compared with the others of their crawl, by the hooks."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from app.crawl.page.read import PAGES
from app.crawl.state.part import SettleStep
from app.crawl.state.settling import Settling
from app.features.near import rows
from app.hooks import answers


def _queue(settling: Settling) -> None:
    rows.queue(settling.tx, [page[:3] for page in settling.brought[PAGES]])
    rows.queue_gone(settling.tx, [page[:3] for page in settling.dropped])


@answers
def steps() -> Sequence[SettleStep]:
    return [SettleStep(name="near", rank=192, write=_queue)]


@answers
def backlog(tx: Connection) -> Mapping[str, int]:
    return {"near_duplicates": rows.backlog(tx)}


@answers
def hosts_deleted(tx: Connection, crawl_id: int, after: int, until: int) -> None:
    rows.hosts_deleted(tx, crawl_id, after=after, until=until)


@answers
def crawl_deleted(tx: Connection, crawl_id: int) -> int:
    return rows.drop_crawl(tx, crawl_id)
