"""Puts answers into the archive, by the hooks: before their results are written."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from app.crawl.page.attempt import Attempt
from app.crawl.state.batch import Batch
from app.crawl.state.part import SettleStep
from app.crawl.state.settling import Settling
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.features.archive import answer, keep
from app.features.archive.keep import ARCHIVE, CAPTURES, UNSTORED, keeper_of
from app.features.archive.setup import make_keeper
from app.hooks import Opening, answers
from app.model import Reply
from app.store.url_rows import Due


@answers
def steps() -> Sequence[SettleStep]:
    return [UNSTORED, CAPTURES]


@answers
def resources(opening: Opening) -> Mapping[str, object]:
    """The process's archive, opened; nothing where it keeps none."""
    keeper = make_keeper(opening.settings, engine=opening.engine, worker=opening.name, make_room=opening.make_room)
    if keeper is None:
        return {}
    keeper.start()
    return {ARCHIVE: keeper}


@answers
def check(worker: Worker) -> None:
    """Raises ArchiveStopped while the archive cannot be written."""
    keeper = keeper_of(worker)
    if keeper is not None:
        keeper.check()


@answers
def picked(visits: Sequence[Visit], tx: Connection) -> None:
    keep.find_originals([visit for visit in visits if keeper_of(visit.worker) is not None], tx)


@answers
def before_fetch(visit: Visit, due: Due) -> None:
    keep.check(visit, due)


@answers
def keeps_coded(visit: Visit, due: Due | None) -> bool:
    return keep.holds(visit, due)


@answers
def wants_whole(visit: Visit, due: Due) -> bool:
    return answer.is_missing(visit, due)


@answers
def document_before(visit: Visit, attempt: Attempt) -> Reply | None:
    return answer.document_before(visit, attempt)


@answers
def answered(visit: Visit, attempt: Attempt) -> None:
    answer.archive_answer(visit, attempt)


@answers
def rules_answered(visit: Visit, reply: Reply, is_known: bool) -> None:
    keep.keep_rules(visit, reply, is_known=is_known)


@answers
def before_settle(visits: Sequence[Visit]) -> None:
    keep.store(visits)


@answers
def settled(batches: Sequence[Batch], settling: Settling) -> None:
    keep.committed(batches, settling)


@answers
def fenced(batch: Batch) -> None:
    keep.forget(batch)


@answers
def closed(worker: Worker) -> None:
    keeper = keeper_of(worker)
    if keeper is not None:
        keeper.close()
