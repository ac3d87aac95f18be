"""Visits that are settled together go each its own way."""

import pytest

from app.beat import claim
from app.crawl.state.batch import AddressNews, Batch, RobotsNews
from app.crawl.visit import settle
from app.crawl.visit import visit as at_work
from app.crawl.visit.visit import settle_together, take_up, visit
from app.model import Budgets, Failure, Origin, Rest, RestReason, VisitEnding
from app.policy.lifecycle import VisitEvent
from app.store import budgets
from app.store.host_rows import Offer
from tests.crawl.loop import start
from tests.crawl.web import Answer, Web
from tests.runtime.gatherings import DELAY_S, Basket, Make, commits, gathered, gathering, site_of, states
from tests.store.rows import one, sql


@pytest.fixture
def basket() -> Basket:
    return Basket()


def test_who_lost_the_lease_writes_nothing_and_the_others_do(make: Make, web: Web, basket: Basket) -> None:
    worker = gathering(make, basket)
    sites = [site_of(web, 4) for _ in range(3)]
    start(worker, *(site.url() for site in sites))
    gathered(worker, basket, 3)
    lost = sites[1]
    sql(worker.engine, "UPDATE hosts SET lease_token = gen_random_uuid() WHERE name = :name", name=lost.host)
    assert basket.settle() == {site.host: "fenced" if site is lost else VisitEnding.PARKED for site in sites}
    assert [states(worker.engine, site).count("queued") for site in sites] == [2, 3, 2]
    assert one(worker.engine, "SELECT count(*) FROM fetches WHERE fenced") == 1


def test_of_two_visits_to_a_host_the_one_that_lost_the_lease_is_fenced(make: Make, web: Web, basket: Basket) -> None:
    """The first stood in its gathering until its lease was over."""
    worker = gathering(make, basket)
    site = site_of(web, 5)
    start(worker, site.url())
    (old,) = gathered(worker, basket, 1)
    sql(worker.engine, "UPDATE hosts SET lease_until = now(), next_fetch_at = now(), isolate = 0")
    offers: list[Offer] = []
    claim.dispatch(worker.engine, worker.settings, offers.extend, worker.rng)
    new = take_up(worker, offers[0].host_id, offers[0].token)
    assert new is not None
    basket.gathered = [old, new]
    endings = [act().ending for _, act in settle_together(basket.gathered)]
    assert endings == ["fenced", VisitEnding.PARKED]
    assert basket.shelf.held == [new]
    assert states(worker.engine, site).count("queued") == 4
    assert one(worker.engine, "SELECT count(*) FROM fetches WHERE fenced") == 1


def test_a_visit_that_is_late_is_left_to_another_thread(make: Make, web: Web, basket: Basket) -> None:
    """Who settles many makes no request for one of them."""
    worker = gathering(make, basket)
    sites = [site_of(web, 4) for _ in range(2)]
    start(worker, *(site.url() for site in sites))
    visits = gathered(worker, basket, 2)
    asked = [len(site.log) for site in sites]
    worker.stopping.wait(max(visit.turn.ready_at - visit.now() for visit in visits) + 0.01)
    assert set(basket.settle().values()) == {VisitEnding.PARKED}
    assert [len(site.log) for site in sites] == asked


@pytest.mark.parametrize("status", [429, 503])
def test_a_rest_that_a_host_asks_for_is_written_at_once(make: Make, web: Web, basket: Basket, status: int) -> None:
    worker = gathering(make, basket)
    site = site_of(web, 4)
    start(worker, site.url())
    for path in ("/1", "/2", "/3"):
        site.pages[path] = Answer(status=status, headers={"Retry-After": "3600"})
    offers: list[Offer] = []
    claim.dispatch(worker.engine, worker.settings, offers.extend, worker.rng)
    visit(worker, offers[0].host_id, offers[0].token)
    basket.settle()
    basket.shelf.go_on()
    basket.settle()
    (report,) = basket.shelf.go_on()
    assert (report.ending != VisitEnding.PARKED, basket.gathered) == (True, [])
    assert one(worker.engine, "SELECT blocked_until > now() + interval '59 minutes' FROM hosts")


def test_a_pause_is_heard_and_what_is_not_due_is_left_in_the_same_transaction(
    make: Make, web: Web, basket: Basket
) -> None:
    worker = gathering(make, basket)
    goes_on, ends, pauses = site_of(web, 4), site_of(web, 2), site_of(web, 4)
    start(worker, *(site.url() for site in (goes_on, ends, pauses)))
    gathered(worker, basket, 3)
    sql(worker.engine, "UPDATE hosts SET pause_requested = true WHERE name = :name", name=pauses.host)
    with commits(worker.engine) as counted:
        found = basket.settle()
    assert found == {goes_on.host: VisitEnding.PARKED, ends.host: "nothing due", pauses.host: "paused"}
    assert len(counted) == 1
    rows = sql(worker.engine, "SELECT name, state, next_fetch_at IS NULL AS silent FROM hosts")
    assert {row["name"]: (row["state"], row["silent"]) for row in rows} == {
        goes_on.host: ("taken", False),
        ends.host: ("idle", True),
        pauses.host: ("paused", True),
    }
    endings = {row["ending"] for row in sql(worker.engine, "SELECT ending FROM visits")}
    assert endings == {None, "nothing due", "paused"}


