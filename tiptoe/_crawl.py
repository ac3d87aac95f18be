"""`tiptoe.crawl`: runs a crawl on this machine, and hands out its pages as they arrive."""

import atexit
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack
from weakref import WeakSet

from app.model.crawl import OPTIONS, CrawlOptions
from tiptoe import _session

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.admin.feed import PageFeed
    from app.admin.run import Prepared
    from app.config import Settings
    from app.features.extract.page import CrawledPage
    from app.local.background import BackgroundCrawl
    from app.model import CrawlChange, Url

_running: "WeakSet[Generator[CrawledPage]]" = WeakSet()


def crawl(
    *seeds: str,
    name: str | None = None,
    again: bool = False,
    contact: str | None = None,
    delay: float | None = None,
    allow_networks: Sequence[str] = (),
    home: str | Path | None = None,
    **options: Unpack[CrawlOptions],
) -> "Crawling":
    """A crawl from these URLs, politely. Iterate over it: it runs meanwhile, and each page comes once.

    The same call again goes on where it stopped: pages that were fetched before come first, without a request. Postgres
    and a broker are started if none are configured.

    name            of the crawl; by default the first seed's host. Without seeds: a crawl that there is
    again           another round: everything is fetched once more, with validators; pages of this round alone come
    contact         mail address or URL of whoever is responsible; needed for public sites
    delay           seconds between two requests to a host, unless it asks for more
    allow_networks  networks that are not public and may be crawled, such as 10.0.0.0/8
    home            folder for the database and logs; by default .tiptoe
    options         `CrawlOptions`: scope, max_pages and the others of `tiptoe crawl`

    Raises InputError for a seed or a setting that cannot work. Leaving the loop pauses the crawl.
    """
    _session.check_keywords("crawl", options, [*(crawl.__kwdefaults__ or ()), *CrawlOptions.__annotations__])
    settings = _session.settings_of(home, allow_networks, contact=contact, default_delay_s=delay)
    wish = _wish(options)
    urls = _read(settings, seeds, wish)
    return Crawling(name=_name(name, urls), settings=settings, wish=wish, seeds=urls, again=again)


@dataclass(frozen=True, kw_only=True)
class Crawling:
    """A crawl that runs while it is iterated over.   name: of the crawl, for `tiptoe.pages` and the commands"""

    name: str
    settings: "Settings" = field(repr=False)
    wish: "CrawlChange" = field(repr=False)
    seeds: "Sequence[Url]" = field(repr=False)
    again: bool = False

    def __iter__(self) -> "Iterator[CrawledPage]":
        pages = self._pages()
        _running.add(pages)
        return pages

    def run(self) -> int:
        """Run it to its end. Returns how many pages it has."""
        return sum(1 for _ in self)

    def _pages(self) -> "Generator[CrawledPage]":
        from app.admin.feed import open_feed
        from app.admin.run import Beginning
        from app.cli.database import check_broker
        from app.local.background import BackgroundCrawl, open_services, serving

        held = _session.hold(self.settings, may="UPGRADE")  # by its pages, too: what is kept has its answer read later
        with (
            open_services(self.settings, _session.tell) as (settings, services),
            serving(held.engine, settings, services, self.name, _session.tell),
        ):
            check_broker(services.broker_url)
            prepared = self._prepare(held.engine, settings)
            feed = open_feed(held.engine, settings, prepared.crawl, keeps=held)
            with ExitStack() as until_left:
                running = None
                if prepared.beginning is not Beginning.ENDED:
                    running = until_left.enter_context(BackgroundCrawl(settings, services, held.engine, prepared.crawl))
                if not self.again:
                    yield from feed.stored()
                if running is not None:
                    yield from _arriving(feed, running)

    def _prepare(self, engine: "Engine", settings: "Settings") -> "Prepared":
        """The crawl, created or resumed. Without seeds it has to be there, and its budgets stay."""
        from app.admin import operators
        from app.admin.crawls import find
        from app.admin.run import prepare
        from app.beat import sweep

        wish = self.wish
        if not self.seeds:
            known = find(engine, self.name).spec
            wish = wish.over({column: known.value(column) for column, option in OPTIONS.items() if option.lapses})
        sweep.end_leases_of_the_dead(engine)
        sweep.sweep(engine)
        asked = f"seeds={' '.join(seed.text for seed in self.seeds)}" if self.seeds else None
        with operators.noted(engine, operators.of_user("python", "crawl.run", self.name, asked)) as note:
            prepared = prepare(engine, settings, self.name, wish, self.seeds, again=self.again)
            note.outcome = f"{prepared.beginning}; it is {prepared.crawl.state}"
        for option, value in prepared.lifted.items():
            _session.tell(f"{option} {value} is lifted; to keep it: {option}={value}")
        return prepared


def _arriving(feed: "PageFeed", running: "BackgroundCrawl") -> "Generator[CrawledPage]":
    """Pages as they arrive, until the crawl has ended. While Postgres is away it waits, as the crawl does."""
    from app.cli.run import look_in_s
    from app.errors import ServiceError

    is_over = False
    while True:
        try:
            yield from feed.arrived()
        except ServiceError:
            if is_over:
                raise
        if is_over:
            return
        is_over = running.wait(look_in_s(feed.look_s))


def _wish(options: CrawlOptions) -> "CrawlChange":
    from app.admin.options import read
    from app.model import CrawlChange

    given: dict[str, Any] = {}
    for option in OPTIONS.values():
        value: Any = options.get(option.name)
        if value is not None:
            if option.kind == "list":
                _session.check_series(option.name, value)
            given[option.column] = read(option, value, called=option.name)
    return CrawlChange(**given)


def _read(settings: "Settings", seeds: Sequence[str], wish: "CrawlChange") -> "list[Url]":
    """The seeds, checked like the settings before anything is started. Raises InputError."""
    from app.admin.seeds import check, read
    from app.crawl.state.setup import make_credentials, make_signer
    from app.model import CrawlSpec
    from app.policy import crawl_spec, identity

    identity.check(settings.product_token, settings.contact)
    make_signer(settings)
    make_credentials(settings)
    crawl_spec.check(wish.of(CrawlSpec()))
    found = read(settings, seeds)
    for problem in check(settings, found) if seeds else ():
        _session.warn(problem)
    return found.urls


def _name(name: str | None, urls: "Sequence[Url]") -> str:
    """The crawl's name: as given, else the first seed's host. Raises InputError for neither."""
    from app.errors import InputError

    if name is None and not urls:
        raise InputError("tiptoe.crawl()", 'name a seed, such as "https://example.org/", or a crawl: name="docs"')
    return name or urls[0].host


@atexit.register
def _leave() -> None:
    """Leave loops that a script left open at its end: threads could not be waited for later."""
    for pages in list(_running):
        with suppress(ValueError):  # it runs in another thread
            pages.close()
