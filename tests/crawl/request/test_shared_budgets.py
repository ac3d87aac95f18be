"""What hosts share: an address, a front, a domain, the fleet's ceiling."""

import itertools
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import Engine

from app.admin.audit import audit
from app.beat import claim
from app.crawl.request import slots
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import take_up
from app.model import Reply, Request, Unsent, Url, Whereabouts
from app.store.host_rows import Offer
from tests.crawl.clock import HOUR, STEP, later, step, work
from tests.crawl.crowd import GAP_S, ROAD_S, Shared, gaps, names, unhurried
from tests.crawl.loop import run, start
from tests.crawl.request.fleets import Make, go_on, tries
from tests.crawl.web import Web, html, redirect
from tests.store.rows import claim as claimed
from tests.store.rows import one, sql

LATE_S = 0.4  # a start on the ceiling alone may be late: it is a rate, and no gap


def fleet(workers: Sequence[Worker], threads: int = 3) -> None:
    with ThreadPoolExecutor(len(workers)) as pool:
        list(pool.map(lambda worker: work(worker, threads=threads), workers))


def drawn(engine: Engine) -> set[tuple[str, str]]:
    """What was drawn on: kind and name."""
    return {(row["kind"], row["name"]) for row in sql(engine, "SELECT kind, name FROM budgets")}


# --- an address -------------------------------------------------------------------------------------------------

PATIENT: dict[str, object] = {}  # a visit waits for its start itself


HASTY: dict[str, object] = {"dispatch_tick_s": 0.02, "linger_s": 0.0}  # it leaves, and its host comes again


@pytest.mark.parametrize("manner", [PATIENT, HASTY], ids=["patient", "hasty"])
def test_starts_at_an_address_are_a_gap_apart_whoever_asks(make: Make, web: Web, manner: dict[str, object]) -> None:
    shared = Shared(web, names(3), pages=3)
    workers = [make(address_gap_s=GAP_S, resolve=shared.resolve, **manner) for _ in range(2)]
    start(workers[0], *shared.urls)
    fleet(workers)
    assert shared.asked == shared.everything
    found = gaps(shared.site.log)
    assert min(found) >= GAP_S - ROAD_S
    assert sum(found) >= GAP_S * len(found) - ROAD_S
    assert len({row["worker"] for row in sql(workers[0].engine, "SELECT worker FROM visits")}) == 2
    assert drawn(workers[0].engine) == {("address", shared.site.host)}
    proof = audit(workers[0].engine, workers[0].settings, None)
    assert (proof.violations, proof.disorder, len(proof.addresses)) == (0, 0, 1), proof.verdict
    logged = sql(workers[0].engine, "SELECT DISTINCT address_budget, address_gap_s FROM fetches")
    assert logged == [{"address_budget": shared.site.host, "address_gap_s": GAP_S}]


@pytest.mark.parametrize("manner", [PATIENT, HASTY], ids=["patient", "hasty"])
def test_a_host_alone_at_its_address_keeps_the_gap_from_a_start_that_was_late(
    make: Make, web: Web, manner: dict[str, object]
) -> None:
    shared = Shared(web, names(1), pages=6)
    worker = make(address_gap_s=2 * GAP_S, default_delay_s=0.01, resolve=shared.resolve, **manner)
    sent = itertools.count()

    def late(request: Request) -> Reply | Unsent:
        """Every other request goes out late, as on a busy machine."""
        if next(sent) % 2:
            worker.stopping.wait(GAP_S)
        return worker.send(request)

    start(worker, *shared.urls)
    fleet([replace(worker, send=late)], threads=1)
    assert shared.asked == shared.everything
    assert min(gaps(shared.site.log)) >= 2 * GAP_S - ROAD_S
    assert audit(worker.engine, worker.settings, None).violations == 0


def test_the_slower_of_host_and_address_decides(make: Make, web: Web) -> None:
    shared = Shared(web, names(2), pages=3)
    worker = make(address_gap_s=0.05, default_delay_s=0.3, resolve=shared.resolve)
    start(worker, *shared.urls)
    fleet([worker])
    assert min(gaps(shared.site.log)) >= 0.05 - ROAD_S
    for name in shared.names:
        mine = [hit for hit in shared.site.log if hit.headers["Host"].startswith(name)]
        assert min(gaps(mine)) >= 0.3 - ROAD_S


def test_hosts_of_different_addresses_do_not_wait_for_each_other(make: Make, web: Web) -> None:
    worker = unhurried(make(address_gap_s=HOUR, **STEP))
    sites = [web.site() for _ in range(4)]
    start(worker, *(site.url() for site in sites))
    step(worker, threads=4)
    assert [site.paths for site in sites] == [["/robots.txt"]] * 4
    assert drawn(worker.engine) == {("address", site.host) for site in sites}


