"""The janitors, named by their act; beat sends each at its interval, and runs `near` itself (`app.celery`).

They send no task events: several a second would hide the visits in Flower.
"""

from collections.abc import Callable

import structlog

from app import plugins
from app.admin import crawls
from app.beat import finish as finish_crawls
from app.beat import measure as measure_crawls
from app.beat import promote as promote_urls
from app.beat import reprice as reprice_recrawls
from app.beat import reread_pages as stored_pages
from app.beat import rotate_logs as retain_logs
from app.beat import sweep as sweep_up
from app.beat import trim as trim_crawls
from app.celery import app
from app.config import current
from app.errors import ServiceError
from app.features.near import find as near_duplicates
from app.features.search import find as index
from app.hooks import Janitor
from app.single import Single
from workers import process

_log = structlog.get_logger()


@Single
def _janitor() -> stored_pages.RereadJanitor:
    return stored_pages.RereadJanitor(process.engine(), current())


@app.task(name="tiptoe.promote", send_events=False)
def promote() -> None:
    """Queue due retries and recrawls."""
    _quietly("promote", lambda: promote_urls.promote(process.engine()))


@app.task(name="tiptoe.finish", send_events=False)
def finish() -> None:
    """End crawls with nothing left, and crawls at a budget."""
    _quietly("finish", lambda: finish_crawls.finish(process.engine()))


@app.task(name="tiptoe.sweep", send_events=False)
def sweep() -> None:
    """Repair the traces of a crash between two commits."""
    _quietly("sweep", lambda: sweep_up.sweep(process.engine()))


@app.task(name="tiptoe.trim", send_events=False)
def trim() -> None:
    """Keep crawls at their caps."""
    _quietly("trim", lambda: trim_crawls.trim(process.engine(), current()))


@app.task(name="tiptoe.reprice", send_events=False)
def reprice() -> None:
    """Find the price of a recrawl in crawls with a budget for them."""
    _quietly("reprice", lambda: reprice_recrawls.reprice(process.engine(), current()))


@app.task(name="tiptoe.retain", send_events=False)
def retain() -> None:
    """Make partitions of the logs ahead, and drop old ones."""
    _quietly("retain", lambda: retain_logs.retain(process.engine(), current()))


@app.task(name="tiptoe.rounds", send_events=False)
def begin_rounds() -> None:
    """Begin rounds of crawls that have one every so often."""
    _quietly("rounds", lambda: crawls.begin(process.engine(), current()))


@app.task(name="tiptoe.index", send_events=False)
def index_pages() -> None:
    """Index pages for search, of crawls that ask for it."""
    _quietly("index", lambda: index.index_pages(process.engine()))


@app.task(name="tiptoe.reread", send_events=False)
def reread() -> None:
    """Read stored pages again that an earlier release has read."""
    _quietly("reread", lambda: _janitor().run())


@app.task(name="tiptoe.help_near", send_events=False)
def help_near() -> None:
    """Compare pages beside beat, while it is behind."""
    _quietly("help_near", lambda: near_duplicates.help_find(process.engine()))


@app.task(name="tiptoe.near", send_events=False)
def find_near() -> None:
    """Compare pages whose text is new with the others of their crawl."""
    find = near_duplicates.find_near
    _quietly("near", lambda: find(process.engine(), within_s=near_duplicates.SHARE_S))


@app.task(name="tiptoe.measure", send_events=False)
def measure() -> None:
    """Write what each crawl's last minutes were like."""
    _quietly("measure", lambda: measure_crawls.measure(process.engine()))


def _serve(janitor: Janitor) -> None:
    """Make the task of a feature's janitor."""

    @app.task(name=f"tiptoe.{janitor.name}", send_events=False)
    def run() -> None:
        _quietly(janitor.name, lambda: janitor.act(process.engine(), current()))


for _janitor_of_feature in plugins.janitors():
    _serve(_janitor_of_feature)


def _quietly(what: str, act: Callable[[], object]) -> None:
    """Run a janitor; a Postgres that is away is one log line, and the next interval tries again."""
    try:
        act()
    except ServiceError as error:
        _log.error(f"{what}.failed", error=str(error))
