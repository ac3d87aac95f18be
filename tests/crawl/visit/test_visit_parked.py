"""Visits that keep their lease between two requests: what they cost, what they write when, and how they end."""

from dataclasses import replace

import pytest

from app.admin.audit import audit
from app.beat import claim
from app.crawl.state.visit import Visit
from app.crawl.visit.visit import VisitReport, go_on, take_up, visit
from app.model import Budgets, VisitEnding
from app.runtime.delay_queue import DelayQueue
from app.store import db, hosts
from app.store.host_rows import Offer
from tests.crawl.clock import work
from tests.crawl.loop import start
from tests.crawl.visit.shelf import DELAY_S, Make, begin, settled, shelved, site_of
from tests.crawl.web import Web
from tests.store.rows import one, sql

# --- what it costs ----------------------------------------------------------------------------------------------


def test_a_polite_host_takes_one_visit_for_many_pages_and_keeps_its_gaps(make: Make, web: Web) -> None:
    worker = make(default_delay_s=DELAY_S, linger_s=0.05, address_gap_s=0.05)
    parking: DelayQueue[Visit] = DelayQueue(go_on, most=10, threads=2)
    sites = [site_of(web, 6) for _ in range(3)]
    start(worker, *(site.url() for site in sites))
    work(replace(worker, stays=replace(worker.stays, parking=parking)), threads=3)
    parking.close()
    parking.join()
    for site in sites:
        assert sorted(site.paths) == sorted(["/robots.txt", "/", *(f"/{number}" for number in range(1, 6))])
        assert min(site.gaps()) >= DELAY_S
    assert [row["fetches"] for row in sql(worker.engine, "SELECT fetches FROM visits")] == [7, 7, 7]
    proof = audit(worker.engine, worker.settings, None)
    assert (proof.violations, proof.disorder) == (0, 0), proof.verdict


def test_a_longer_visit_than_allowed_is_given_back(make: Make, web: Web) -> None:
    worker, shelf = shelved(make, visit_max_s=2.5 * DELAY_S, settle_s=100.0)
    start(worker, site_of(web, 9).url())
    assert begin(worker).ending == VisitEnding.PARKED
    assert shelf.next().ending == VisitEnding.PARKED
    assert shelf.next() == VisitReport(
        host=one(worker.engine, "SELECT name FROM hosts"), ending=VisitEnding.LONG_ENOUGH, requests=3
    )
    assert one(worker.engine, "SELECT state FROM hosts") == "idle"


def test_where_there_is_no_room_the_visit_leaves(make: Make, web: Web) -> None:
    worker, _ = shelved(make, most=0)
    start(worker, site_of(web, 3).url())
    assert (begin(worker).ending, one(worker.engine, "SELECT state FROM hosts")) == ("delay", "idle")


def test_a_worker_that_stops_sends_no_more_for_what_is_parked(make: Make, web: Web) -> None:
    worker, shelf = shelved(make)
    sites = [site_of(web, 3), site_of(web, 3)]
    start(worker, *(site.url() for site in sites))
    offers: list[Offer] = []
    claim.dispatch(worker.engine, worker.settings, offers.extend, worker.rng)
    assert [visit(worker, offer.host_id, offer.token).ending for offer in offers] == [
        VisitEnding.PARKED,
        VisitEnding.PARKED,
    ]
    due_in_s = max(visit.turn.ready_at - visit.now() for visit in shelf.held)
    worker.stopping.wait(max(due_in_s, 0.0) + 0.01)  # a visit that is not due heeds the end while it waits
    worker.stop()
    assert [shelf.next().ending for _ in offers] == ["worker stops", "worker stops"]
    assert [site.paths for site in sites] == [["/robots.txt"], ["/robots.txt"]]
    assert one(worker.engine, "SELECT count(*) FROM fetches") == 2
    assert {row["state"] for row in sql(worker.engine, "SELECT state FROM hosts")} == {"idle"}


def test_many_links_are_settled_before_it_is_parked(make: Make, web: Web) -> None:
    worker, shelf = shelved(make, settle_s=100.0)
    worker = replace(worker, stays=replace(worker.stays, parked_links=5))
    start(worker, site_of(web, 9).url())
    begin(worker)
    assert (shelf.next().ending, settled(worker.engine)) == (VisitEnding.PARKED, 1)
    (visit,) = shelf.held
    assert (visit.batch.found.readings, visit.picked.joined) == ([], {})


def test_an_address_that_answers_again_is_told_at_once(make: Make, web: Web) -> None:
    worker, shelf = shelved(make, address_gap_s=0.05, settle_s=100.0)
    site = site_of(web, 9)
    start(worker, site.url())
    sql(worker.engine, "INSERT INTO budgets (kind, name, failures) VALUES ('address', :name, 1)", name=site.host)
    assert begin(worker).ending == VisitEnding.PARKED
    assert one(worker.engine, "SELECT failures FROM budgets") == 0
    assert shelf.next().ending == VisitEnding.PARKED
    # Another may follow in the same turn: on a busy machine one request takes longer than the gap.
    assert site.paths[:2] == ["/robots.txt", "/"], "and does not wait for the next probe"


def test_what_may_kill_a_worker_is_not_parked(make: Make, web: Web) -> None:
    worker, shelf = shelved(make)
    start(worker, site_of(web, 3).url())
    sql(worker.engine, "UPDATE hosts SET isolate = 5")
    assert (begin(worker).ending, shelf.held) == ("delay", [])


