"""A crawl ends by itself: when no URL of it is in an open state, or at a budget."""

import structlog
from sqlalchemy import Engine

from app.store import crawls, db

_log = structlog.get_logger()


def finish(engine: Engine) -> list[str]:
    """Names of the crawls that have just ended."""
    with db.transaction(engine) as tx:
        ended = crawls.finish_done(tx) + crawls.finish_spent(tx)
    for name in ended:
        _log.info("crawl.finished", crawl=name)
    return ended
