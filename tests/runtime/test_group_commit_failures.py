"""Settles of several hosts that fail: nothing is lost, nothing is written twice."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import pytest

from app.beat import claim
from app.crawl.frontier import admit
from app.crawl.page.later import read_all
from app.crawl.state.visit import Visit
from app.crawl.visit import settle
from app.crawl.visit.visit import settle_alone, take_up
from app.errors import ServiceError, Unwritable
from app.model import Budgets, Refusal, RequestKind, Url, VisitEnding
from app.policy.candidate import in_front
from app.store import hosts, suppressions, urls
from app.store.host_rows import Offer
from tests.crawl.loop import start
from tests.crawl.web import Web
from tests.runtime.gatherings import Basket, Make, gathered, gathering, site_of, states
from tests.store.rows import make_host, one

ROUNDS, LINKS = 10, 150


@pytest.fixture
def basket() -> Basket:
    return Basket()


@pytest.mark.parametrize("query", ["extend_visits", "lock_all_leased"])
def test_where_postgres_was_away_nothing_is_changed_and_each_may_be_settled_alone(
    make: Make, web: Web, basket: Basket, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    worker = gathering(make, basket)
    sites = [site_of(web, 9) for _ in range(2)]
    start(worker, *(site.url() for site in sites), budgets=Budgets(max_pages=7))
    visits = gathered(worker, basket, 2)
    for visit in visits:
        read_all(visit.batch)
    before = [_undone(visit) for visit in visits]

    def away(*_: Any, **__: Any) -> None:
        raise ServiceError("Postgres", "is away")

    with monkeypatch.context() as patch:
        patch.setattr(hosts, query, away)
        with pytest.raises(ServiceError):
            basket.settle()
    assert [_undone(visit) for visit in visits] == before
    assert [states(worker.engine, site).count("queued") for site in sites] == [8, 8]
    assert [settle_alone(visit).ending for visit in visits] == [VisitEnding.PARKED] * 2
    assert [states(worker.engine, site).count("queued") for site in sites] == [7, 7]
    for _ in range(20):
        basket.shelf.go_on()
        basket.settle()
    assert sum(len(site.pages_asked) for site in sites) == 7, "a grant that was rolled back is none"
    assert one(worker.engine, "SELECT pages_reserved FROM crawls") == 7
    assert one(worker.engine, "SELECT count(*) FROM fetches WHERE NOT fenced") == 7 + 2


def test_one_that_cannot_be_written_is_its_own_affair(
    make: Make, web: Web, basket: Basket, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = gathering(make, basket)
    sites = [site_of(web, 4) for _ in range(2)]
    start(worker, *(site.url() for site in sites))
    well, ill = gathered(worker, basket, 2)
    record = urls.record

    def fail(tx: Any, rows: Any) -> None:
        if any(row["host_id"] == ill.host_id for row in rows):
            raise ValueError("a bug")
        record(tx, rows)

    monkeypatch.setattr(urls, "record", fail)
    with pytest.raises(Unwritable, match="a bug"):
        basket.settle()
    assert settle_alone(well).ending == VisitEnding.PARKED
    with pytest.raises(Unwritable, match="a bug"):
        settle_alone(ill)
    by_host = {site.host: states(worker.engine, site).count("queued") for site in sites}
    assert by_host == {well.lease.host: 2, ill.lease.host: 3}


def test_what_was_committed_is_not_settled_again(
    make: Make, web: Web, basket: Basket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Postgres goes away when other hosts are to be woken; one visit goes on, the other has left."""
    worker = gathering(make, basket)
    other = web.site()
    goes_on, ends = site_of(web, 4, other.url()), site_of(web, 2)
    start(worker, goes_on.url(), ends.url(), scope="any")
    visits = gathered(worker, basket, 2)

    def away(*_: Any, **__: Any) -> None:
        raise ServiceError("Postgres", "is away")

    with monkeypatch.context() as patch:
        patch.setattr(hosts, "wake", away)
        with pytest.raises(ServiceError):
            basket.settle()
    found = {visit.lease.host: settle_alone(visit).ending for visit in visits}
    assert found == {goes_on.host: VisitEnding.PARKED, ends.host: "nothing due"}
    assert one(worker.engine, "SELECT count(*) FROM fetches") == 6


@pytest.mark.parametrize(("room", "write"), [(urls, "admit"), (suppressions, "note")])
def test_settles_of_the_same_links_do_not_lock_each_other_out(
    make: Make, web: Web, monkeypatch: pytest.MonkeyPatch, room: ModuleType, write: str
) -> None:
    """Two workers write at once what leads to the same new URLs, or is refused alike, for four hosts each, in any
    order."""
    worker = make()
    crawl = start(worker, *(site_of(web, 1).url() for _ in range(8)), scope="any")
    for number in range(3):
        make_host(worker.engine, f"h{number}.test")  # new, the later settle would wait for it before it wrote anything
    offers: list[Offer] = []
    claim.dispatch(worker.engine, worker.settings, offers.extend, worker.rng)
    visits = [visit for offer in offers if (visit := take_up(worker, offer.host_id, offer.token)) is not None]
    act, at_once = getattr(room, write), threading.Barrier(2)

    def both_at_once(tx: Any, rows: Any) -> Any:
        at_once.wait(30)
        return act(tx, rows)

    monkeypatch.setattr(room, write, both_at_once)

    def settle_all(own: list[Visit], seed: int) -> None:
        rng = random.Random(seed)
        for number in range(ROUNDS):
            for visit in own:
                _find(visit, crawl.id, f"http://h{{}}.test/{write}/{number}/", rng)
            settle.together(own)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(settle_all, (visits[::2], visits[1::2]), (1, 2)))
    found = "urls WHERE url LIKE" if room is urls else "suppressions WHERE url LIKE"
    assert one(worker.engine, f"SELECT count(*) FROM {found} '%/{write}/%'") == ROUNDS * LINKS


def _undone(visit: Visit) -> object:
    """What a settle that failed leaves as it was."""
    picked = visit.picked
    return picked.unfetched, picked.unfetched_on_row, dict(picked.granted), visit.rest.until


def _find(visit: Visit, crawl_id: int, prefix: str, rng: random.Random) -> None:
    """Links of a round, in an order of this visit's own."""
    visit.worker.caches.known.forget_all()
    texts = [prefix.format(number % 3) + str(number) for number in range(LINKS)]
    rng.shuffle(texts)
    for text in texts:
        url = visit.worker.canon.canonicalise(text)
        assert isinstance(url, Url)
        if "/note/" in text:
            admit.suppress(visit.worker.caches.known, visit.batch, crawl_id, url, Refusal.NOFOLLOW, found_on=None)
        else:
            visit.batch.found.admissions.append(in_front(crawl_id, url, RequestKind.PAGE))
