"""The janitors, named by their act; beat sends each at its interval."""

from collections.abc import Callable

import structlog

from app.beat import finish as finish_crawls
from app.beat import promote as promote_urls
from app.beat import rotate_logs as retain_logs
from app.beat import sweep as sweep_up
from app.beat import trim as trim_crawls
from app.celery import app
from app.config import current
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


@app.task(name="tiptoe.trim")
def trim() -> None:
    """Crawls are kept at their caps."""
    _quietly("trim", lambda: trim_crawls.trim(process.engine(), current()))


@app.task(name="tiptoe.retain")
def retain() -> None:
    """Partitions of the logs made ahead, old ones dropped."""
    _quietly("retain", lambda: retain_logs.retain(process.engine(), current()))


def _quietly(what: str, act: Callable[[], object]) -> None:
    """Postgres away is one log line; the next interval tries again."""
    try:
        act()
    except ServiceError as error:
        _log.error(f"{what}.failed", error=str(error))
