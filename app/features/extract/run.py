"""Runs handlers over rows that are due: take some ▶ read their captures ▶ call the handler ▶ write what came of it.

Rows are taken for a while, and come back by themselves when their worker is lost. A handler that fails costs its page
an attempt; other pages go on. `app.features.extract.write` sees to it that each page's items are there once, however
often it was handled.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

import structlog

from app.errors import ArchiveMissing, SegmentElsewhere, ServiceError
from app.features.archive.read import Archive
from app.features.extract.process import Handled, HandlerProcess, PageForHandler
from app.features.extract.write import Extraction, HandledRow, write
from app.features.rights.purpose import UNKNOWN
from app.features.rights.rows import answers_of
from app.model import Archived, Capture
from app.store import db, extractions
from app.store.extractions import TAKES_MOST, Claimed
from app.store.url_rows import Where

AT_ONCE = 100  # rows that are taken, and written, together
WRITE_S = 1.0
_log = structlog.get_logger()


class Runner:
    """One thread's part of it. Not for several threads. Close it at the end."""

    def __init__(self, shared: Extraction) -> None:
        self._shared = shared
        self._archive = Archive(shared.engine, shared.settings)
        self._process: HandlerProcess | None = None

    def run(self, *, for_s: float = float("inf")) -> int:
        """Handle what is due until nothing is, or for so long. Returns how many. Raises InputError, ServiceError."""
        until, total = time.monotonic() + for_s, 0
        while not self._shared.stopping.is_set() and time.monotonic() < until:
            n = self._lot(until)
            if n == 0:
                break
            total += n
        return total

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            self._shared.pool.give_back(process)

    def _lot(self, until: float) -> int:
        """Take some rows, and handle them. Returns how many were taken."""
        shared = self._shared
        specs = {each.name: each for each in shared.wanted(self._usable())}
        if not specs:
            return 0
        with db.transaction(shared.engine) as tx:
            rows = extractions.claim(
                tx,
                list(specs.values()),
                n=max(AT_ONCE // len(specs), 1),
                lease_s=shared.lease_s,
                node=shared.node,
                crawl_id=shared.crawl_id,
            )
            captures = extractions.captures_of(tx, rows) if rows else {}
            rights = answers_of(tx, [crawl_place(row) for row in rows])
        _Lot(shared, self._archive, self._usable, captures, rights).handle(rows, until)
        return len(rows)

    def _usable(self) -> HandlerProcess:
        if self._process is not None and not self._process.is_usable:
            self.close()
        if self._process is None:
            self._process = self._shared.pool.borrow()
            assert self._process is not None, "the pool lends any number"
        return self._process


@dataclass(slots=True)
class _Lot:
    """Rows that were taken together, on their way.

    left  not reached yet;   back  those that were not handled, to be given back
    """

    shared: Extraction
    archive: Archive
    process: Callable[[], HandlerProcess]
    captures: Mapping[tuple[int, int], Capture]
    rights: Mapping[Where, Mapping[str, str]]
    found: list[HandledRow] = field(default_factory=list)
    back: list[Claimed] = field(default_factory=list)
    left: list[Claimed] = field(default_factory=list)
    written_at: float = field(default_factory=time.monotonic)

    def handle(self, rows: Sequence[Claimed], until: float) -> None:
        """Handle the rows, and write as they come. Those that are not begun are returned, even when a service fails."""
        self.left = list(rows)
        try:
            for (crawl_id, capture_id), group in groupby(rows, key=lambda row: (row.crawl_id, row.capture_id)):
                if self.shared.stopping.is_set() or time.monotonic() >= until:
                    break
                self._page(list(group), self.captures.get((crawl_id, capture_id)))
            self._write()
        finally:
            with suppress(ServiceError), db.transaction(self.shared.engine) as tx:
                extractions.give_back(tx, [*self.back, *self.left])

    def _page(self, rows: Sequence[Claimed], capture: Capture | None) -> None:
        """Run the handlers of one page."""
        try:
            if capture is None:
                raise ArchiveMissing(rows[0].url, "its capture is not in the archive any more")
            page = for_handler(self.archive, rows[0].crawl, capture, self.rights[crawl_place(rows[0])])
        except ArchiveMissing as error:
            self.found += [self._lost(row, str(error)) for row in rows]
            self._passed(len(rows))
            return
        except SegmentElsewhere as error:
            with db.transaction(self.shared.engine) as tx:
                extractions.give_back(tx, rows, node=error.node, due_s=60.0)
            self._passed(len(rows))
            self.shared.count("elsewhere")
            return
        for row in rows:
            if self.shared.stopping.is_set():
                return
            if row.takes > TAKES_MOST:
                self.found.append(self._lost(row, f"its worker died {TAKES_MOST} times while it was handled"))
            else:
                self._run(row, page)
            self._passed(1)

    def _passed(self, n: int) -> None:
        """Note that so many were reached. What was found is written, and the rest kept, now and then.

        Between two handlers of one page, too: each may take its deadline, and nobody else is to take the others.
        """
        del self.left[:n]
        if len(self.found) >= AT_ONCE or time.monotonic() - self.written_at >= WRITE_S:
            self._write()

    def _run(self, row: Claimed, page: PageForHandler) -> None:
        process = self.process()  # it may have to import first
        self._passed(0)
        spec = process.specs.get(row.handler)
        if spec is None or spec.version < row.version:  # its code was changed since, and this process is fresher
            self.back.append(row)
            return
        handled = process.handle(
            page, row.handler, deadline_s=self.shared.deadline_s(spec), before=partial(self._before, row)
        )
        self.found.append(HandledRow(row=row, version=spec.version, handled=handled))

    def _before(self, row: Claimed, capture_id: int) -> PageForHandler | None:
        """The page as it was before a capture; None where the archive has nothing that can be read here."""
        with db.transaction(self.shared.engine) as tx:
            capture = extractions.before(tx, crawl_id=row.crawl_id, id=capture_id)
        if capture is None:
            return None
        try:
            return for_handler(self.archive, row.crawl, capture, self.rights[crawl_place(row)])
        except (ArchiveMissing, SegmentElsewhere) as error:
            _log.info("extract.no_previous", url=row.url, error=str(error))
            return None

    def _lost(self, row: Claimed, why: str) -> HandledRow:
        """A row that no attempt can help."""
        handled = Handled(handler=row.handler, failed="lost", cause=why)
        return HandledRow(row=row, version=row.version, handled=handled)

    def _write(self) -> None:
        """Write what was found, and keep the rows that are left."""
        found, self.found = self.found, []
        write(self.shared, found)
        if self.left:
            with db.transaction(self.shared.engine) as tx:
                extractions.extend(tx, self.left, lease_s=self.shared.lease_s)
        self.written_at = time.monotonic()


def crawl_place(row: Claimed) -> Where:
    """The place of the page of a row."""
    return row.host_id, row.crawl_id, row.key


def for_handler(
    archive: Archive, crawl: str, capture: Capture, rights: Mapping[str, str] | None = None
) -> PageForHandler:
    """A page as it is sent to a handler's process. Raises ArchiveMissing, SegmentElsewhere, ServiceError.

    Of a rendered document the answer comes with it, where it is on this machine: both are needed to be whole, and no
    other machine may have both.

    rights: what its owner allows, by purpose; None: nobody knows
    """
    found, known = archive.read(capture), {"capture": capture.id, "crawl": crawl, "rights": dict(rights or UNKNOWN)}
    if capture.rendered_from is None:
        return PageForHandler(values=known | _answer(capture, found), body=found.body)
    known |= {"rendered_at": capture.fetched_at.isoformat(), "at": found.at, "document_bytes": len(found.body)}
    try:
        source, plain = archive.plain(capture)
    except (ArchiveMissing, SegmentElsewhere) as error:
        _log.info("extract.no_plain", url=capture.url, error=str(error))
        return PageForHandler(values=known | _answer(capture, found) | {"has_answer": False}, body=found.body)
    return PageForHandler(values=known | _answer(source, plain), body=found.body + plain.body)


def _answer(capture: Capture, archived: Archived) -> dict[str, Any]:
    return {
        "url": capture.url,
        "status": archived.status,
        "headers": [list(line) for line in archived.headers],
        "fetched_at": capture.fetched_at.isoformat(),
        "is_cut": archived.truncated,
    }
