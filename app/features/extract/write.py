"""Writes what came of rows that were handled: links, items and endings. And the state that runners share.

What is written counts only where the row still waits for the same capture and version. Items of a page and handler are
replaced in one transaction. Links are admitted before it: a crash between the two admits them again, which changes
nothing.
"""

import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog
from sqlalchemy import Engine

from app.config import Settings
from app.crawl.visit import trace
from app.errors import Unwritable
from app.features.extract.process import START_S, Handled, HandlerProcess
from app.model.handler import HandlerSpec
from app.sandbox.pool import ProcessPool
from app.store import db, extractions, item_views, items
from app.store.extractions import Claimed, ExtractionEnding
from app.store.items import ItemRow

ATTEMPTS_MOST = 3
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