def test_who_comes_too_early_says_what_it_waits_for(make: Make, web: Web) -> None:
    shared = Shared(web, names(3), pages=1)
    worker = unhurried(make(address_gap_s=100.0, resolve=shared.resolve, **STEP))
    start(worker, *shared.urls)
    step(worker)
    rows = sql(
        worker.engine,
        """SELECT resting_because, round(extract(epoch FROM next_fetch_at - clock_timestamp()), -1)::integer AS in_s
           FROM hosts ORDER BY next_fetch_at""",
    )
    waiting, late = (
        [row["in_s"] for row in rows if bool(row["resting_because"]) is is_told] for is_told in (True, False)
    )
    assert {row["resting_because"] for row in rows} <= {"address budget", None}
    assert (waiting, late) in [([100, 200, 300], []), ([100, 200], [100])], (
        "the one that asked for robots.txt comes again last, or keeps the gap from its own start, if that was late"
    )
    for _ in range(2):
        step(worker)
    assert len(shared.site.log) == 1


def test_every_host_gets_its_turn(make: Make, web: Web) -> None:
    shared = Shared(web, names(4), pages=4)
    worker = unhurried(make(address_gap_s=100.0, resolve=shared.resolve, **STEP))
    start(worker, *shared.urls)
    for _ in range(20):
        step(worker, after_s=101)
    turns = Counter(name for name, _ in shared.asked.elements())
    assert turns.total() == 20
    assert max(turns.values()) - min(turns.values()) <= 1, turns


# --- domain, front, fleet ---------------------------------------------------------------------------------------


def test_hosts_of_a_domain_share_its_budget_wherever_they_are(make: Make, web: Web) -> None:
    sites = {name: web.site() for name in ("www.shop.test", "a.shop.test", "other.test")}
    worker = make(domain_gap_s=GAP_S, resolve=" ".join(f"{name}={site.host}" for name, site in sites.items()))
    for site in sites.values():
        site.pages["/"] = html("/1", "/2", text=site.host)
        site.pages |= {f"/{number}": html(text=f"{site.host} {number}") for number in (1, 2)}
    start(worker, *(f"http://{name}:{site.port}/" for name, site in sites.items()))
    fleet([worker])
    shop = sites["www.shop.test"].log + sites["a.shop.test"].log
    assert len(shop) == 8
    assert min(gaps(shop)) >= GAP_S - ROAD_S
    assert drawn(worker.engine) == {("domain", "shop.test"), ("domain", "other.test")}


def test_a_front_has_a_budget_of_its_own_for_all_its_addresses(make: Make, web: Web) -> None:
    sites = [web.site() for _ in range(3)]
    worker = make(address_gap_s=0.01, front_gaps_s=f"127.128.0.0/9={GAP_S} {sites[2].host}/32=0")
    for site in sites:
        site.pages |= {"/": html("/1", text=site.host), "/1": html(text=f"{site.host} 1")}
    start(worker, *(site.url() for site in sites))
    fleet([worker])
    assert min(gaps(sites[0].log + sites[1].log)) >= GAP_S - ROAD_S
    assert drawn(worker.engine) == {("network", "127.128.0.0/9")}, "the narrowest decides, and 0 is no budget"
    rows = sql(worker.engine, "SELECT DISTINCT address_budget, address_gap_s FROM fetches ORDER BY 1")
    assert rows == [
        {"address_budget": "127.128.0.0/9", "address_gap_s": GAP_S},
        {"address_budget": None, "address_gap_s": None},
    ]


def test_the_fleet_keeps_below_its_ceiling(make: Make, web: Web) -> None:
    sites = [web.site() for _ in range(4)]
    for site in sites:
        site.pages |= {"/": html("/1", "/2", text=site.host)} | {
            f"/{number}": html(text=f"{site.host} {number}") for number in (1, 2)
        }
    workers = [make(requests_per_s_max=10.0) for _ in range(2)]
    start(workers[0], *(site.url() for site in sites))
    fleet(workers, threads=4)
    starts = sorted(hit.started for hit in web.log)
    assert len(starts) == 16
    assert starts[-1] - starts[0] >= 15 / 10 - LATE_S
    for first, eleventh in zip(starts, starts[11:], strict=False):
        assert eleventh - first >= 1.0 - LATE_S, "more than ten in a second"
    assert drawn(workers[0].engine) == {("all", "all")}


def test_every_budget_at_once(make: Make, web: Web) -> None:
    shared = Shared(web, ["www.shop.test", "a.shop.test", "b.shop.test"], pages=2)
    worker = make(address_gap_s=0.05, domain_gap_s=GAP_S, requests_per_s_max=50.0, resolve=shared.resolve)
    start(worker, *shared.urls)
    fleet([worker])
    assert shared.asked == shared.everything
    assert min(gaps(shared.site.log)) >= GAP_S - ROAD_S
    assert drawn(worker.engine) == {("address", shared.site.host), ("domain", "shop.test"), ("all", "all")}


