"""Pages of a large budget are drawn in lots, none is granted twice, and what is unused comes back."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from app.beat.finish import finish
from app.crawl.state.lots import HELD_SHARE, LOT_LEAST, LOT_MOST, LOT_SHARE, MARGIN_S, Grants
from app.crawl.state.worker import Worker
from app.crawl.visit import settle
from app.crawl.visit.visit import take_up
from app.model import Budgets, VisitEnding
from app.store import crawls, db
from tests.crawl.loop import go, run, start
from tests.crawl.web import Site, Web, html
from tests.store.rows import Aside, claim, make_crawl, make_due_host, one, sql

Make = Callable[..., Worker]
LEASE_S = 60.0
HELD_S = LEASE_S * HELD_SHARE
LARGE = LOT_SHARE * 200


def reserved(engine: Engine) -> int:
    return int(one(engine, "SELECT pages_reserved FROM crawls WHERE id = 1"))


def after(engine: Engine, seconds: float) -> None:
    """As if so much time had passed since the last grant."""
    sql(engine, "UPDATE crawls SET pages_held_until = pages_held_until - make_interval(secs => :s)", s=seconds)


@pytest.fixture
def grants(engine: Engine) -> Grants:
    """Of a crawl with a large budget, after a visit found nothing there, and a lot was drawn at second 0."""
    make_crawl(engine, max_pages=LARGE)
    made = Grants()
    assert made.take(1, 30, 0.0) == 0
    made.top_up(engine, 0.0, LEASE_S)
    return made


def test_a_lot_is_handed_out_without_the_database(engine: Engine, grants: Grants) -> None:
    assert reserved(engine) == 200
    assert [grants.take(1, 60, 1.0) for _ in range(4)] == [60, 60, 60, 20]
    assert grants.take(2, 1, 1.0) == 0, "of another crawl"
    assert reserved(engine) == 200
    grants.top_up(engine, 2.0, LEASE_S)
    assert reserved(engine) == 200 + (LARGE - 200) // LOT_SHARE


@pytest.mark.parametrize(
    ("left", "lot"),
    [
        (60, 0),  # over five hosts, say
        (LOT_SHARE * LOT_LEAST - 1, 0),
        (LOT_SHARE * LOT_LEAST, LOT_LEAST),
        (LOT_SHARE * LOT_MOST * 9, LOT_MOST),
    ],
)
def test_how_much_is_drawn_depends_on_what_is_left(engine: Engine, left: int, lot: int) -> None:
    make_crawl(engine, max_pages=left + 7, pages_reserved=7)
    grants = Grants()
    grants.take(1, 1, 0.0)
    grants.top_up(engine, 0.0, LEASE_S)
    assert reserved(engine) == 7 + lot
    assert grants.is_open(1, 0.0) == (lot > 0)


def test_what_nobody_takes_is_returned(engine: Engine, grants: Grants) -> None:
    assert grants.take(1, 50, 1.0) == 50
    grants.top_up(engine, HELD_S / 2, LEASE_S)
    assert reserved(engine) == 200
    grants.top_up(engine, HELD_S / 2 + 2, LEASE_S)
    assert reserved(engine) == 50
    assert grants.take(1, 1, HELD_S / 2 + 2) == 0


def test_a_lot_that_may_have_been_counted_free_is_neither_used_nor_returned(engine: Engine, grants: Grants) -> None:
    grants.put(1, 5, HELD_S - 1)
    ended = HELD_S - MARGIN_S + 0.001
    assert grants.take(1, 1, ended) == 0
    assert not grants.is_open(1, ended)
    grants.top_up(engine, ended, LEASE_S)
    assert reserved(engine) >= 200, "it drew another one"
    with db.transaction(engine) as tx:
        until = one(engine, "SELECT clock_timestamp() - interval '1 ms'")
        before = reserved(engine)
        crawls.return_lot(tx, crawl_id=1, n=9, held_until=until)
    assert reserved(engine) == before


def test_lots_that_a_crash_lost_are_free_when_they_have_ended(engine: Engine, grants: Grants) -> None:
    sql(
        engine,
        "INSERT INTO urls (host_id, crawl_id, key, url, state, lane, score, depth) VALUES (1, 1, '', 'u', "
        "'queued', 0, 1, 0)",
    )
    with db.transaction(engine) as tx:
        assert crawls.reserve(tx, crawl_id=1, n=LARGE) == LARGE - 200
    finish(engine)
    assert reserved(engine) == LARGE
    after(engine, HELD_S + 1)
    finish(engine)
    assert reserved(engine) == 0


def test_threads_are_granted_what_there_is_and_no_more(engine: Engine) -> None:
    make_crawl(engine, max_pages=LARGE)
    grants = Grants()

    def work() -> int:
        got = 0
        for _ in range(200):
            grants.top_up(engine, 0.0, LEASE_S)
            found = grants.take(1, 12, 0.0)
            if found < 12:
                with db.transaction(engine) as tx:
                    found += crawls.reserve(tx, crawl_id=1, n=12 - found)
            got += found
        return got

    got = sum(each.outcome() for each in [Aside(work) for _ in range(8)])
    left = grants.take(1, LARGE, 0.0)
    assert got + left == reserved(engine)
    assert got == min(8 * 200 * 12, LARGE - left)


# --- visits -----------------------------------------------------------------------------------------------------


def site_of(web: Web, pages: int) -> Site:
    site = web.site()
    for number in range(pages):
        site.pages["/" if number == 0 else f"/{number}"] = html(f"/{number + 1}", text=f"Page {number} of {site.host}.")
    return site


def test_a_visit_takes_from_the_lot_and_gives_back_to_it(make: Make, web: Web) -> None:
    """The second settle and all after it need the crawl's row no more; the end of the visit neither."""
    worker = make(settle_urls=1)
    start(worker, site_of(web, 4).url(), budgets=Budgets(max_pages=LARGE))
    run(worker)
    assert one(worker.engine, "SELECT sum(pages) FROM crawl_hosts") == 4
    lot = (LARGE - 1) // LOT_SHARE
    assert reserved(worker.engine) == 1 + lot, "the first by itself, then one lot"
    assert worker.caches.grants.take(1, 1_000, worker.monotonic()) == lot - 3


