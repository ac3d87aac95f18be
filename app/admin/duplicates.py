"""Lists the pages of a crawl that repeat another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Engine

from app.admin.crawls import find
from app.errors import InputError
from app.features.near import rows as near
from app.store import db

KINDS: Final = ("body", "text", "near", "review")
MOST_WAITING = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicates:
    """rows: kind, bits, url, of_url, found_at, the latest first.   waiting: pages that are yet to be compared, at most
    MOST_WAITING
    """

    rows: Sequence[dict[str, Any]]
    waiting: int


def duplicates(engine: Engine, name: str, *, kind: str | None, n: int) -> Duplicates:
    """The duplicates of a crawl, of one kind or all. Raises InputError."""
    if kind is not None and kind not in KINDS:
        raise InputError(f"--kind {kind}", f"is not a kind of duplicate; choose one of {', '.join(KINDS)}")
    crawl = find(engine, name)
    with db.transaction(engine) as tx:
        return Duplicates(
            rows=near.listed(tx, crawl_id=crawl.id, kind=kind, n=n),
            waiting=near.waiting(tx, crawl_id=crawl.id, most=MOST_WAITING),
        )
