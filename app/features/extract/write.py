"""Writes what came of rows that were handled: links, items and endings. Runners share its state.

What is written counts only where the row still waits for the same capture and version. Items of a page and handler are
replaced in one transaction. Links are admitted before it: a crash between the two admits them again, which changes
nothing.

Links go through the door that the links of a page use (`app.crawl.frontier`). That happens outside of visits: to a
handler every link leads to another host, so that it evicts nothing there. Admitting a link again changes nothing, so
that this may come before the endings are written.
"""

import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import NamedTuple

import structlog
from sqlalchemy import Connection, Engine

from app.config import Settings
from app.crawl.frontier import admit, enter, pick
from app.crawl.frontier.enter import Entered
from app.crawl.state.finder import Outside
from app.crawl.state.setup import make_worker
from app.crawl.visit import trace
from app.errors import Unwritable
from app.features.extract.process import START_S, Handled, HandlerProcess
from app.model import Link, Reply, Request, Unsent
from app.model.handler import HandlerSpec
from app.policy.candidate import Candidate, as_real
from app.policy.lifecycle import UrlState
from app.sandbox.child import ProcessPool
from app.store import crawls, db, extractions, item_views, items, server, suppressions
from app.store.extractions import Claimed, ExtractionEnding
from app.store.items import ItemRow

ATTEMPTS_MOST = 3
MOST_SCORE = 1e38
RETRY_S = 2.0  # after the first failure; four times as long after the second
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class HandledRow:
    """A row that was handled, and what came of it."""

    row: Claimed
    version: int
    handled: Handled


Admit = Callable[[Sequence[HandledRow]], None]


@dataclass(slots=True, kw_only=True)
class Extraction:
    """The state that threads share which run handlers.

    admit     admits the links that rows yielded
    node      this machine, as the archive names it
    crawl_id, handler  only rows of these; None: of all
    stopping  set: rows that are not begun are given back
    ended     rows by how they ended: done, failed, retried
    """

    engine: Engine
    settings: Settings
    pool: ProcessPool[HandlerProcess]
    admit: Admit
    crawl_id: int | None = None
    handler: str | None = None
    node: str = field(default_factory=socket.gethostname)
    stopping: threading.Event = field(default_factory=threading.Event)
    ended: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _versions: dict[str, int] = field(default_factory=dict)
    _columns: dict[str, set[str]] = field(default_factory=dict)
    _longest_s: float = 0.0  # that a handler may take for a page

    @property
    def lease_s(self) -> float:
        """Seconds that rows are taken for. They are extended before and after each, which takes a deadline at most."""
        return max(2 * self._longest_s, START_S) + 15.0

    def deadline_s(self, spec: HandlerSpec) -> float:
        """Seconds that a handler may take for a page."""
        return spec.deadline_s or self.settings.handler_deadline_s

    def wanted(self, process: HandlerProcess) -> list[HandlerSpec]:
        """The handlers of a process whose rows are taken. What is new about them is noted first."""
        found = [each for each in process.specs.values() if self.handler in (None, each.name)]
        for each in found:
            self._note(each)
        self._longest_s = max((self.deadline_s(each) for each in found), default=0.0)
        return found

    def count(self, how: str) -> None:
        with self._lock:
            self.ended[how] += 1

    def show(self, handler: str, names: Iterable[str]) -> None:
        """Give the handler's view a column for each of these fields."""
        with self._lock:
            known = self._columns.setdefault(handler, set())
            new = set(names) - known
            known |= new
        if new:
            item_views.widen(self.engine, handler, dict.fromkeys(sorted(new)))

    def _note(self, spec: HandlerSpec) -> None:
        """At the first sight of a version: older items are stale, and its view is there."""
        with self._lock:
            if self._versions.get(spec.name) == spec.version:
                return
            self._versions[spec.name] = spec.version
        while True:
            with db.transaction(self.engine) as tx:
                if not items.supersede(tx, handler=spec.name, version=spec.version):
                    break
        item_views.widen(self.engine, spec.name, spec.fields or {})
        with self._lock:
            self._columns.setdefault(spec.name, set()).update(spec.fields or {})


