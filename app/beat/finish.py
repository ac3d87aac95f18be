"""Finish: ends crawls without a URL in an open state, and crawls at a budget.

Each crawl is judged in a transaction of its own that locks its row and nothing else. What ended is measured at once: a
crawl of a few minutes has no other row in its metrics.
"""

from functools import partial

import structlog
from sqlalchemy import Engine

from app.beat.measure import measure
from app.store import crawls, db

_log = structlog.get_logger()


def finish(engine: Engine) -> list[str]:
    """End crawls; returns their names. Grants of pages that visits lost are freed first."""
    with db.transaction(engine) as tx:
        done = crawls.finish_candidates(tx)
    ended = [db.repeat(partial(_finish_done, engine, crawl_id)) for crawl_id in done]
    with db.transaction(engine) as tx:
        crawls.fence_lapsed(tx)
    with db.transaction(engine) as tx:
        spent = crawls.spent_candidates(tx)
    for crawl_id in spent:
        db.repeat(partial(recount, engine, crawl_id))
        ended.append(db.repeat(partial(_finish_spent, engine, crawl_id)))
    names = [name for name in ended if name is not None]
    for name in names:
        _log.info("crawl.finished", crawl=name)
    if names:
        measure(engine)
    return names


def recount(engine: Engine, crawl_id: int) -> None:
    """Free lost grants of pages, if the budget seems spent and no visit can hold one."""
    with db.transaction(engine) as tx:
        crawls.lock(tx, crawl_id)
        crawls.recount_reserved(tx, crawl_id)


def _finish_done(engine: Engine, crawl_id: int) -> str | None:
    with db.transaction(engine) as tx:
        crawls.lock(tx, crawl_id)
        return crawls.finish_done(tx, crawl_id)


def _finish_spent(engine: Engine, crawl_id: int) -> str | None:
    with db.transaction(engine) as tx:
        crawls.lock(tx, crawl_id)
        return crawls.finish_spent(tx, crawl_id)