def test_a_robots_txt_elsewhere_draws_on_the_budget_there(make: Make, web: Web) -> None:
    shared = Shared(web, names(2), pages=1)
    first, second = shared.names
    moved = redirect(shared.url(second, "/robots.txt"))
    shared.site.robots = lambda hit: moved if hit.headers["Host"].startswith(first) else "User-agent: *\nAllow: /\n"
    worker = make(address_gap_s=GAP_S, resolve=shared.resolve)
    late: list[str] = []

    def send(request: Request) -> Reply | Unsent:
        """The first one to the other host comes too late for its start."""
        if second in request.url and not late:
            late.append(request.url)
            return Unsent(begun_s=worker.monotonic(), ended_s=worker.monotonic())
        return worker.send(request)

    start(worker, shared.url(first))
    fleet([replace(worker, send=send)], threads=1)
    assert late == [shared.url(second, "/robots.txt")]
    assert [("host1.test", "/robots.txt") in shared.asked, shared.asked["host0.test", "/"]] == [True, 1]
    assert min(gaps(shared.site.log)) >= GAP_S - ROAD_S


# --- a crash, and no budgets ------------------------------------------------------------------------------------


def test_a_visit_that_never_came_back_costs_the_others_no_start(make: Make, web: Web) -> None:
    shared = Shared(web, names(2), pages=3)
    worker = unhurried(make(address_gap_s=10.0, resolve=shared.resolve, **STEP))
    start(worker, *shared.urls)
    for _ in range(9):
        step(worker, after_s=10.5)
        if not one(worker.engine, "SELECT count(*) FROM hosts WHERE address IS NULL"):
            break
    later(worker.engine, 10.5)
    offers: list[Offer] = []
    claim.dispatch(worker.engine, worker.settings, offers.extend, worker.rng)
    taken = [take_up(worker, offer.host_id, offer.token) for offer in offers]
    assert [visit for visit in taken if visit is not None], "a visit that never comes back"
    asked = len(shared.site.log)
    for _ in range(30):
        step(worker, after_s=10.5)
    assert len(shared.site.log) >= asked + 3, "the others went on meanwhile, and its host after its lease"
    go_on(worker, shared, after_s=10.5, most=100)


def test_without_budgets_nothing_is_drawn_on(worker: Worker, web: Web) -> None:
    sites = [web.site() for _ in range(2)]
    for site in sites:
        site.pages["/"] = html()
    start(worker, *(site.url() for site in sites))
    run(worker)
    assert drawn(worker.engine) == set()
    assert sql(worker.engine, "SELECT DISTINCT address_budget, address_gap_s FROM fetches") == [
        {"address_budget": None, "address_gap_s": None}
    ]


def test_without_an_address_budget_no_address_rests(make: Make, web: Web) -> None:
    shared = Shared(web, names(3), pages=1)
    worker = unhurried(make(resolve=shared.resolve, backoff_base_s=100.0, backoff_max_s=100.0, **STEP))
    start(worker, *shared.urls)
    shared.down()
    step(worker)
    assert tries(worker.engine) == 3, "each host finds out by itself"


@pytest.mark.parametrize(("rests", "asked"), [(False, ["127.0.0.8"]), (True, ["127.0.0.8", "127.0.0.9"])])
def test_a_names_other_address_is_for_when_the_first_one_rests(
    make: Make, web: Web, rests: bool, asked: list[str]
) -> None:
    """At take-up its budget has no start free: that is no reason to go to another address."""
    site = web.site()
    made = make(address_gap_s=10.0)
    worker = replace(made, where=lambda *_: Whereabouts(addresses=("127.0.0.8", "127.0.0.9"), dns_ms=0.0))
    start(worker, site.url())
    sql(
        worker.engine,
        """UPDATE hosts SET queue = 'host-00', next_fetch_at = now() - interval '1 minute', address = '127.0.0.8'""",
    )
    sql(
        worker.engine,
        """INSERT INTO budgets (kind, name, next_at, blocked_until) VALUES ('address', '127.0.0.8',
           now() + interval '30 s', CASE WHEN :rests THEN now() + interval '1 hour' END)""",
        rests=rests,
    )
    (offer,) = claimed(worker.engine)
    visit = take_up(worker, offer.host_id, offer.token)
    assert visit is not None
    assert visit.start.asked is not None, "denied at take-up"
    url = worker.canon.canonicalise(site.url())
    assert isinstance(url, Url)
    slots.take(visit, url, 1.0)
    assert [row["name"] for row in sql(worker.engine, "SELECT name FROM budgets ORDER BY name")] == asked
