"""Keeps the events within their time: old ones go, but for the last of each page that is there."""

import structlog
from sqlalchemy import Engine

from app.config import Settings
from app.features.changes import rows

LOTS = 20  # of a run
_log = structlog.get_logger()


def forget(engine: Engine, settings: Settings) -> int:
    """Delete old events, a number of lots. Returns how many."""
    forgotten = 0
    for _ in range(LOTS):
        looked, gone = rows.forget(engine, keep_days=settings.changes_keep_days)
        forgotten += gone
        if looked < rows.FORGOTTEN_AT_ONCE:
            break
    if forgotten:
        _log.info("changes.forgotten", events=forgotten)
    return forgotten
