"""Admits links that handlers yield, by the door that the links of a page use: `app.crawl.frontier`.

It happens outside of visits: to a handler every link leads to another host, so that it evicts nothing there. Admitting
a link again changes nothing, so that this may come before the endings are written.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import Connection, Engine

from app.config import Settings
from app.crawl.frontier import admit, enter, pick
from app.crawl.frontier.enter import Entered
from app.crawl.state.finder import Outside
from app.crawl.state.setup import make_worker
from app.features.extract.write import HandledRow
from app.model import Link, Reply, Request, Unsent
from app.policy.candidate import Candidate
from app.policy.lifecycle import UrlState
from app.store import crawls, db, extractions, server, suppressions


class _LinkingPage(NamedTuple):
    """A page that yielded links.   depth: links between it and a seed;   nofollow: it says so to robots"""

    crawl_id: int
    url: str
    depth: int
    nofollow: bool


class Follower:
    """Admits links. Threads may share it."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._worker = make_worker(settings, engine=engine, send=_refuse, where=None, name="handlers")

    def admit(self, found: Sequence[HandledRow]) -> None:
        """Admit the links of these rows, and wake their hosts. Raises ServiceError."""
        if not any(each.handled.follows for each in found):
            return
        self._worker.forget_rows()  # no visit tells when rows were restored or deleted
        outside, entered = db.repeat(partial(self._admit, found))
        enter.committed([outside], entered, [outside.batch])

    def _admit(self, found: Sequence[HandledRow]) -> tuple[Outside, Entered]:
        with db.transaction(self._worker.engine) as tx:
            outside = Outside(worker=self._worker, moment=server.now(tx))
            pages = _pages(tx, found)
            for crawl_id in sorted({page.crawl_id for page in pages}):
                _serve(outside, tx, crawl_id)
            candidates = [
                each
                for page, row in zip(pages, found, strict=True)
                for each in _candidates(outside, page, row.handled.follows)
            ]
            entered = enter.admit(tx, [(outside, candidates)])
            suppressions.note(tx, list(outside.batch.found.suppressions.values()))
            if entered.queued:
                _start(tx, {each.crawl_id for each in entered.candidates if each.state is UrlState.QUEUED})
        return outside, entered


def _refuse(request: Request) -> Reply | Unsent:
    raise AssertionError(f"handlers send no request, and none for {request.url}")


def _pages(tx: Connection, found: Sequence[HandledRow]) -> list[_LinkingPage]:
    depths = extractions.depths(tx, [each.row for each in found])
    pages = []
    for row in (each.row for each in found):
        depth, directives = depths.get((row.host_id, row.crawl_id, row.key), (0, None))
        nofollow = not {"nofollow", "none"}.isdisjoint((directives or "").replace(",", " ").split())
        pages.append(_LinkingPage(row.crawl_id, row.url, depth, nofollow))
    return pages


def _serve(outside: Outside, tx: Connection, crawl_id: int) -> None:
    """Load what a crawl asks of a link."""
    worker, picked, crawl = outside.worker, outside.picked, crawls.by_id(tx, crawl_id)
    pick.serve(outside, tx, crawl_id, crawl.revision)
    pick.load_worth(outside, tx, crawl_id, refuses=False)
    pick.set_floor(worker.settings, picked, crawl_id, crawl.admits_above)


def _candidates(outside: Outside, page: _LinkingPage, follows: Sequence[Mapping[str, object]]) -> Iterator[Candidate]:
    """The links of a page that may enter, in the lane and with the score that the handler gave them."""
    for (lane, wanted), group in groupby(follows, key=lambda link: (link.get("lane"), link.get("score"))):
        links = [Link(str(link["url"])) for link in group]
        for each in admit.links(outside, page, page.url, links, nofollow=page.nofollow):
            yield each._replace(
                lane=lane if isinstance(lane, int) else each.lane,
                score=wanted if isinstance(wanted, int | float) else each.score,
            )


def _start(tx: Connection, crawl_ids: set[int]) -> None:
    """Start crawls again that had come to their end before their pages were handled."""
    for crawl_id in sorted(crawl_ids):
        crawl = crawls.by_id(tx, crawl_id)
        if crawl.state == "finished" and crawl.ended_because == "done":
            crawls.start(tx, crawl_id)
