"""The janitors, named by their act; beat sends each at its interval."""

from collections.abc import Callable

import structlog

from app.celery import app
from app.crawl import finish as finish_crawls
from app.crawl import promote as promote_urls
from app.crawl import sweep as sweep_up
from app.errors import ServiceError
from workers import process

_log = structlog.get_logger()


@app.task(name="tiptoe.promote")
def promote() -> None:
    """Due retries and recrawls become queued."""
    _quietly("promote", lambda: promote_urls.promote(process.engine()))


@app.task(name="tiptoe.finish")
def finish() -> None:
    """Crawls with nothing left, or at a budget, end."""
    _quietly("finish", lambda: finish_crawls.finish(process.engine()))


@app.task(name="tiptoe.sweep")
def sweep() -> None:
    """What a crash between two commits left behind."""
    _quietly("sweep", lambda: sweep_up.sweep(process.engine()))


def _quietly(what: str, act: Callable[[], object]) -> None:
    """Postgres away is one log line; the next interval tries again."""
    try:
        act()
    except ServiceError as error:
        _log.error(f"{what}.failed", error=str(error))