def test_a_small_budget_is_shared_by_all_hosts(make: Make, web: Web) -> None:
    """Five visits at once: nobody holds pages back, so none finds nothing."""
    worker = make(settle_urls=2)
    start(worker, *(site_of(web, 40).url() for _ in range(5)), budgets=Budgets(max_pages=60))
    run(worker, threads=5)
    got = [row["pages"] for row in sql(worker.engine, "SELECT pages FROM crawl_hosts")]
    assert got == [12] * 5
    assert reserved(worker.engine) == 60


def test_what_a_host_has_no_use_for_is_for_the_others(make: Make, web: Web) -> None:
    worker = make()
    start(worker, *(site_of(web, pages).url() for pages in (2, 40, 5, 40)), budgets=Budgets(max_pages=41))
    run(worker, threads=4)
    got = sorted(row["pages"] for row in sql(worker.engine, "SELECT pages FROM crawl_hosts"))
    assert got == [2, 5, 17, 17]


def test_a_host_whose_share_is_used_up_says_so(make: Make, web: Web) -> None:
    worker = make()
    start(worker, site_of(web, 2).url(), budgets=Budgets(max_pages=5))
    sql(worker.engine, "UPDATE crawls SET pages_reserved = 5, pages_held_until = clock_timestamp() + interval '1 hour'")
    go(worker)
    (host,) = sql(worker.engine, "SELECT resting_because, resting_detail FROM hosts")
    assert list(host.values()) == ["page budget", "its share of max_pages is used up, or held by other visits"]


SMALL = 60


@pytest.mark.parametrize(
    ("others", "n", "held", "granted"),
    [
        ([{}], 50, 0, 30),  # of two alike each gets half
        ([{}], 50, 10, 20),  # counting what it holds
        ([{}, {}], 7, 0, 7),
        ([{"pages": 20}], 50, 0, 30),  # and what the other has had
        ([{"delay_s": 5.0}], 60, 0, 58),  # two pages are all that it can use in ten seconds
        ([{"delay_s": 60.0}, {"delay_s": 60.0}], 60, 0, 58),
        ([{"failures": 1}], 60, 0, 60),
        ([{"blocked_until": "now() + interval '1 hour'"}], 60, 0, 60),
        ([{"next_fetch_at": "now() + interval '1 hour'"}], 60, 0, 60),
        ([{"pause_requested": "true"}], 60, 0, 60),
        ([{"queued": False}], 60, 0, 60),  # it has nothing to fetch
        ([{"queued": False, "pages": 40}], 60, 0, 20),  # there is no more
        ([{}] * 40, 50, 0, 20),  # one for each, and what that leaves
        ([{}] * 70, 50, 0, 1),
        ([{}] * 100, 50, 0, 1),
    ],
)
def test_a_small_budget_is_shared_by_what_hosts_can_use_soon(
    engine: Engine, others: list[dict[str, object]], n: int, held: int, granted: int
) -> None:
    done = sum(int(str(other.get("pages", 0))) for other in others)
    crawl_id = make_crawl(engine, max_pages=SMALL, pages_reserved=done + held)
    hosts = [make_due_host(engine, name=f"h{number}.test") for number in range(len(others) + 1)]
    sql(engine, "UPDATE hosts SET delay_s = 0")
    for host_id, other in zip(hosts, [{}, *others], strict=True):
        for column in other.keys() - {"pages", "queued"}:
            sql(engine, f"UPDATE hosts SET {column} = {other[column]} WHERE id = {host_id}")
        if other.get("pages"):
            with db.transaction(engine) as tx:
                row = {"crawl_id": crawl_id, "host_id": host_id, "pages": int(str(other["pages"]))}
                crawls.count(tx, [{**row, "fetches": 0, "failed": 0, "bytes": 0}])
        if other.get("queued", True):
            sql(
                engine,
                """INSERT INTO urls (host_id, crawl_id, key, url, state, lane, score, depth)
                   VALUES (:host, :crawl, '', 'u', 'queued', 0, 1, 0)""",
                host=host_id,
                crawl=crawl_id,
            )
    with db.transaction(engine) as tx:
        assert crawls.reserve(tx, crawl_id=crawl_id, n=n, host_id=hosts[0], held=held) == granted


def test_a_visit_that_lost_its_lease_gives_nothing_to_the_process(worker: Worker, engine: Engine, web: Web) -> None:
    start(worker, site_of(web, 4).url(), budgets=Budgets(max_pages=LARGE))
    worker.caches.grants.take(1, 1, worker.monotonic())
    worker.caches.grants.top_up(engine, worker.monotonic(), worker.settings.lease_s)
    sql(engine, "UPDATE hosts SET queue = 'host-00', next_fetch_at = now() - interval '1 minute'")
    (offer,) = claim(engine)
    visit = take_up(worker, offer.host_id, offer.token)
    assert visit is not None
    assert visit.picked.granted == {1: 1}
    sql(engine, "UPDATE hosts SET lease_token = gen_random_uuid()")
    ((_, ending),) = settle.together([visit])
    assert ending == VisitEnding.FENCED
    assert worker.caches.grants.take(1, 1_000, worker.monotonic()) == 199
