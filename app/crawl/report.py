"""What is going on (`status`) and what a crawl came to (`report`). Reads only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from app.config import Settings
from app.crawl.seed import find
from app.store import caps, crawls, db, fetches, hosts, pages, sitemaps, suppressions, urls, visits
from app.store.crawls import Crawl, Totals

Row = Mapping[str, Any]
MOST_HOSTS = 20
MOST_CAUSES = 10
MOST_SITEMAPS = 20
LATEST_VISITS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """crawls: totals of each.   waiting: because, hosts, earliest.   queues: those with offers outstanding."""

    crawls: list[Totals]
    waiting: Sequence[Row]
    offers: dict[str, int]
    visits: Sequence[Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One crawl. urls: by state.   outcomes, reasons, causes, hosts: most frequent first.   duplicates: by kind.

    sitemaps: the largest, what was wrong with them, and how often their lastmod was put to the test and told the truth
    full_hosts: hosts of it at the cap per host, the fullest first
    """

    crawl: Crawl
    totals: Totals
    urls: dict[str, int]
    outcomes: Sequence[Row]
    reasons: Sequence[Row]
    causes: Sequence[Row]
    duplicates: dict[str, int]
    sitemaps: Sequence[Row]
    hosts: Sequence[Row]
    full_hosts: list[str]


def status(engine: Engine) -> Status:
    """Soft and quick: no count of every URL."""
    with db.transaction(engine) as tx:
        return Status(
            crawls=[crawls.totals(tx, crawl.id) for crawl in crawls.every(tx)],
            waiting=hosts.waits(tx),
            offers=hosts.offers_outstanding(tx),
            visits=visits.latest(tx, LATEST_VISITS),
        )


def of(engine: Engine, name: str) -> Totals:
    """Of one crawl. Raises InputError."""
    crawl = find(engine, name)
    with db.transaction(engine) as tx:
        return crawls.totals(tx, crawl.id)


def totals(engine: Engine) -> list[Totals]:
    """Of every crawl, the oldest first."""
    with db.transaction(engine) as tx:
        return [crawls.totals(tx, crawl.id) for crawl in crawls.every(tx)]


def report(engine: Engine, name: str, settings: Settings | None = None) -> Report:
    """Exact: counts every URL and reads the fetch log; seconds at millions. Raises InputError for an unknown crawl.

    settings: for the cap per host; None: no host is said to be at it.
    """
    crawl = find(engine, name)
    cap = settings.frontier_max_per_host if settings else None
    with db.transaction(engine) as tx:
        return Report(
            crawl=crawl,
            totals=crawls.totals(tx, crawl.id),
            urls=urls.states(tx, crawl.id),
            outcomes=fetches.outcomes(tx, crawl.id),
            reasons=suppressions.reasons(tx, crawl.id),
            causes=urls.causes(tx, crawl_id=crawl.id, n=MOST_CAUSES),
            duplicates=pages.duplicate_kinds(tx, crawl.id),
            sitemaps=sitemaps.of_crawl(tx, crawl_id=crawl.id, n=MOST_SITEMAPS),
            hosts=crawls.hosts_of(tx, crawl.id, MOST_HOSTS),
            full_hosts=[] if cap is None else caps.full_hosts_of(tx, crawl.id, cap=cap, n=MOST_HOSTS),
        )
