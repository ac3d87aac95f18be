"""Batches of several hosts settled in one transaction: who joins, that each is written as it would be alone, and how it fails."""

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import Engine, event

from app.admin.audit import audit
from app.beat import claim
from app.crawl.frontier import admit
from app.crawl.state.batch import Batch
from app.crawl.state.visit import Stay
from app.crawl.state.worker import Kit
from app.crawl.visit import settle
from app.crawl.visit import work as at_work
from app.crawl.visit.visit import Report, go_on, settle_alone, settle_together, take_up, visit
from app.errors import ServiceError
from app.model import Budgets, Failure, Refusal, Url, VisitEnding
from app.runtime.delay_queue import Parking
from app.runtime.group_commit import GATHER_S, MOST, SETTLE_LINKS, Gatherer, Gathering
from app.store import budgets, hosts, suppressions, urls
from app.store.host_rows import Offer
from tests.crawl.ahead import ahead
from tests.crawl.clock import work
from tests.crawl.loop import start
from tests.crawl.set_clock import LONG_S, SetClock
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import admission, make_host, one, sql

Make = Callable[..., Kit]
DELAY_S = 0.15
ROUNDS, LINKS = 10, 150


class Basket(Gatherer[Stay]):
    """Holds what is to be settled together, and what was parked, until the test goes on with it."""

    def __init__(self) -> None:
        super().__init__(Parking(lambda _: None, most=0, threads=0))
        self.gathered: list[Stay] = []
        self.shelf = Shelf()

    def add(self, visit: Stay, links: int) -> bool:
        self.gathered.append(visit)
        return True

    def settle(self) -> dict[str, str]:
        """All of them together. Returns, by host, what became of the visit."""
        stays, self.gathered = self.gathered, []
        if not stays:
            return {}
        return {each.host or "": each.ending for each in (act() for _, act in settle_together(stays))}


class Shelf(Parking[Stay]):
    def __init__(self) -> None:
        super().__init__(lambda _: None, most=100, threads=0)
        self.held: list[Stay] = []

    def park(self, visit: Stay, until: float) -> bool:
        self.held.append(visit)
        return True

    def go_on(self) -> list[Report]:
        """Each makes its next request when its turn comes."""
        stays, self.held = self.held, []
        reports = []
        for stay in stays:
            stay.kit.stopping.wait(max(stay.ready_at - stay.now(), 0.0))
            reports.append(go_on(stay))
        return reports


@pytest.fixture
def gather_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_work, "GATHER_S", DELAY_S / 3)


@pytest.fixture
def basket(gather_s: None) -> Basket:
    return Basket()


def gathering(make: Make, basket: Basket, **settings: Any) -> Kit:
    """Each page is settled; what was fetched with robots.txt alone, all that comes after together. No wait takes time."""
    kit = make(**{"default_delay_s": DELAY_S, "linger_s": 0.02, "settle_s": DELAY_S - 1e-4, **settings})
    return ahead(replace(kit, parking=basket.shelf, gatherer=basket))


def site_of(web: Web, pages: int, *links: str) -> Site:
    """Its first page leads to all others."""
    site = web.site()
    paths = [f"/{number}" for number in range(1, pages)]
    site.pages["/"] = html(*paths, text=f"The first of {site.host}.")
    for path in paths:
        site.pages[path] = html(*links, text=f"What {site.host} says at {path} is said nowhere else.")
    return site


def gathered(kit: Kit, basket: Basket, n: int) -> list[Stay]:
    """Visits to every host, each with its second page to settle."""
    offers: list[Offer] = []
    claim.dispatch(kit.engine, kit.settings, offers.extend, kit.rng)
    assert len(offers) == n
    for offer in offers:
        assert visit(kit, offer.host_id, offer.token).ending == VisitEnding.PARKED
    for _ in range(2):
        basket.settle()
        basket.shelf.go_on()
    assert len(basket.gathered) == n
    return list(basket.gathered)


@contextmanager
def commits(engine: Engine) -> Iterator[list[int]]:
    """Their number, at the end."""
    counted: list[int] = []

    def count(_: Any) -> None:
        counted.append(1)

    event.listen(engine, "commit", count)
    try:
        yield counted
    finally:
        event.remove(engine, "commit", count)


def states(engine: Engine, site: Site) -> list[str]:
    rows = sql(
        engine,
        "SELECT u.state FROM urls AS u JOIN hosts AS h ON h.id = u.host_id WHERE h.name = :name ORDER BY u.id",
        name=site.host,
    )
    return [row["state"] for row in rows]


