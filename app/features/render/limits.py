"""Bounds of a page, and the estimate of what it will take at its host's delay. Pure."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from app.browser.values import Bounds, ResourceKind

REST_S: Final = 5.0  # for what the page does beside its requests
LEASE_REST_S: Final = 15.0  # of a lease, for reading the document, the settle, and the request that is under way
# Scripts and styles of a document, as a browser finds them. A count for an estimate, not a parser.
_SCRIPTS: Final = re.compile(rb"<script\b[^>]*\bsrc\s*=", re.IGNORECASE)
_STYLES: Final = re.compile(rb"<link\b[^>]*\brel\s*=\s*[\"']?stylesheet", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The requests that a page is expected to make.   time: one after another, at the host's delay"""

    scripts: int
    styles: int
    time: timedelta


def estimate(body: bytes, *, delay_s: float) -> Estimate:
    """By the document's own tags. What its scripts fetch comes on top: one request for data is counted."""
    scripts, styles = len(_SCRIPTS.findall(body)), len(_STYLES.findall(body))
    return Estimate(scripts=scripts, styles=styles, time=timedelta(seconds=(scripts + styles + 1) * delay_s))


def bounds(expected: Estimate, *, wall_s: float, requests: int, lease_s: float) -> Bounds:
    """A page at a slow host gets longer, as far as a lease reaches."""
    needed_s = expected.time.total_seconds() + REST_S
    return Bounds(wall_s=max(min(max(wall_s, needed_s), lease_s - LEASE_REST_S), 1.0), requests=requests)


def unwanted(expected: Estimate, bounds: Bounds) -> frozenset[ResourceKind]:
    """Kinds that are left out so that scripts and their data have the time that there is."""
    if expected.time.total_seconds() + REST_S <= bounds.wall_s:
        return frozenset()
    return frozenset({ResourceKind.STYLESHEET})
