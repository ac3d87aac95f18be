"""Decides what comes first in a crawl with a budget, by what URLs of one shape have brought (promise S1).

Shapes whose pages had new text of their own come first, whatever their form; lists come after the pages that they name.
"""

from enum import IntEnum
from typing import Final

from app.policy.focus.patterns import RISKY
from app.policy.focus.score import Parts

LEARNED: Final = 0.3  # of a score, from shapes whose pages had no new text of their own to those that all had
PROVEN: Final = 0.8  # of a shape's pages had new text of their own: its form is no risk then
LISTS: Final = 0.2  # of a shape's pages, fewer: they are lists


class Precedence(IntEnum):
    """The order of URLs that were picked, the last first.

    RISKY   its form is a risk
    LIST    its like had hardly any new text of their own: they name pages at best, which may be known by then
    OPEN    nothing is known yet, or some of its like had new text
    PROVEN  most of them had
    """

    RISKY = 0
    LIST = 1
    OPEN = 2
    PROVEN = 3


def learned(parts: Parts, own: float | None) -> Parts:
    """The parts of a link by the share of its shape's pages with new text of their own; None: there were too few."""
    if own is None:
        return parts
    base, anchor, fresh, duplicate, trap, page = parts
    base = min(max(base + LEARNED * (own - 0.5), 0.0), 1.0)
    return Parts(base, anchor, fresh, 0.0 if own >= PROVEN else duplicate, trap, page)


def precedence(parts: Parts, own: float | None) -> Precedence:
    """The rank of a URL that was picked.   own: as in `learned`, by now, not when it was found"""
    if own is not None and own >= PROVEN and parts.trap < RISKY:
        return Precedence.PROVEN
    if parts.risk >= RISKY:
        return Precedence.RISKY
    return Precedence.LIST if own is not None and own < LISTS else Precedence.OPEN
