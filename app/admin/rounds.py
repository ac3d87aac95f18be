"""Begins rounds of crawls that have one every so often: `tiptoe crawl edit NAME --every 1d`.

A round begins when it is due and the one before has ended, in a crawl that is not paused. Where one took longer than
its interval, the next begins as it ends; the times stay whole intervals apart.
"""

import structlog
from sqlalchemy import Engine

from app.admin import crawls
from app.config import Settings
from app.store import crawls as rows
from app.store import db

LEASE_S = 600.0  # after a crash in between, another begins the round
_log = structlog.get_logger()


def begin(engine: Engine, settings: Settings) -> int:
    """Begin all rounds that are due. Returns how many."""
    begun = 0
    while True:
        with db.transaction(engine) as tx:
            due = rows.lend_round(tx, lease_s=LEASE_S)
        if due is None:
            return begun
        woken = crawls.go_round(engine, due.name, settings)
        with db.transaction(engine) as tx:
            rows.begun(tx, due)
        begun += 1
        _log.info("rounds.begun", crawl=due.name, hosts=woken)
