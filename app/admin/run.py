"""Prepares the crawl that `tiptoe crawl` runs: creates it, or resumes it where it stopped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from sqlalchemy import Engine

from app.admin import rendering
from app.admin.crawls import find, go_round, start
from app.admin.edit import open_crawl
from app.admin.seeds import add_urls
from app.browser.values import Chromium
from app.config import Settings
from app.model import CrawlChange, CrawlEnding, CrawlSpec, Url
from app.model.crawl import OPTIONS
from app.store import crawls, db, renders, urls
from app.store.crawls import Crawl


class Beginning(StrEnum):
    """The way in which a run begins."""

    NEW = "new"  # the crawl was made
    ROUND = "round"  # in a new round: everything is due again
    RESUMED = "resumed"  # where it stopped
    ENDED = "ended"  # there is nothing to run for


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A crawl, and how its run begins.   lifted: budgets and freshness that it had until then"""

    crawl: Crawl
    beginning: Beginning
    lifted: Mapping[str, float] = field(default_factory=dict)


def prepare(
    engine: Engine, settings: Settings, name: str, wish: CrawlChange, seeds: Sequence[Url], *, again: bool = False
) -> Prepared:
    """Open the crawl, add the seeds, and make it active if there is work.   again: in a new round

    Budgets and freshness are replaced: those that are not given are removed. The rest stays as it was unless given.
    Raises InputError: it has another scope or other patterns, or the specification cannot work.
    """
    with db.transaction(engine) as tx:
        before = crawls.by_name(tx, name)
    lifted = {} if before is None else _lifted(before.spec, wish)
    wish = wish.over({option.column: option.default for option in OPTIONS.values() if option.lapses})
    crawl = open_crawl(engine, settings, name, wish)
    add_urls(engine, settings, crawl, seeds)
    if before is None:
        beginning = Beginning.NEW
    elif again:
        go_round(engine, name, settings)
        beginning = Beginning.ROUND
    else:
        beginning = _resume(engine, settings, before)
    return Prepared(crawl=find(engine, name), beginning=beginning, lifted=lifted)


def _lifted(before: CrawlSpec, wish: CrawlChange) -> dict[str, float]:
    """The budgets and freshness that a crawl had, and loses as the wish does not name them."""
    had = {option.column: before.value(option.column) for option in OPTIONS.values() if option.lapses}
    return {
        column: value for column, value in had.items() if value != OPTIONS[column].default and column not in wish.given
    }


def _resume(engine: Engine, settings: Settings, before: Crawl) -> Beginning:
    """Resume a crawl. One that had fetched everything resumes only if new seeds made it active, if a URL was queued
    again, or where pages wait for a browser and there is one.   before: as it was
    """
    opens = _opens_pages(engine, settings, before)
    with db.transaction(engine) as tx:
        is_queued = bool(urls.queued_some(tx, crawl_id=before.id, most=1))
    if before.ended_because is CrawlEnding.DONE and not (opens or is_queued):
        now = find(engine, before.name)
    else:
        now = start(engine, before.name, may_end=True)
    return Beginning.ENDED if now.state == "finished" else Beginning.RESUMED


def _opens_pages(engine: Engine, settings: Settings, crawl: Crawl) -> bool:
    """Whether pages wait for a browser, and there is one here.

    Then a worker that renders is said to be coming, so that the crawl does not end before it is up; else why none is.
    """
    with db.transaction(engine) as tx:
        if not renders.due_of_crawl(tx, crawl.id):
            return False
    found = rendering.here(settings)
    with db.transaction(engine) as tx:
        rendering.announce(tx, found)
    return isinstance(found, Chromium)
