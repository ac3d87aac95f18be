"""Puts what is worth most first, by the hooks: by a crawl's profile, and by what its URLs have brought."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection

from app.crawl.state.finder import Finder
from app.crawl.state.part import SettleStep
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.crawl.state.worth import ENDING_TRIES, Worth, name_of_ending
from app.features.focus import on_host, rows
from app.features.focus.naming import RAISES
from app.features.focus.rows import FileEnding
from app.hooks import answers
from app.store.crawls import Crawl


@answers
def steps() -> Sequence[SettleStep]:
    return [RAISES, SettleStep(name="patterns", rank=100, write=on_host.write)]


@answers
def rows_forgotten(worker: Worker) -> None:
    on_host.learned_by(worker).namings.clear()


@answers
def crawl_read(worker: Worker, crawl: Crawl) -> None:
    on_host.read_profile(worker, crawl)


@answers
def lane_weights(worker: Worker, crawl_id: int) -> Mapping[int, int]:
    return on_host.profile_for(worker, crawl_id).weights


@answers
def worth(finder: Finder, tx: Connection, crawl_id: int, refuses: bool, now: datetime | None) -> Worth:
    return on_host.load(finder, tx, crawl_id, refuses=refuses, now=now)


@answers
def none_due(visit: Visit, tx: Connection) -> bool | None:
    """Give refused URLs a second look: they are worth it where nothing better waits."""
    return on_host.try_refused(visit.picked, tx, visit.host_id) or None


@answers
def refused_endings(tx: Connection, asked: Collection[tuple[str, int, str]]) -> Collection[tuple[str, int, str]]:
    found: list[FileEnding] = [
        {"host": host, "crawl_id": crawl_id, "ending": ending, "pattern": name_of_ending(ending)}
        for host, crawl_id, ending in sorted(asked)
    ]
    return rows.without_page(tx, found, tries=ENDING_TRIES)


@answers
def hosts_deleted(tx: Connection, crawl_id: int, after: int, until: int) -> None:
    rows.hosts_deleted(tx, crawl_id, after=after, until=until)
