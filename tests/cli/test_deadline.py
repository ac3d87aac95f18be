"""A command that compares ends at its deadline, in Postgres and in its own process."""

import re
import signal
from itertools import count

import pytest
from sqlalchemy import text

from app.cli.database import answered_within
from app.errors import TookTooLong
from app.store import db

SAID = re.escape("tiptoe page diff: took longer than 0.2 s, and was stopped; name two captures")


def test_its_sql_ends_and_its_session_serves_on(database_url: str) -> None:
    engine = db.connect(database_url, pool_size=1)

    def wait_for_ever() -> None:
        with db.transaction(engine) as tx:
            tx.execute(text("SELECT pg_sleep(3600)"))

    with answered_within(0.2, "tiptoe page diff", "name two captures"), pytest.raises(TookTooLong, match=f"^{SAID}$"):
        wait_for_ever()
    with db.transaction(engine) as tx:
        assert tx.execute(text("SELECT 1")).scalar_one() == 1
    engine.dispose()


def test_its_own_work_ends_and_nothing_is_stopped_later() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with answered_within(0.2, "tiptoe page diff", "name two captures"), pytest.raises(TookTooLong, match=f"^{SAID}$"):
        for _ in count():
            pass
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
