"""Parts of a settle: what is written beside the core's own results, each defined in one place by whom it belongs to.

A settle is a loop over steps in the order of their ranks, which is the lock order (ARCHITECTURE.md). A part is a step
that has rows: a batch collects them, the step writes those of all batches, and one that Postgres refuses is replaced or
left out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from app.errors import Unwritable

Row = TypeVar("Row")


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class SettleStep:
    """A step of a settle.

    name   unique among the steps
    rank   its place among the others: lower ones come first
    write  writes what the batches of a `Settling` hold of it; what it returns is there for later steps (its `brought`)
    """

    name: str
    rank: int
    write: Callable[[Any], Any]


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class SettlePart(SettleStep, Generic[Row]):
    """A step that has rows. `write` is called where there are any.

    words   the words for a row, in the log
    mended  the row that stands for one that Postgres refuses. None: it is left out, as every one is without `mended`
    stays   the rows are of requests, which were made: they stay when what their URL brought is taken back
    """

    words: Callable[[Row], str]
    mended: Callable[[Row, Unwritable], Row | None] | None = None
    stays: bool = False