def test_visits_that_end_are_given_back_together_with_their_budgets(make: Make, web: Web, basket: Basket) -> None:
    worker = gathering(make, basket, address_gap_s=0.05, visit_max_s=3.5 * DELAY_S, settle_s=100.0)
    sites = [site_of(web, 9) for _ in range(2)]
    start(worker, *(site.url() for site in sites))
    offers: list[Offer] = []
    claim.dispatch(worker.engine, worker.settings, offers.extend, worker.rng)
    for offer in offers:
        visit(worker, offer.host_id, offer.token)
    while any(visit.leaving is None for visit in (*basket.shelf.held, *basket.gathered)):
        while basket.shelf.held:
            basket.shelf.go_on()
        if len(basket.gathered) < 2 or any(visit.leaving is None for visit in basket.gathered):
            basket.settle()
    assert [visit.leaving for visit in basket.gathered] == ["long enough", "long enough"]
    assert all(visit.start.held is not None for visit in basket.gathered)
    with commits(worker.engine) as counted:
        assert basket.settle() == {site.host: "long enough" for site in sites}
    assert len(counted) == 1
    rows = sql(
        worker.engine,
        """SELECT h.state, h.next_fetch_at >= h.last_contact_at + :delay * interval '0.999 s' AS keeps_gap,
                  b.next_at < h.next_fetch_at AS is_free
           FROM hosts AS h JOIN budgets AS b ON b.host_id = h.id WHERE b.kind = 'address'""",
        delay=DELAY_S,
    )
    assert rows == [{"state": "idle", "keeps_gap": True, "is_free": True}] * 2


def test_a_budget_of_pages_ends_where_it_should(make: Make, web: Web, basket: Basket) -> None:
    worker = gathering(make, basket)
    sites = [site_of(web, 9) for _ in range(3)]
    start(worker, *(site.url() for site in sites), budgets=Budgets(max_pages=8))
    gathered(worker, basket, 3)
    for _ in range(20):
        if not basket.gathered:
            break
        basket.settle()
        basket.shelf.go_on()
    assert sum(len(site.pages_asked) for site in sites) == 8
    assert one(worker.engine, "SELECT pages_reserved FROM crawls") == 8
    assert {row["state"] for row in sql(worker.engine, "SELECT state FROM hosts")} == {"idle"}


@pytest.mark.parametrize(
    ("delay_s", "promised", "gathered"),
    [
        (DELAY_S, None, True),
        (DELAY_S / 2, None, False),
        (DELAY_S, Rest(RestReason.ADDRESS_BUDGET), False),
    ],
)
def test_a_visit_that_is_late_is_gathered_but_misses_no_promised_start(
    make: Make, web: Web, basket: Basket, delay_s: float, promised: Rest | None, gathered: bool
) -> None:
    worker = gathering(make, basket, default_delay_s=delay_s)
    start(worker, site_of(web, 2).url())
    offers: list[Offer] = []
    claim.dispatch(worker.engine, worker.settings, offers.extend, worker.rng)
    late = take_up(worker, offers[0].host_id, offers[0].token)
    assert late is not None
    late.move(VisitEvent.SERVED)
    late.turn.ready_at, late.start.promised = late.now() - 1.0, promised
    assert at_work.gather(late) == gathered
    assert basket.gathered == ([late] if gathered else [])


def test_robots_txt_of_several_hosts_is_settled_together(make: Make, web: Web, basket: Basket) -> None:
    worker = gathering(make, basket)
    sites = [site_of(web, 3) for _ in range(3)]
    for number, site in enumerate(sites):
        site.robots = f"User-agent: *\nDisallow: /{number % 2}"
    start(worker, *(site.url() for site in sites))
    offers: list[Offer] = []
    claim.dispatch(worker.engine, worker.settings, offers.extend, worker.rng)
    for offer in offers:
        visit(worker, offer.host_id, offer.token)
    with commits(worker.engine) as counted:
        basket.settle()
    assert len(counted) == 1
    stored = (
        "SELECT body, (SELECT count(*) FROM robots_copies AS c WHERE c.host_id = r.host_id) AS copies FROM robots AS r"
    )
    found = sorted((bytes(row["body"]).decode(), row["copies"]) for row in sql(worker.engine, stored))
    assert found == sorted((site.robots, 1) for site in sites)
    assert one(worker.engine, "SELECT count(*) FROM robots_bodies") == 2


def test_what_needs_a_lock_of_its_own_is_settled_alone(
    make: Make, web: Web, basket: Basket, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = gathering(make, basket)
    start(worker, site_of(web, 3).url())
    (visit,) = gathered(worker, basket, 1)
    assert settle.may_join(visit)
    budget = budgets.Budget(kind=budgets.BudgetKind.ADDRESS, name="127.0.0.1", gap_s=1.0)
    renewed = Batch(started=0.0, robots=RobotsNews(renewed=[Origin("http", "h", 80)]))
    for batch in (
        Batch(started=0.0, address=AddressNews(refused=(budget, Failure.REFUSED))),
        Batch(started=0.0, address=AddressNews(answered=budget)),
        renewed,
    ):
        visit.batch = batch
        assert not settle.may_join(visit)
    visit.batch, visit.picked.granted = Batch(started=0.0), {1: 2}
    assert settle.may_join(visit)
    visit.leaving = VisitEnding.LONG_ENOUGH
    assert not settle.may_join(visit), "grants of pages lock their crawl"