@pytest.mark.parametrize(("delay_s", "urls"), [(0.0, 50), (0.25, 50), (0.3, 21), (1.0, 9), (30.0, 3)])
def test_after_a_lost_visit_what_it_can_have_held_is_isolated_thrice(
    make: Make, web: Web, delay_s: float, urls: int
) -> None:
    worker = make(default_delay_s=delay_s)
    start(worker, site_of(web, 3).url())
    sql(
        worker.engine,
        """UPDATE hosts SET state = 'taken', lease_token = gen_random_uuid(), taken_at = clock_timestamp(),
                            lease_until = clock_timestamp() - interval '1 s'""",
    )
    offers: list[Offer] = []
    claim.dispatch(worker.engine, worker.settings, offers.extend, worker.rng)
    visit = take_up(worker, offers[0].host_id, offers[0].token)
    assert visit is not None
    assert (one(worker.engine, "SELECT isolate FROM hosts"), visit.pace.isolate) == (50, urls)


# --- what it writes when ----------------------------------------------------------------------------------------


def test_results_wait_for_the_next_settle_and_no_longer(make: Make, web: Web) -> None:
    """A settle every two delays or so."""
    worker, shelf = shelved(make, settle_s=2.5 * DELAY_S)
    site = site_of(web, 9)
    start(worker, site.url())
    begin(worker)
    assert (site.paths, one(worker.engine, "SELECT count(*) FROM fetches")) == (["/robots.txt"], 0)
    shelf.next()
    assert (len(site.paths), settled(worker.engine)) == (2, 1), "the only page that was known"
    shelf.next()
    assert (len(site.paths), settled(worker.engine)) == (3, 1)
    shelf.next()
    assert (len(site.paths), settled(worker.engine)) == (4, 1)
    shelf.next()
    assert (len(site.paths), settled(worker.engine)) == (5, 4)


@pytest.mark.parametrize(("longest", "ending"), [(0.9, "delay"), (1.2, "parked")])
def test_a_turn_far_beyond_a_settle_is_not_waited_for(make: Make, web: Web, longest: float, ending: str) -> None:
    """A pause would not be heard of, and what was picked might not be wanted any more."""
    worker, shelf = shelved(make, settle_s=DELAY_S / 4, jitter=0.0)
    worker = replace(worker, stays=replace(worker.stays, settled_within_s=longest * DELAY_S))
    start(worker, site_of(web, 3).url())
    assert (begin(worker).ending, len(shelf.held)) == (ending, int(ending == "parked"))
    assert one(worker.engine, "SELECT count(*) FROM fetches") == 1, "it is settled before"


def test_a_page_budget_is_kept_to_the_page(make: Make, web: Web) -> None:
    worker, shelf = shelved(make)
    start(worker, site_of(web, 9).url(), budgets=Budgets(max_pages=3))
    begin(worker)
    while shelf.held:
        shelf.next()
    assert one(worker.engine, "SELECT count(*) FROM fetches WHERE kind = 'page'") == 3
    assert one(worker.engine, "SELECT pages_reserved FROM crawls") == 3, "what was picked beyond it is given back"


# --- how it ends ------------------------------------------------------------------------------------------------


def test_a_worker_that_stops_settles_what_is_parked_and_gives_its_host_back(make: Make, web: Web) -> None:
    worker = make(
        default_delay_s=3_600.0, crawl_delay_max_s=7_200.0, visit_max_s=7_200.0, settle_s=7_200.0, lease_s=9_000.0
    )
    worker = replace(worker, stays=replace(worker.stays, parking=DelayQueue(go_on, most=10, threads=2)))
    site = site_of(web, 3)
    start(worker, site.url())
    assert begin(worker).ending == VisitEnding.PARKED
    assert one(worker.engine, "SELECT state FROM hosts") == "taken"
    worker.stop()
    worker.join()
    assert site.paths == ["/robots.txt"]
    (row,) = sql(worker.engine, "SELECT state, lease_token, polite_at > clock_timestamp() AS waits FROM hosts")
    assert row == {"state": "idle", "lease_token": None, "waits": True}
    assert one(worker.engine, "SELECT count(*) FROM fetches") == 1


def test_a_pause_comes_into_force_at_the_next_settle(make: Make, web: Web) -> None:
    worker, shelf = shelved(make, settle_s=1.5 * DELAY_S)
    site = site_of(web, 9)
    start(worker, site.url())
    begin(worker)
    shelf.next()
    with db.transaction(worker.engine) as tx:
        assert hosts.pause(tx, site.host) == "taken"
    reports = [shelf.next(), *([shelf.next()] if shelf.held else [])]
    assert reports[-1].ending == "paused"
    assert (one(worker.engine, "SELECT state FROM hosts"), shelf.held) == ("paused", [])


def test_who_has_lost_the_lease_meanwhile_writes_nothing(make: Make, web: Web) -> None:
    worker, shelf = shelved(make)
    site = site_of(web, 3)
    start(worker, site.url())
    begin(worker)
    sql(worker.engine, "UPDATE hosts SET lease_token = gen_random_uuid()")
    assert shelf.next().ending == "fenced"
    assert settled(worker.engine) == 0
    assert [row["fenced"] for row in sql(worker.engine, "SELECT fenced FROM fetches")] == [True, True]


def test_what_was_picked_is_due_again_when_a_parked_visit_is_lost(make: Make, web: Web) -> None:
    worker, shelf = shelved(make)
    start(worker, site_of(web, 3).url())
    begin(worker)
    shelf.next()
    shelf.held.clear()
    (row,) = sql(worker.engine, "SELECT state, next_fetch_at - lease_until >= interval '0.1 s' AS keeps_gap FROM hosts")
    assert row == {"state": "taken", "keeps_gap": True}
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE state = 'queued'") == 2
