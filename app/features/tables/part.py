"""Writes the rows that plugins read of documents, by the hooks."""

from collections.abc import Sequence

from sqlalchemy import Connection

from app.crawl.page.attempt import PageRead
from app.crawl.page.read import KEPT_OUT, REVISIONS
from app.crawl.state.batch import Batch
from app.crawl.state.part import SettlePart, SettleStep
from app.crawl.state.settling import Settling
from app.crawl.state.visit import Visit
from app.features.tables import rows
from app.features.tables.rows import PageRows, Written
from app.hooks import answers
from app.plugins import strangers


def _write(settling: Settling) -> list[Written]:
    return rows.write(settling.tx, settling.rows(ROWS), strangers(settling.visits[0].worker.settings.plugins))


def _withdraw(settling: Settling) -> list[Written]:
    """Delete the rows of pages of which nothing may be kept any more: an answer without a document may say so."""
    names = settling.visits[0].worker.settings.plugins
    if not names:
        return []
    pages = [
        *settling.rows(KEPT_OUT),
        *((row["host_id"], row["crawl_id"], row["key"]) for row in settling.rows(REVISIONS) if row["noarchive"]),
    ]
    found = [
        PageRows(plugin=plugin.name, host_id=host_id, crawl_id=crawl_id, key=key, url="", tables={})
        for plugin in strangers(names)
        if plugin.tables
        for host_id, crawl_id, key in pages
    ]
    return rows.write(settling.tx, found, strangers(names)) if found else []


WITHDRAWN = SettleStep(name="plugin_rows_withdrawn", rank=199, write=_withdraw)
ROWS: SettlePart[PageRows] = SettlePart(
    name="plugin_rows",
    rank=200,  # after all of ours: what a plugin waits for, nobody's row waits behind it
    write=_write,
    words=lambda row: f"the rows that {row['plugin']} read of {row['url']}",
)


@answers
def steps() -> Sequence[SettleStep]:
    return [WITHDRAWN, ROWS]


@answers
def page_read(visit: Visit, read: PageRead) -> None:
    """Keep the rows of a document that a plugin read; none of one that must not be kept: those of before go."""
    due, is_kept = read.attempt.due, read.row is not None and read.row["main_text"] is not None
    for plugin, tables in read.document.rows.items():
        row: PageRows = {
            "plugin": plugin,
            "host_id": visit.host_id,
            "crawl_id": due.crawl_id,
            "key": due.key,
            "url": due.url,
            "tables": tables if is_kept else {},
        }
        visit.batch.add(ROWS, row)


@answers
def settled(batches: Sequence[Batch], settling: Settling) -> None:
    rows.tell([*settling.brought.get(WITHDRAWN, ()), *settling.brought.get(ROWS, ())])


@answers
def crawl_deleted(tx: Connection, crawl_id: int) -> int:
    return rows.drop_crawl(tx, crawl_id)
