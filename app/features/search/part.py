"""Takes the words of a page out of the index where its text may not be kept any more, by the hooks.

What is new is queued with its page (pages.sql), and indexed after the settle (`janitor`).
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from app.crawl.page.read import REVISIONS
from app.crawl.state.part import SettleStep
from app.crawl.state.settling import Settling
from app.features.search import rows
from app.hooks import answers


def _forget(settling: Settling) -> None:
    """Delete the words of pages whose text is not in their row. A page that is dropped takes its words along."""
    read = (reading.page for visit in settling.visits for reading in visit.batch.found.readings)
    without = [
        *(row for row in read if row is not None and row["main_text"] is None),
        *(row for row in settling.rows(REVISIONS) if row["noarchive"]),
    ]
    rows.forget(settling.tx, [(row["host_id"], row["crawl_id"], row["key"]) for row in without])


@answers
def steps() -> Sequence[SettleStep]:
    return [SettleStep(name="words_forgotten", rank=135, write=_forget)]


@answers
def backlog(tx: Connection) -> Mapping[str, int]:
    return {"search": rows.backlog(tx)}


@answers
def crawl_deleted(tx: Connection, crawl_id: int) -> int:
    return rows.drop_crawl(tx, crawl_id)
