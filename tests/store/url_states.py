"""Rows of URLs in any state."""

from typing import Any

from sqlalchemy import Engine

from app.policy.lifecycle import UrlState
from app.store.url_rows import Admission
from tests.store.rows import (
    admit,
    sql,
)

# What a row in each state has besides, as the CHECKs want it.
STATES: dict[UrlState, dict[str, Any]] = {
    UrlState.QUEUED: {},
    UrlState.RESTING: {"due_at": "past"},
    UrlState.REFUSED: {"cause": "robots.txt"},
    UrlState.GONE: {"due_at": "past"},
    UrlState.QUARANTINED: {"cause": "broken 3 times"},
    UrlState.ALIAS: {"alias_of": "http://elsewhere.test/", "due_at": "past"},
}


def stand(engine: Engine, row: Admission, state: UrlState, *, retrying: bool = False, due: str = "past") -> None:
    """Admit a URL and put it into a state."""
    admit(engine, row)
    columns = STATES[state]
    sql(
        engine,
        """UPDATE urls SET state = :state, cause = :cause, alias_of = :alias_of, retrying = :retrying, attempts = 2,
                           due_at = now() + CAST(:due AS interval)
           WHERE key = :key AND crawl_id = :crawl_id""",
        state=state.value,
        cause=columns.get("cause"),
        alias_of=columns.get("alias_of"),
        retrying=retrying,
        due=None if "due_at" not in columns else "-1 minute" if due == "past" else "1 minute",
        key=row["key"],
        crawl_id=row["crawl_id"],
    )
