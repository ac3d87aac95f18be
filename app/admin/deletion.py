"""Deletes a crawl for good, with everything that belongs to it alone."""

import time
from collections.abc import Callable

from sqlalchemy import Connection, Engine

from app import plugins
from app.admin import crawls
from app.config import Settings
from app.errors import InputError, ServiceError
from app.features.archive import retention
from app.store import crawl_metrics, db, deletion
from app.store.crawls import Crawl
from app.words import counted

HOSTS_AT_ONCE = 1_000


def delete(engine: Engine, settings: Settings, name: str, *, patience_s: float | None = None) -> None:
    """End a crawl, and delete its URLs, pages, duplicates, sitemaps, refused links, counts, archive, plugins' rows.

    The log of requests stays.

    An interrupted deletion leaves it finished; the next one resumes where it stopped. Raises InputError, and
    ServiceError if a visit that may hold its URLs does not end within patience_s.   patience_s: None: the length of a
    lease and a visit, after which no visit can write.
    """
    crawl = crawls.find(engine, name)
    if crawl.state != "finished":
        crawls.finish(engine, name)
    _await_visits(engine, crawl, settings.lease_s + settings.visit_longest_s if patience_s is None else patience_s)
    with db.transaction(engine) as tx:
        last = deletion.last_host(tx)
    _repeat(engine, plugins.crawl_deleted, crawl.id)  # what waits for somebody, before its page goes
    for after in range(0, last + 1, HOSTS_AT_ONCE):
        with db.transaction(engine) as tx:
            plugins.hosts_deleted(tx, crawl.id, after=after, until=after + HOSTS_AT_ONCE)
            deletion.of_hosts(tx, crawl_id=crawl.id, after=after, until=after + HOSTS_AT_ONCE)
    for drop in (plugins.crawl_deleted, deletion.suppressions):
        _repeat(engine, drop, crawl.id)
    with db.transaction(engine) as tx:
        crawl_metrics.drop_crawl(tx, crawl.id)
    retention.delete_crawl(engine, settings, crawl.id)
    with db.transaction(engine) as tx:
        if not deletion.crawl(tx, crawl.id):
            raise InputError(f"crawl {name}", "was started again meanwhile; finish it, then delete it again")


def _repeat(engine: Engine, drop: Callable[[Connection, int], int], crawl_id: int) -> None:
    """Delete lot after lot, each in a transaction of its own: there may be more than memory holds."""
    left = True
    while left:
        with db.transaction(engine) as tx:
            left = drop(tx, crawl_id) > 0


def _await_visits(engine: Engine, crawl: Crawl, within_s: float) -> None:
    until = time.monotonic() + within_s
    while True:
        with db.transaction(engine) as tx:
            running = deletion.visits(tx, crawl.id)
        if not running:
            return
        if time.monotonic() > until:
            visits = counted(running, "visit is", "visits are")
            raise ServiceError(f"crawl {crawl.name}", f"{visits} still at its hosts; try again in a minute")
        time.sleep(0.25)
