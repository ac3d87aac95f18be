"""Visits one host by hand, for a command: under the same lease, robots.txt and pace as any other visit.

`fetch` has one page fetched and kept, in the crawl `CRAWL`; `take_up_now` is for a request of one's own.
"""

import time
from dataclasses import replace
from shlex import quote
from typing import Final

from sqlalchemy import Engine

from app.admin import crawls, explain, seeds
from app.admin.waiting import Row, host_waits_for, last_ending, resting_words, url_waits_for, when
from app.beat.finish import finish
from app.config import Settings
from app.crawl.state.setup import make_sender, make_worker
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import take_up, visit
from app.errors import InputError, LeaseLost
from app.features.archive.keep import ARCHIVE
from app.features.archive.part import make_keeper
from app.model import Budgets, CrawlSpec, Reply, Request, Unsent, Url
from app.policy.lifecycle import UrlState, VisitEvent
from app.runtime.process_name import process_name
from app.store import crawls as crawls_store
from app.store import db, hosts, urls
from app.store.host_rows import host_rows

CRAWL: Final = "single-pages"
WAIT_S: Final = 60.0
_SPEC: Final = CrawlSpec(sitemaps="none", near_duplicates=False, budgets=Budgets(max_depth=0))


def fetch(engine: Engine, settings: Settings, text: str) -> str:
    """Fetch one page now, and keep it in the crawl `CRAWL`, which is made if need be. Returns the page's URL.

    It waits at most WAIT_S for the host's turn. Raises InputError for a URL that may not be fetched, or is no page.
    """
    if not settings.keep_text:
        raise InputError(f"url {text}", "would not be kept: TIPTOE_ARCHIVE is off; let it keep pages")
    found = seeds.read(settings, [text])
    seeds.check(settings, found)
    (url,) = found.urls
    with db.transaction(engine) as tx:
        is_new = crawls_store.by_name(tx, CRAWL) is None
    crawl = crawls.create(engine, CRAWL, _SPEC) if is_new else crawls.find(engine, CRAWL)
    if seeds.add_urls(engine, settings, crawl, [url]).known:
        explain.retry(engine, settings, url.text, CRAWL)
    crawls.start(engine, CRAWL, may_end=True)
    try:
        _visit_for(engine, settings, url)
    finally:
        finish(engine)
    row = _row(engine, url)
    if row["state"] == UrlState.RESTING and not row["retrying"] and row["outcome"] in {"page", "unchanged"}:
        return url.text
    if row["alias_of"]:
        raise InputError(
            f"url {url.text}", f"is at another address; to get it: tiptoe page get {quote(row['alias_of'])}"
        )
    waits = url_waits_for(row, crawls.find(engine, CRAWL), _host(engine, url))
    ended = [f"its last fetch: {ending}"] if (ending := last_ending(row)) else []
    raise InputError(f"url {url.text}", "; ".join(["was not fetched as a page", *ended, f"it waits for {waits[0]}"]))


def _visit_for(engine: Engine, settings: Settings, url: Url) -> None:
    """Visit the URL's host until the URL was requested, or its wait is over.

    A visit fetches what is due at the host, of other crawls too; it leaves after the request for this URL.
    """
    sender, until = make_sender(settings), time.monotonic() + WAIT_S
    keeper = make_keeper(settings, engine=engine, worker=process_name())
    worker = make_worker(settings, engine=engine, send=sender.send, where=sender.where, name=process_name())

    def send(request: Request) -> Reply | Unsent:
        if request.url == url.text:
            worker.stopping.set()
        return sender.send(request)

    worker = replace(worker, send=send, resources={} if keeper is None else {ARCHIVE: keeper})
    try:
        while (row := _row(engine, url))["state"] == UrlState.QUEUED and time.monotonic() < until:
            worker.stopping.clear()
            with db.transaction(engine) as tx:
                offer = hosts.offer_now(tx, name=url.host, offer_s=settings.offer_s, isolate=settings.settle_urls)
            if offer is None:
                time.sleep(0.1)
            else:
                visit(worker, offer.host_id, offer.token)
        if row["state"] == UrlState.QUEUED:
            raise InputError(
                f"host {url.host}", f"may not be contacted now; it waits for {_why_not(_host(engine, url))}"
            )
    finally:
        sender.close()
        if keeper is not None:
            keeper.close()


def _row(engine: Engine, url: Url) -> Row:
    with db.transaction(engine) as tx:
        host_id = hosts.ids(tx, [url.host])[url.host]
        return next(row for row in urls.find(tx, host_id=host_id, key=url.key) if row["crawl"] == CRAWL)


def _host(engine: Engine, url: Url) -> Row:
    with db.transaction(engine) as tx:
        host = hosts.show(tx, url.host)
    assert host is not None
    return host


def take_up_now(worker: Worker, url: Url) -> Visit:
    """Take up a visit to the URL's host. Raises InputError with the time until which it may not be contacted."""
    settings = worker.settings
    with db.transaction(worker.engine) as tx:
        hosts.ensure(tx, rows=host_rows([url.host], settings.queues), delay_s=settings.default_delay_s)
    with db.transaction(worker.engine) as tx:
        offer = hosts.offer_now(tx, name=url.host, offer_s=settings.offer_s, isolate=settings.settle_urls)
        host = hosts.show(tx, url.host)
        assert host is not None
        if offer is None:
            raise InputError(f"host {url.host}", f"may not be contacted now; it waits for {_why_not(host)}")
    visit = take_up(worker, offer.host_id, offer.token)
    if visit is None:
        raise LeaseLost(f"host {url.host}: a worker took it first; try again")
    visit.move(VisitEvent.SERVED)
    return visit


def not_now(visit: Visit, url: Url) -> InputError:
    """The error of a visit that could not send its request."""
    waits_for = _rest_or_delay(visit.rest.why.words if visit.rest.why is not None else None, visit.pace.delay_s)
    return InputError(f"host {url.host}", f"may not be contacted now; it waits for {waits_for}")


def _why_not(host: Row) -> str:
    until = max(host["polite_at"], host["blocked_until"] or host["polite_at"])
    if host["state"] == "idle" and until > host["now"]:
        return f"{_rest_or_delay(resting_words(host), host['delay_s'])}, {when(until, host['now'])}"
    return host_waits_for(host)


def _rest_or_delay(rest: str | None, delay_s: float) -> str:
    return f"its rest to end ({rest})" if rest else f"its delay of {delay_s:g} s to pass"