def write(shared: Extraction, found: Sequence[HandledRow]) -> None:
    """Admit the links, then write items and endings. A row whose items Postgres refuses fails alone."""
    if not found:
        return
    shared.admit([each for each in found if each.row.admits and each.handled.follows])
    try:
        db.repeat(partial(_commit, shared, found))
    except Unwritable as error:
        if len(found) > 1:
            for each in found:
                write(shared, [each])
            return
        refused = Handled(handler=found[0].row.handler, failed="misfit", cause=str(error))
        found = [HandledRow(row=found[0].row, version=found[0].version, handled=refused)]
        db.repeat(partial(_commit, shared, found))
    for each in found:
        shared.show(each.row.handler, {name for item in each.handled.items for name in item})


def _commit(shared: Extraction, found: Sequence[HandledRow]) -> None:
    endings = {each.row.place: _ending(each) for each in found}
    with db.transaction(shared.engine) as tx:
        held = extractions.hold(tx, list(endings.values()))
        done = [place for place in held if endings[place]["state"] == "done"]
        items.replace(tx, done, [row for each in found if each.row.place in held for row in _items(each)])
        items.outdate(tx, [place for place in held if endings[place]["state"] == "failed"])
        extractions.end(tx, [endings[place] for place in sorted(held)])
    for place in held:
        state = endings[place]["state"]
        shared.count("retried" if state == "due" else state)
    for each in found:
        if each.row.place in held and trace.is_sampled(each.row.key, shared.settings.log_trace):
            _trace(each, endings[each.row.place])


def _trace(found: HandledRow, ending: ExtractionEnding) -> None:
    _log.info(
        "trace.extracted",
        trace=trace.trace_id(found.row.key),
        url=found.row.url,
        handler=found.row.handler,
        capture=found.row.capture_id,
        state=ending["state"],
        items=ending["items"],
        ms=round(found.handled.ms),
    )


def _items(found: HandledRow) -> list[ItemRow]:
    row = found.row
    return [
        ItemRow(
            host_id=row.host_id,
            crawl_id=row.crawl_id,
            key=row.key,
            handler=row.handler,
            n=n,
            url=row.url,
            capture_id=row.capture_id,
            version=found.version,
            item=item,
        )
        for n, item in enumerate(found.handled.items)
    ]


def _ending(found: HandledRow) -> ExtractionEnding:
    row, handled = found.row, found.handled
    attempts = row.attempts + 1 if handled.failed else 0
    is_final = handled.failed in ("misfit", "lost") or attempts >= ATTEMPTS_MOST
    state = "done" if handled.failed is None else "failed" if is_final else "due"
    return ExtractionEnding(
        host_id=row.host_id,
        crawl_id=row.crawl_id,
        key=row.key,
        handler=row.handler,
        capture_id=row.capture_id,
        version=found.version,
        state=state,
        attempts=attempts,
        cause=handled.cause,
        traceback=handled.traceback or None,
        took_ms=handled.ms,
        items=len(handled.items) if state == "done" else None,
        links=len(handled.follows) if state == "done" else None,
        would_follow=handled.follows if handled.follows and not row.admits else None,
        due_s=RETRY_S * 4 ** (attempts - 1) if state == "due" else None,
    )


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
                score=_held(wanted) if isinstance(wanted, int | float) else each.score,
            )


def _held(score: float) -> float:
    """The nearest score that a row holds: Postgres refuses any other, and with it the links of all pages of a lot."""
    return as_real(max(-MOST_SCORE, min(score, MOST_SCORE)))


def _start(tx: Connection, crawl_ids: set[int]) -> None:
    """Start crawls again that had come to their end before their pages were handled."""
    for crawl_id in sorted(crawl_ids):
        crawl = crawls.by_id(tx, crawl_id)
        if crawl.state == "finished" and crawl.ended_because == "done":
            crawls.start(tx, crawl_id)
