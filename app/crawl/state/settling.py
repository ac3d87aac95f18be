"""A settle while it is written: what its steps are called with."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from app.crawl.state.part import Row, SettlePart, SettleStep
from app.store import pages
from app.store.pages import DroppedPage
from app.store.url_rows import Where

if TYPE_CHECKING:
    from app.crawl.state.visit import Visit


@dataclass(frozen=True, slots=True)
class Settling:
    """A settle while it is written.   brought: what each step returned;   dropped: pages that it deleted"""

    tx: Connection
    visits: "Sequence[Visit]"
    brought: dict[SettleStep, Any] = field(default_factory=dict)
    dropped: list[DroppedPage] = field(default_factory=list)

    def rows(self, part: SettlePart[Row]) -> list[Row]:
        """The rows of all batches."""
        return [row for visit in self.visits for row in visit.batch.rows(part)]

    def drop(self, gone: Collection[Where]) -> None:
        """Delete pages that must not be kept."""
        self.dropped.extend(pages.drop(self.tx, gone))
