"""A settle while it is written: what its steps are called with."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from app.crawl.state.part import Row, SettlePart, SettleStep

if TYPE_CHECKING:
    from app.crawl.state.visit import Visit


@dataclass(frozen=True, slots=True)
class Settling:
    """A settle while it is written.   brought: what each step returned"""

    tx: Connection
    visits: "Sequence[Visit]"
    brought: dict[SettleStep, Any] = field(default_factory=dict)

    def rows(self, part: SettlePart[Row]) -> list[Row]:
        """The rows of all batches."""
        return [row for visit in self.visits for row in visit.batch.rows(part)]