# --- gatherings -------------------------------------------------------------------------------------------------


def test_who_comes_soon_after_the_first_is_settled_with_it() -> None:
    given: list[tuple[float, list[str]]] = []
    settled, clock = threading.Event(), SetClock()

    def settle_it(parked: str | Gathering[str]) -> None:
        assert isinstance(parked, Gathering)
        given.append((clock.now(), parked.close()))
        settled.set()

    parking: Parking[str | Gathering[str]] = Parking(settle_it, most=10, threads=1, clock=clock)
    gatherer = Gatherer(parking)
    assert gatherer.add("first", 1)
    clock.move(GATHER_S / 2)
    assert gatherer.add("second", 1)
    clock.move(GATHER_S / 2)
    assert settled.wait(LONG_S)
    settled.clear()
    assert gatherer.add("third", 1)
    clock.move(GATHER_S)
    assert settled.wait(LONG_S)
    both = [(GATHER_S, ["first", "second"]), (2 * GATHER_S, ["third"])]
    assert given == both
    parking.close()
    assert not gatherer.add("after the end", 1)
    clock.run()
    parking.join()
    assert given == both


@pytest.mark.parametrize(("n", "links"), [(MOST, 1), (10, SETTLE_LINKS // 10)])
def test_a_full_gathering_is_followed_by_another(n: int, links: int) -> None:
    parking: Parking[int | Gathering[int]] = Parking(lambda _: None, most=100, threads=1)
    gatherer = Gatherer(parking)
    parked: list[Gathering[int]] = []

    def park(gathering: int | Gathering[int], until: float) -> bool:
        assert isinstance(gathering, Gathering)
        parked.append(gathering)
        return True

    parking.park = park  # type: ignore[method-assign,assignment]
    assert all(gatherer.add(number, links) for number in range(n + 1))
    assert [len(each.close()) for each in parked] == [n, 1]


def test_those_who_are_gathered_take_the_room_that_they_would_take_alone() -> None:
    went_on = threading.Event()
    clock = SetClock()
    parking: Parking[int | Gathering[int]] = Parking(lambda _: went_on.wait(LONG_S), most=5, threads=1, clock=clock)
    gatherer = Gatherer(parking)
    assert [gatherer.add(number, 1) for number in range(6)] == [True] * 5 + [False]
    assert not parking.park(7, clock.now())
    with parking._lock:
        gathering = parking._heap[0][2]
    assert isinstance(gathering, Gathering)
    assert gathering.close() == list(range(5))
    assert parking.park(8, clock.now())
    went_on.set()
    parking.close()
    clock.run()
    parking.join()


# --- as if each were alone --------------------------------------------------------------------------------------


def test_several_hosts_are_settled_in_one_transaction(make: Make, web: Web, basket: Basket) -> None:
    kit = gathering(make, basket)
    sites = [site_of(web, 4) for _ in range(3)]
    start(kit, *(site.url() for site in sites))
    stays = gathered(kit, basket, 3)
    with commits(kit.engine) as counted:
        assert basket.settle() == {site.host: VisitEnding.PARKED for site in sites}
    assert len(counted) == 1
    assert {stay.host_id for stay in basket.shelf.held} == {stay.host_id for stay in stays}
    assert all(stay.due and not stay.batch.results for stay in stays)
    assert all(states(kit.engine, site).count("queued") == 2 for site in sites)
    rows = sql(
        kit.engine,
        """SELECT h.name, count(f) AS fetches, count(DISTINCT v.id) AS visits, min(f.started_at) >= min(v.taken_at) AS after,
                  (SELECT sum(fetches) FROM crawl_hosts AS c WHERE c.host_id = h.id) AS counted,
                  (SELECT count(*) FROM pages AS p WHERE p.host_id = h.id AND p.url LIKE '%' || h.name || '%') AS pages
           FROM hosts AS h JOIN fetches AS f ON f.host_id = h.id JOIN visits AS v ON v.id = f.visit_id AND v.host_id = h.id
           GROUP BY h.id""",
    )
    own = {"fetches": 3, "visits": 1, "after": True, "counted": 2, "pages": 2}
    assert sorted(rows, key=lambda row: str(row["name"])) == [
        {"name": name, **own} for name in sorted(site.host for site in sites)
    ]


def test_a_crawl_settled_together_is_the_crawl_settled_alone(make: Make, web: Web, gather_s: None) -> None:
    """Links among the hosts, mirrors, refusals and a budget of pages; the same hosts, one crawl after the other."""
    sites = [site_of(web, 8) for _ in range(4)]
    for site, other in zip(sites, [*sites[1:], sites[0]], strict=True):
        site.robots = "User-agent: *\nDisallow: /private"
        site.pages["/1"] = html(
            "/private", other.url("/new"), other.url("/private"), "https://elsewhere.test/", text="to others"
        )
        site.pages["/2"] = html(text="the same at every host, byte for byte")
        site.pages["/3"] = html("/2", text=f"kept out of {site.host}", head='<meta name="robots" content="noindex">')
        site.pages["/4"] = Answer(status=404)
        site.pages["/new"] = html("/newer", text=f"only others know of this at {site.host}")
        site.pages["/newer"] = html(text=f"the last of {site.host}")
    kit = make(default_delay_s=DELAY_S, linger_s=0.02, settle_s=DELAY_S)
    found = []
    for name in ("alone", "together"):
        joined = 0

        def resume(parked: Stay | Gathering[Stay]) -> None:
            nonlocal joined
            if not isinstance(parked, Gathering):
                go_on(parked)
                return
            stays = parked.close()
            joined = max(joined, len(stays))
            for _, act in settle_together(stays):
                act()

        parking: Parking[Stay | Gathering[Stay]] = Parking(resume, most=100, threads=1)
        start(kit, *(site.url() for site in sites), name=name, budgets=Budgets(max_pages=200))
        work(replace(kit, parking=parking, gatherer=Gatherer(parking) if name == "together" else None), threads=1)
        parking.close()
        parking.join()
        found.append(_written(kit.engine, name))
        assert (joined > 1) == (name == "together")
    assert found[0] == found[1]
    assert {row["state"] for row in found[0]["urls"]} == {"resting", "refused"}
    assert found[0]["duplicates"] == [{"urls": 3, "kind": "body"}]
    proof = audit(kit.engine, kit.settings, None)
    assert (proof.violations, proof.disorder) == (0, 0), proof.verdict
    assert all(min(site.gaps()) >= DELAY_S for site in sites)


def _written(engine: Engine, crawl: str) -> dict[str, list[dict[str, Any]]]:
    queries = {
        "urls": """SELECT url, state, status, outcome, cause, depth, hops, attempts, lane, directives FROM urls""",
        "pages": """SELECT url, status, title, main_text, links, directives FROM pages""",
        "duplicates": """SELECT count(*) AS urls, kind FROM duplicates""",
        "suppressions": """SELECT url, reason FROM suppressions""",
        "crawl_hosts": """SELECT host_id, pages, fetches, failed, bytes FROM crawl_hosts""",
        "fetches": """SELECT url, outcome, count(*) AS times FROM fetches""",
    }
    groups = {"duplicates": "GROUP BY kind", "fetches": "GROUP BY url, outcome"}
    where = "WHERE crawl_id = (SELECT id FROM crawls WHERE name = :name)"
    return {
        table: sorted(sql(engine, f"{query} {where} {groups.get(table, '')}", name=crawl), key=repr)
        for table, query in queries.items()
    }


def test_a_mirror_settled_with_its_original_is_noted(make: Make, web: Web, basket: Basket) -> None:
    kit = gathering(make, basket, keep_text=True)
    sites = [site_of(web, 2) for _ in range(2)]
    for site in sites:
        site.pages["/1"] = html(text="the same bytes")
    start(kit, *(site.url() for site in sites))
    gathered(kit, basket, 2)
    basket.settle()
    (row,) = sql(kit.engine, "SELECT url, of_url, kind FROM duplicates")
    assert {row["url"], row["of_url"]} == {site.url("/1") for site in sites}
    assert row["kind"] == "body"


def test_a_link_to_a_host_of_the_gathering_is_picked_at_once(make: Make, web: Web, basket: Basket) -> None:
    kit = gathering(make, basket)
    there = site_of(web, 2)
    here = site_of(web, 2, there.url("/new"))
    there.pages["/new"] = html(text="found by another")
    start(kit, here.url(), there.url())
    gathered(kit, basket, 2)
    with commits(kit.engine) as counted:
        assert basket.settle() == {here.host: "nothing due", there.host: VisitEnding.PARKED}
    assert len(counted) == 1
    (stay,) = basket.shelf.held
    assert [due.url for due in stay.due] == [there.url("/new")]


# --- each its own way -------------------------------------------------------------------------------------------


def test_who_lost_the_lease_writes_nothing_and_the_others_do(make: Make, web: Web, basket: Basket) -> None:
    kit = gathering(make, basket)
    sites = [site_of(web, 4) for _ in range(3)]
    start(kit, *(site.url() for site in sites))
    gathered(kit, basket, 3)
    lost = sites[1]
    sql(kit.engine, "UPDATE hosts SET lease_token = gen_random_uuid() WHERE name = :name", name=lost.host)
    assert basket.settle() == {site.host: "fenced" if site is lost else VisitEnding.PARKED for site in sites}
    assert [states(kit.engine, site).count("queued") for site in sites] == [2, 3, 2]
    assert one(kit.engine, "SELECT count(*) FROM fetches WHERE fenced") == 1


def test_of_two_visits_to_a_host_the_one_that_lost_the_lease_is_fenced(make: Make, web: Web, basket: Basket) -> None:
    """The first stood in its gathering until its lease was over."""
    kit = gathering(make, basket)
    site = site_of(web, 5)
    start(kit, site.url())
    (old,) = gathered(kit, basket, 1)
    sql(kit.engine, "UPDATE hosts SET lease_until = now(), next_fetch_at = now(), isolate = 0")
    offers: list[Offer] = []
    claim.dispatch(kit.engine, kit.settings, offers.extend, kit.rng)
    new = take_up(kit, offers[0].host_id, offers[0].token)
    assert new is not None
    basket.gathered = [old, new]
    endings = [act().ending for _, act in settle_together(basket.gathered)]
    assert endings == ["fenced", VisitEnding.PARKED]
    assert basket.shelf.held == [new]
    assert states(kit.engine, site).count("queued") == 4
    assert one(kit.engine, "SELECT count(*) FROM fetches WHERE fenced") == 1


def test_a_visit_that_is_late_is_left_to_another_thread(make: Make, web: Web, basket: Basket) -> None:
    """Who settles many makes no request for one of them."""
    kit = gathering(make, basket)
    sites = [site_of(web, 4) for _ in range(2)]
    start(kit, *(site.url() for site in sites))
    stays = gathered(kit, basket, 2)
    asked = [len(site.log) for site in sites]
    kit.stopping.wait(max(stay.ready_at - stay.now() for stay in stays) + 0.01)
    assert set(basket.settle().values()) == {VisitEnding.PARKED}
    assert [len(site.log) for site in sites] == asked


@pytest.mark.parametrize("status", [429, 503])
def test_a_rest_that_a_host_asks_for_is_written_at_once(make: Make, web: Web, basket: Basket, status: int) -> None:
    kit = gathering(make, basket)
    site = site_of(web, 4)
    start(kit, site.url())
    for path in ("/1", "/2", "/3"):
        site.pages[path] = Answer(status=status, headers={"Retry-After": "3600"})
    offers: list[Offer] = []
    claim.dispatch(kit.engine, kit.settings, offers.extend, kit.rng)
    visit(kit, offers[0].host_id, offers[0].token)
    basket.shelf.go_on()
    basket.settle()
    (report,) = basket.shelf.go_on()
    assert (report.ending != VisitEnding.PARKED, basket.gathered) == (True, [])
    assert one(kit.engine, "SELECT blocked_until > now() + interval '59 minutes' FROM hosts")


def test_a_pause_is_heard_and_what_is_not_due_is_left_in_the_same_transaction(
    make: Make, web: Web, basket: Basket
) -> None:
    kit = gathering(make, basket)
    goes_on, ends, pauses = site_of(web, 4), site_of(web, 2), site_of(web, 4)
    start(kit, *(site.url() for site in (goes_on, ends, pauses)))
    gathered(kit, basket, 3)
    sql(kit.engine, "UPDATE hosts SET pause_requested = true WHERE name = :name", name=pauses.host)
    with commits(kit.engine) as counted:
        found = basket.settle()
    assert found == {goes_on.host: VisitEnding.PARKED, ends.host: "nothing due", pauses.host: "paused"}
    assert len(counted) == 1
    rows = sql(kit.engine, "SELECT name, state, next_fetch_at IS NULL AS silent FROM hosts")
    assert {row["name"]: (row["state"], row["silent"]) for row in rows} == {
        goes_on.host: ("taken", False),
        ends.host: ("idle", True),
        pauses.host: ("paused", True),
    }
    endings = {row["ending"] for row in sql(kit.engine, "SELECT ending FROM visits")}
    assert endings == {None, "nothing due", "paused"}


def test_visits_that_end_are_given_back_together_with_their_budgets(make: Make, web: Web, basket: Basket) -> None:
    kit = gathering(make, basket, address_gap_s=0.05, visit_max_s=3.5 * DELAY_S, settle_s=100.0)
    sites = [site_of(web, 9) for _ in range(2)]
    start(kit, *(site.url() for site in sites))
    offers: list[Offer] = []
    claim.dispatch(kit.engine, kit.settings, offers.extend, kit.rng)
    for offer in offers:
        visit(kit, offer.host_id, offer.token)
    while any(stay.leaving is None for stay in (*basket.shelf.held, *basket.gathered)):
        while basket.shelf.held:
            basket.shelf.go_on()
        if len(basket.gathered) < 2 or any(stay.leaving is None for stay in basket.gathered):
            basket.settle()
    assert [stay.leaving for stay in basket.gathered] == ["long enough", "long enough"]
    assert all(stay.held is not None for stay in basket.gathered)
    with commits(kit.engine) as counted:
        assert basket.settle() == {site.host: "long enough" for site in sites}
    assert len(counted) == 1
    rows = sql(
        kit.engine,
        """SELECT h.state, h.next_fetch_at >= h.last_contact_at + :delay * interval '0.999 s' AS keeps_gap,
                  b.next_at < h.next_fetch_at AS is_free
           FROM hosts AS h JOIN budgets AS b ON b.host_id = h.id WHERE b.kind = 'address'""",
        delay=DELAY_S,
    )
    assert rows == [{"state": "idle", "keeps_gap": True, "is_free": True}] * 2


def test_a_budget_of_pages_ends_where_it_should(make: Make, web: Web, basket: Basket) -> None:
    kit = gathering(make, basket)
    sites = [site_of(web, 9) for _ in range(3)]
    start(kit, *(site.url() for site in sites), budgets=Budgets(max_pages=8))
    gathered(kit, basket, 3)
    for _ in range(20):
        if not basket.gathered:
            break
        basket.settle()
        basket.shelf.go_on()
    assert sum(len(site.pages_asked) for site in sites) == 8
    assert one(kit.engine, "SELECT pages_reserved FROM crawls") == 8
    assert {row["state"] for row in sql(kit.engine, "SELECT state FROM hosts")} == {"idle"}


def test_what_needs_a_lock_of_its_own_is_settled_alone(
    make: Make, web: Web, basket: Basket, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = gathering(make, basket)
    start(kit, site_of(web, 3).url())
    (stay,) = gathered(kit, basket, 1)
    assert settle.may_join(stay)
    budget = budgets.Budget(kind=budgets.BudgetKind.ADDRESS, name="127.0.0.1", gap_s=1.0)
    for batch in (Batch(started=0.0, refused=(budget, Failure.REFUSED)), Batch(started=0.0, answered=budget)):
        stay.batch = batch
        assert not settle.may_join(stay)
    stay.batch, stay.granted = Batch(started=0.0), {1: 2}
    assert settle.may_join(stay)
    stay.leaving = VisitEnding.LONG_ENOUGH
    assert not settle.may_join(stay), "grants of pages lock their crawl"


# --- when it fails ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["stay", "lock_all_leased"])
def test_where_postgres_was_away_nothing_is_changed_and_each_may_be_settled_alone(
    make: Make, web: Web, basket: Basket, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    kit = gathering(make, basket)
    sites = [site_of(web, 9) for _ in range(2)]
    start(kit, *(site.url() for site in sites), budgets=Budgets(max_pages=7))
    stays = gathered(kit, basket, 2)
    before = [(stay.unfetched, stay.told, dict(stay.granted), stay.rest_until) for stay in stays]

    def away(*_: Any, **__: Any) -> None:
        raise ServiceError("Postgres", "is away")

    with monkeypatch.context() as patch:
        patch.setattr(hosts, query, away)
        with pytest.raises(ServiceError):
            basket.settle()
    assert [(stay.unfetched, stay.told, dict(stay.granted), stay.rest_until) for stay in stays] == before
    assert [states(kit.engine, site).count("queued") for site in sites] == [8, 8]
    assert [settle_alone(stay).ending for stay in stays] == [VisitEnding.PARKED] * 2
    assert [states(kit.engine, site).count("queued") for site in sites] == [7, 7]
    for _ in range(20):
        basket.shelf.go_on()
        basket.settle()
    assert sum(len(site.pages_asked) for site in sites) == 7, "a grant that was rolled back is none"
    assert one(kit.engine, "SELECT pages_reserved FROM crawls") == 7
    assert one(kit.engine, "SELECT count(*) FROM fetches WHERE NOT fenced") == 7 + 2


def test_one_that_cannot_be_written_is_its_own_affair(
    make: Make, web: Web, basket: Basket, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = gathering(make, basket)
    sites = [site_of(web, 4) for _ in range(2)]
    start(kit, *(site.url() for site in sites))
    well, ill = gathered(kit, basket, 2)
    record = urls.record

    def fail(tx: Any, rows: Any) -> None:
        if any(row["host_id"] == ill.host_id for row in rows):
            raise ValueError("a bug")
        record(tx, rows)

    monkeypatch.setattr(urls, "record", fail)
    with pytest.raises(ValueError, match="a bug"):
        basket.settle()
    assert settle_alone(well).ending == VisitEnding.PARKED
    with pytest.raises(ValueError, match="a bug"):
        settle_alone(ill)
    by_host = {site.host: states(kit.engine, site).count("queued") for site in sites}
    assert by_host == {well.taken.name: 2, ill.taken.name: 3}


def test_what_was_committed_is_not_settled_again(
    make: Make, web: Web, basket: Basket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Postgres goes away when other hosts are to be woken; one visit goes on, the other has left."""
    kit = gathering(make, basket)
    other = web.site()
    goes_on, ends = site_of(web, 4, other.url()), site_of(web, 2)
    start(kit, goes_on.url(), ends.url(), scope="any")
    stays = gathered(kit, basket, 2)

    def away(*_: Any, **__: Any) -> None:
        raise ServiceError("Postgres", "is away")

    with monkeypatch.context() as patch:
        patch.setattr(hosts, "wake", away)
        with pytest.raises(ServiceError):
            basket.settle()
    found = {stay.taken.name: settle_alone(stay).ending for stay in stays}
    assert found == {goes_on.host: VisitEnding.PARKED, ends.host: "nothing due"}
    assert one(kit.engine, "SELECT count(*) FROM fetches") == 6


@pytest.mark.parametrize(("room", "write"), [(urls, "admit"), (suppressions, "note")])
def test_settles_of_the_same_links_do_not_lock_each_other_out(
    make: Make, web: Web, monkeypatch: pytest.MonkeyPatch, room: ModuleType, write: str
) -> None:
    """Two workers write at once what leads to the same new URLs, or is refused alike, for four hosts each, in any order."""
    kit = make()
    crawl = start(kit, *(site_of(web, 1).url() for _ in range(8)), scope="any")
    for number in range(3):
        make_host(kit.engine, f"h{number}.test")  # new, the later settle would wait for it before it wrote anything
    offers: list[Offer] = []
    claim.dispatch(kit.engine, kit.settings, offers.extend, kit.rng)
    stays = [stay for offer in offers if (stay := take_up(kit, offer.host_id, offer.token)) is not None]
    act, at_once = getattr(room, write), threading.Barrier(2)

    def both_at_once(tx: Any, rows: Any) -> Any:
        at_once.wait(30)
        return act(tx, rows)

    monkeypatch.setattr(room, write, both_at_once)

    def settle_all(own: list[Stay], seed: int) -> None:
        rng = random.Random(seed)
        for number in range(ROUNDS):
            for stay in own:
                _find(stay, crawl.id, f"http://h{{}}.test/{write}/{number}/", rng)
            settle.together(own)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(settle_all, (stays[::2], stays[1::2]), (1, 2)))
    found = "urls WHERE url LIKE" if room is urls else "suppressions WHERE url LIKE"
    assert one(kit.engine, f"SELECT count(*) FROM {found} '%/{write}/%'") == ROUNDS * LINKS


def _find(stay: Stay, crawl_id: int, prefix: str, rng: random.Random) -> None:
    """Links of a round, in an order of this stay's own."""
    stay.kit.known.forget_all()
    texts = [prefix.format(number % 3) + str(number) for number in range(LINKS)]
    rng.shuffle(texts)
    for text in texts:
        url = stay.kit.canon.canonicalise(text)
        assert isinstance(url, Url)
        if "/note/" in text:
            admit.suppress(stay, crawl_id, url, Refusal.NOFOLLOW, found_on=None)
        else:
            stay.batch.admissions.append(admission(0, crawl_id, url=url.text, key=url.key))
