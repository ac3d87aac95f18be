"""Reads the events of a crawl from a place on: each once, in the order of commits, in constant memory."""

from collections.abc import Iterator

from sqlalchemy import Engine

from app.features.changes import rows
from app.features.changes.rows import NO_FILTERS, START, Cursor, EventPlace, Filters, PageEvent, check
from app.store import db

AT_ONCE, TEXTS_AT_ONCE = 1_000, 100


class Feed:
    """A reader's place among the events of a crawl.

    cursor  from which another reader goes on: all before it was handed out, or did not pass the filters
    """

    def __init__(
        self, engine: Engine, crawl_id: int, *, after: Cursor | None = None, filters: Filters = NO_FILTERS
    ) -> None:
        """after: None: from the start. Raises InputError for a cursor that cannot be continued."""
        now = rows.horizon(engine)
        if after is not None:
            check(after, lineage=now.lineage, top=now.top, deleted=now.deleted)
        self._engine, self._crawl_id, self._filters = engine, crawl_id, filters
        self._lineage, self._deleted = now.lineage, now.deleted
        self._place = START if after is None else after.place

    @property
    def cursor(self) -> Cursor:
        return Cursor(self._lineage, self._place)

    def at(self, event: PageEvent) -> Cursor:
        """The cursor behind an event."""
        return Cursor(self._lineage, event.place)

    def ready(self, n: int | None = None) -> Iterator[PageEvent]:
        """The events that are final by now and were not handed out. Raises InputError where some were deleted."""
        n = n or (TEXTS_AT_ONCE if self._filters.with_text else AT_ONCE)
        until = self._horizon(self._place)
        while True:
            with db.transaction(self._engine) as tx:
                found = rows.read(
                    tx, crawl_id=self._crawl_id, after=self._place, until=until, filters=self._filters, n=n
                )
            self._horizon(self._place)
            for event in found:
                self._place = event.place
                if event.is_wanted:
                    yield event
            if len(found) < n:
                self._place = max(self._place, until)
                return

    def _horizon(self, place: EventPlace) -> EventPlace:
        """The last event that is final. Raises InputError if events behind `place` were deleted since it began."""
        now = rows.horizon(self._engine)
        if now.lineage != self._lineage or (now.deleted > place and now.deleted != self._deleted):
            check(Cursor(self._lineage, place), lineage=now.lineage, top=now.top, deleted=now.deleted)
        return now.newest
