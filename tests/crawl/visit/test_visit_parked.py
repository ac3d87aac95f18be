"""Visits that keep their lease between two requests: what they cost, what they write when, and how they end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, Engine, event

from app.admin.audit import audit
from app.beat import claim
from app.crawl.state.batch import Sent
from app.crawl.state.line import Line, Lines
from app.crawl.state.visit import Stay
from app.crawl.state.worker import Kit
from app.crawl.visit import work as at_work
from app.crawl.visit.visit import CutOff, Report, give_back, go_on, take_up, visit
from app.crawl.visit.work import LOOKED_AFTER_S
from app.errors import ServiceError
from app.model import Budgets, VisitEnding
from app.policy.lifecycle_visit import BatchState
from app.runtime.delay_queue import Parking
from app.store import budgets, db, hosts
from app.store.host_rows import Offer
from tests.crawl.ahead import ahead
from tests.crawl.clock import work
from tests.crawl.crowd import GAP_S, ROAD_S, Shared, gaps, names, unhurried
from tests.crawl.loop import start
from tests.crawl.web import Site, Web, html
from tests.store.rows import one, sql

Make = Callable[..., Kit]
DELAY_S = 0.15
HOUR = 3_600.0


class Shelf(Parking[Stay]):
    """Holds what is parked until the test goes on with it: when the turn comes is the visit's to wait for."""

    def __init__(self, most: int = 10) -> None:
        super().__init__(go_on, most=most, threads=1)
        self.held: list[Stay] = []

    @property
    def has_room(self) -> bool:
        return len(self.held) < self._most

    def park(self, visit: Stay, until: float) -> bool:
        ready_at = visit.ready_at - visit.connect_s
        assert until == ready_at or (visit.promised and until <= min(ready_at, visit.now() + LOOKED_AFTER_S))
        self.held.append(visit)
        return True

    def next(self) -> Report:
        stay = self.held.pop()
        stay.kit.stopping.wait(max(stay.ready_at - stay.now(), 0.0))
        return go_on(stay)


def shelved(make: Make, *, most: int = 10, **settings: Any) -> tuple[Kit, Shelf]:
    """The kit's waits take no time, but for those of a budget, which Postgres counts."""
    shelf = Shelf(most)
    kit = replace(make(default_delay_s=DELAY_S, linger_s=0.05, **settings), parking=shelf)
    return kit if kit.shared.any else ahead(kit), shelf


def site_of(web: Web, pages: int) -> Site:
    """Its first page leads to all others."""
    site = web.site()
    paths = [f"/{number}" for number in range(1, pages)]
    site.pages["/"] = html(*paths, text="The first of them.")
    for path in paths:
        site.pages[path] = html(text=f"What is said at {path} is said nowhere else.")
    return site


def begin(kit: Kit) -> Report:
    offers: list[Offer] = []
    claim.dispatch(kit.engine, kit.settings, offers.extend, kit.rng)
    (offer,) = offers
    return visit(kit, offer.host_id, offer.token)


def settled(engine: Engine) -> int:
    return int(one(engine, "SELECT count(*) FROM urls WHERE state <> 'queued'"))


# --- what it costs ----------------------------------------------------------------------------------------------


def test_a_polite_host_takes_one_visit_for_many_pages_and_keeps_its_gaps(make: Make, web: Web) -> None:
    kit = make(default_delay_s=DELAY_S, linger_s=0.05, address_gap_s=0.05)
    parking: Parking[Stay] = Parking(go_on, most=10, threads=2)
    sites = [site_of(web, 6) for _ in range(3)]
    start(kit, *(site.url() for site in sites))
    work(replace(kit, parking=parking), threads=3)
    parking.close()
    parking.join()
    for site in sites:
        assert sorted(site.paths) == sorted(["/robots.txt", "/", *(f"/{number}" for number in range(1, 6))])
        assert min(site.gaps()) >= DELAY_S
    assert [row["fetches"] for row in sql(kit.engine, "SELECT fetches FROM visits")] == [7, 7, 7]
    proof = audit(kit.engine, kit.settings, None)
    assert (proof.violations, proof.disorder) == (0, 0), proof.verdict


def test_a_longer_visit_than_allowed_is_given_back(make: Make, web: Web) -> None:
    kit, shelf = shelved(make, visit_max_s=2.5 * DELAY_S, settle_s=100.0)
    start(kit, site_of(web, 9).url())
    assert begin(kit).ending == VisitEnding.PARKED
    assert shelf.next().ending == VisitEnding.PARKED
    assert shelf.next() == Report(
        host=one(kit.engine, "SELECT name FROM hosts"), ending=VisitEnding.LONG_ENOUGH, requests=3
    )
    assert one(kit.engine, "SELECT state FROM hosts") == "idle"


def test_where_there_is_no_room_the_visit_leaves(make: Make, web: Web) -> None:
    kit, _ = shelved(make, most=0)
    start(kit, site_of(web, 3).url())
    assert (begin(kit).ending, one(kit.engine, "SELECT state FROM hosts")) == ("delay", "idle")


def test_a_worker_that_stops_sends_no_more_for_what_is_parked(make: Make, web: Web) -> None:
    kit, shelf = shelved(make)
    sites = [site_of(web, 3), site_of(web, 3)]
    start(kit, *(site.url() for site in sites))
    offers: list[Offer] = []
    claim.dispatch(kit.engine, kit.settings, offers.extend, kit.rng)
    assert [visit(kit, offer.host_id, offer.token).ending for offer in offers] == [
        VisitEnding.PARKED,
        VisitEnding.PARKED,
    ]
    due_in_s = max(stay.ready_at - stay.now() for stay in shelf.held)
    kit.stopping.wait(max(due_in_s, 0.0) + 0.01)  # a visit that is not due heeds the end while it waits
    kit.stop()
    assert [shelf.next().ending for _ in offers] == ["worker stops", "worker stops"]
    assert [site.paths for site in sites] == [["/robots.txt"], ["/robots.txt"]]
    assert one(kit.engine, "SELECT count(*) FROM fetches") == 2
    assert {row["state"] for row in sql(kit.engine, "SELECT state FROM hosts")} == {"idle"}


def test_many_links_are_settled_before_it_is_parked(make: Make, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_work, "PARKED_LINKS", 5)
    monkeypatch.setattr(at_work, "PARKED_JOINS", 5)
    kit, shelf = shelved(make, settle_s=100.0)
    start(kit, site_of(web, 9).url())
    begin(kit)
    assert (shelf.next().ending, settled(kit.engine)) == (VisitEnding.PARKED, 1)
    (stay,) = shelf.held
    assert (stay.batch.readings, stay.joined) == ([], {})


def test_an_address_that_answers_again_is_told_at_once(make: Make, web: Web) -> None:
    kit, shelf = shelved(make, address_gap_s=0.05, settle_s=100.0)
    site = site_of(web, 3)
    start(kit, site.url())
    sql(kit.engine, "INSERT INTO budgets (kind, name, failures) VALUES ('address', :name, 1)", name=site.host)
    assert begin(kit).ending == VisitEnding.PARKED
    assert one(kit.engine, "SELECT failures FROM budgets") == 0
    assert (shelf.next().ending, site.paths) == (VisitEnding.PARKED, ["/robots.txt", "/"]), (
        "and does not wait for the next probe"
    )


def test_what_may_kill_a_worker_is_not_parked(make: Make, web: Web) -> None:
    kit, shelf = shelved(make)
    start(kit, site_of(web, 3).url())
    sql(kit.engine, "UPDATE hosts SET isolate = 5")
    assert (begin(kit).ending, shelf.held) == ("delay", [])


@pytest.mark.parametrize(("delay_s", "urls"), [(0.0, 50), (0.25, 50), (0.3, 21), (1.0, 9), (30.0, 3)])
def test_after_a_lost_visit_what_it_can_have_held_is_isolated_thrice(
    make: Make, web: Web, delay_s: float, urls: int
) -> None:
    kit = make(default_delay_s=delay_s)
    start(kit, site_of(web, 3).url())
    sql(
        kit.engine,
        """UPDATE hosts SET state = 'taken', lease_token = gen_random_uuid(), taken_at = clock_timestamp(),
                            lease_until = clock_timestamp() - interval '1 s'""",
    )
    offers: list[Offer] = []
    claim.dispatch(kit.engine, kit.settings, offers.extend, kit.rng)
    stay = take_up(kit, offers[0].host_id, offers[0].token)
    assert stay is not None
    assert (one(kit.engine, "SELECT isolate FROM hosts"), stay.isolate) == (50, urls)


# --- what it writes when ----------------------------------------------------------------------------------------


def test_results_wait_for_the_next_settle_and_no_longer(make: Make, web: Web) -> None:
    """A settle every two delays or so."""
    kit, shelf = shelved(make, settle_s=2.5 * DELAY_S)
    site = site_of(web, 9)
    start(kit, site.url())
    begin(kit)
    assert (site.paths, one(kit.engine, "SELECT count(*) FROM fetches")) == (["/robots.txt"], 0)
    shelf.next()
    assert (len(site.paths), settled(kit.engine)) == (2, 1), "the only page that was known"
    shelf.next()
    assert (len(site.paths), settled(kit.engine)) == (3, 1)
    shelf.next()
    assert (len(site.paths), settled(kit.engine)) == (4, 1)
    shelf.next()
    assert (len(site.paths), settled(kit.engine)) == (5, 4)


def test_a_turn_later_than_a_settle_is_not_waited_for(make: Make, web: Web) -> None:
    """A pause would not be heard of, and what was picked might not be wanted any more."""
    kit, shelf = shelved(make, settle_s=DELAY_S / 2)
    start(kit, site_of(web, 3).url())
    assert (begin(kit).ending, shelf.held) == ("delay", [])


def test_a_page_budget_is_kept_to_the_page(make: Make, web: Web) -> None:
    kit, shelf = shelved(make)
    start(kit, site_of(web, 9).url(), budgets=Budgets(max_pages=3))
    begin(kit)
    while shelf.held:
        shelf.next()
    assert one(kit.engine, "SELECT count(*) FROM fetches WHERE kind = 'page'") == 3
    assert one(kit.engine, "SELECT pages_reserved FROM crawls") == 3, "what was picked beyond it is given back"


# --- how it ends ------------------------------------------------------------------------------------------------


def test_a_worker_that_stops_settles_what_is_parked_and_gives_its_host_back(make: Make, web: Web) -> None:
    kit = make(
        default_delay_s=3_600.0, crawl_delay_max_s=7_200.0, visit_max_s=7_200.0, settle_s=7_200.0, lease_s=9_000.0
    )
    kit = replace(kit, parking=Parking(go_on, most=10, threads=2))
    site = site_of(web, 3)
    start(kit, site.url())
    assert begin(kit).ending == VisitEnding.PARKED
    assert one(kit.engine, "SELECT state FROM hosts") == "taken"
    kit.stop()
    kit.join()
    assert site.paths == ["/robots.txt"]
    (row,) = sql(kit.engine, "SELECT state, lease_token, polite_at > clock_timestamp() AS waits FROM hosts")
    assert row == {"state": "idle", "lease_token": None, "waits": True}
    assert one(kit.engine, "SELECT count(*) FROM fetches") == 1


def test_a_pause_comes_into_force_at_the_next_settle(make: Make, web: Web) -> None:
    kit, shelf = shelved(make, settle_s=1.5 * DELAY_S)
    site = site_of(web, 9)
    start(kit, site.url())
    begin(kit)
    shelf.next()
    with db.transaction(kit.engine) as tx:
        assert hosts.pause(tx, site.host) == "taken"
    reports = [shelf.next(), *([shelf.next()] if shelf.held else [])]
    assert reports[-1].ending == "paused"
    assert (one(kit.engine, "SELECT state FROM hosts"), shelf.held) == ("paused", [])


def test_who_has_lost_the_lease_meanwhile_writes_nothing(make: Make, web: Web) -> None:
    kit, shelf = shelved(make)
    site = site_of(web, 3)
    start(kit, site.url())
    begin(kit)
    sql(kit.engine, "UPDATE hosts SET lease_token = gen_random_uuid()")
    assert shelf.next().ending == "fenced"
    assert settled(kit.engine) == 0
    assert [row["fenced"] for row in sql(kit.engine, "SELECT fenced FROM fetches")] == [True, True]


def test_what_was_picked_is_due_again_when_a_parked_visit_is_lost(make: Make, web: Web) -> None:
    kit, shelf = shelved(make)
    start(kit, site_of(web, 3).url())
    begin(kit)
    shelf.next()
    shelf.held.clear()
    (row,) = sql(kit.engine, "SELECT state, next_fetch_at - lease_until >= interval '0.1 s' AS keeps_gap FROM hosts")
    assert row == {"state": "taken", "keeps_gap": True}
    assert one(kit.engine, "SELECT count(*) FROM urls WHERE state = 'queued'") == 2


# --- Postgres goes away under it --------------------------------------------------------------------------------


def cut_off(kit: Kit, shelf: Shelf, monkeypatch: pytest.MonkeyPatch, query: str) -> Stay:
    """The visit after its first page, when this query of app.store.hosts did not come through."""
    begin(kit)

    def away(*_: Any, **__: Any) -> None:
        raise ServiceError("Postgres", "is away")

    with monkeypatch.context() as patch:
        patch.setattr(hosts, query, away)
        with pytest.raises(CutOff) as raised:
            shelf.next()
    return raised.value.stay


def test_a_visit_that_postgres_left_writes_what_it_holds_when_it_is_back(
    make: Make, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit, shelf = shelved(make)
    start(kit, site_of(web, 3).url(), budgets=Budgets(max_pages=2))
    stay = cut_off(kit, shelf, monkeypatch, "stay")
    assert settled(kit.engine) == 0
    assert give_back(stay).ending == "Postgres was away"
    assert (settled(kit.engine), one(kit.engine, "SELECT count(*) FROM fetches")) == (1, 2)
    (row,) = sql(
        kit.engine, "SELECT state, next_fetch_at - last_contact_at >= interval '0.149 s' AS keeps_gap FROM hosts"
    )
    assert row == {"state": "idle", "keeps_gap": True}
    assert one(kit.engine, "SELECT fetches FROM visits") == 2
    assert one(kit.engine, "SELECT pages FROM v_crawl_progress") == 1


def test_what_was_committed_before_is_not_written_twice(make: Make, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    kit, shelf = shelved(make)
    site, other = site_of(web, 3), web.site()
    site.pages["/"] = html("/1", other.url())
    start(kit, site.url(), scope="any")
    stay = cut_off(kit, shelf, monkeypatch, "wake")
    assert one(kit.engine, "SELECT count(*) FROM fetches") == 2
    give_back(stay)
    assert (settled(kit.engine), one(kit.engine, "SELECT count(*) FROM fetches")) == (1, 2)
    assert one(kit.engine, "SELECT state FROM hosts WHERE name = :name", name=site.host) == "idle"


def test_a_host_that_was_not_committed_is_made_anew(make: Make, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    kit, shelf = shelved(make)
    site, other = site_of(web, 3), web.site()
    site.pages["/"] = html("/1", other.url())
    start(kit, site.url(), scope="any")
    stay = cut_off(kit, shelf, monkeypatch, "stay")
    give_back(stay)
    (row,) = sql(kit.engine, "SELECT h.name FROM urls AS u LEFT JOIN hosts AS h ON h.id = u.host_id WHERE u.url = :url",
                 url=other.url())  # fmt: skip
    assert row == {"name": other.host}


@contextmanager
def unanswered_commit(engine: Engine, *, happens: bool) -> Iterator[None]:
    """The connection breaks at the next commit, before or after Postgres has done it."""

    def lose(connection: Connection) -> None:
        event.remove(engine, "commit", lose)
        driver: Any = connection.connection.dbapi_connection
        driver.commit() if happens else driver.rollback()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    event.listen(engine, "commit", lose)
    yield


@pytest.mark.parametrize("pages", [3, 1])
@pytest.mark.parametrize("happens", [True, False])
def test_what_became_of_a_commit_that_was_not_answered_is_asked_for(
    make: Make, web: Web, happens: bool, pages: int
) -> None:
    """Of a settle after which the visit goes on, and of one that gives the host back, there being nothing else."""
    kit, shelf = shelved(make, settle_s=DELAY_S - 1e-4)
    start(kit, site_of(web, pages).url(), budgets=Budgets(max_pages=50))
    begin(kit)
    with unanswered_commit(kit.engine, happens=happens), pytest.raises(CutOff) as raised:
        shelf.next()
    assert settled(kit.engine) == happens
    assert one(kit.engine, "SELECT state FROM hosts") == ("idle" if happens and pages == 1 else "taken")
    assert give_back(raised.value.stay).ending == "Postgres was away"
    assert (settled(kit.engine), one(kit.engine, "SELECT count(*) FROM fetches")) == (1, 2)
    assert one(kit.engine, "SELECT sum(pages) FROM crawl_hosts") == 1
    (row,) = sql(
        kit.engine, "SELECT state, next_fetch_at - last_contact_at >= interval '0.149 s' AS keeps_gap FROM hosts"
    )
    assert row == {"state": "idle", "keeps_gap": True if pages > 1 else None}
    assert one(kit.engine, "SELECT fetches FROM visits WHERE ending IS NOT NULL") == 2


@pytest.mark.parametrize("xid", ["999999999999", "1"])
def test_a_commit_that_nobody_knows_of_is_left_to_the_lease(
    make: Make, web: Web, monkeypatch: pytest.MonkeyPatch, xid: str
) -> None:
    kit, shelf = shelved(make)
    start(kit, site_of(web, 3).url())
    stay = cut_off(kit, shelf, monkeypatch, "stay")
    stay.batch.sent, stay.batch.state = Sent(xid, leaves=False), BatchState.IN_DOUBT
    if xid == "1":
        stay.taken = stay.taken._replace(lineage=one(kit.engine, "SELECT clock_timestamp()"))
    assert give_back(stay).ending == "in doubt"
    assert (settled(kit.engine), one(kit.engine, "SELECT state FROM hosts")) == (0, "taken")


def test_who_lost_the_lease_while_postgres_was_away_writes_nothing(
    make: Make, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit, shelf = shelved(make)
    start(kit, site_of(web, 3).url())
    stay = cut_off(kit, shelf, monkeypatch, "stay")
    sql(kit.engine, "UPDATE hosts SET lease_token = gen_random_uuid()")
    assert give_back(stay).ending == "fenced"
    assert settled(kit.engine) == 0


# --- budgets that it has to itself ------------------------------------------------------------------------------


def test_who_is_alone_at_an_address_asks_for_it_once_a_visit(
    make: Make, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    reserve = budgets.reserve

    def counting(*args: Any, **named: Any) -> Any:
        answer = reserve(*args, **named)
        asked.append(answer.held)
        return answer

    monkeypatch.setattr(budgets, "reserve", counting)
    kit, shelf = shelved(make, address_gap_s=DELAY_S, visit_max_s=6.5 * DELAY_S)
    site = site_of(web, 30)
    start(kit, site.url())
    begin(kit)
    while shelf.held:
        shelf.next()
    assert asked == [False, True], "the first start makes it its own"
    leaves = one(kit.engine, "SELECT extract(epoch FROM next_at - clock_timestamp())::float FROM budgets")
    assert leaves <= 2 * DELAY_S, "and it lets go when it leaves"
    kit.stopping.wait(2 * DELAY_S)
    begin(kit)
    while shelf.held:
        shelf.next()
    assert asked == [False, True, True]
    assert min(gaps(site.log)) >= DELAY_S - ROAD_S


def test_who_comes_to_share_an_address_waits_for_the_visit_that_holds_it(make: Make, web: Web) -> None:
    shared = Shared(web, names(2), pages=12)
    kit = make(default_delay_s=0.06, linger_s=0.05, address_gap_s=GAP_S, visit_max_s=1.0, resolve=shared.resolve)
    kit = replace(kit, parking=Parking(go_on, most=10, threads=4))
    start(kit, shared.urls[0])
    assert begin(kit).ending == VisitEnding.PARKED
    start(kit, shared.urls[1], name="d")
    work(kit, threads=3)
    kit.stop()
    kit.join()
    assert shared.asked == shared.everything
    assert min(gaps(shared.site.log)) >= GAP_S - ROAD_S
    proof = audit(kit.engine, kit.settings, None)
    assert (proof.violations, proof.disorder) == (0, 0), proof.verdict


def shared_now(kit: Kit, *, promised_s: float) -> None:
    """Others draw on its budget from now on, and starts are promised so far ahead."""
    sql(
        kit.engine,
        """UPDATE budgets SET shared_until = clock_timestamp() + interval '1 hour', next_at = clock_timestamp(),
                              queue_at = clock_timestamp() + make_interval(secs => :promised_s)""",
        promised_s=promised_s,
    )


def at_a_crowded_address(make: Make, web: Web, promised_s: float, **settings: Any) -> tuple[Kit, Shelf]:
    """A visit that has fetched robots.txt, while a queue of promises has grown."""
    kit, shelf = shelved(make, address_gap_s=0.01, visit_max_s=HOUR, **settings)
    kit = unhurried(kit)
    start(kit, site_of(web, 9).url())
    begin(kit)
    (stay,) = shelf.held
    stay.held = None  # it had its budgets to itself until now
    shared_now(kit, promised_s=promised_s)
    return kit, shelf


@pytest.mark.parametrize(("promised_s", "stays"), [(0.8, True), (30.0, False)])
def test_at_a_crowded_address_the_visit_waits_for_a_start_that_is_promised_soon(
    make: Make, web: Web, promised_s: float, stays: bool
) -> None:
    """It keeps its lease and its connection for up to 20 s, and leaves for longer, to come when it was told to."""
    kit, shelf = at_a_crowded_address(make, web, promised_s)
    report = shelf.next()
    if stays:
        assert (report.ending, len(shelf.held)) == ("parked", 1)
        assert shelf.next().ending in {"parked", "nothing due"}, "with its ticket it passes the queue"
    else:
        assert (report.ending, shelf.held) == ("rests", [])
        assert one(kit.engine, "SELECT resting_because FROM hosts") == "address budget"


@pytest.mark.parametrize("pause", [False, True])
def test_a_visit_that_waits_long_for_a_promised_start_hears_of_a_pause(make: Make, web: Web, pause: bool) -> None:
    kit, shelf = at_a_crowded_address(make, web, 15.0)
    assert shelf.next().ending is VisitEnding.PARKED
    assert one(kit.engine, "SELECT count(*) FROM fetches") == 1, "what it has is settled before the wait"
    (stay,) = shelf.held
    shelf.held.clear()
    sql(kit.engine, "UPDATE hosts SET pause_requested = :pause", pause=pause)
    stay.batch.started -= LOOKED_AFTER_S
    assert go_on(stay).ending == ("paused" if pause else VisitEnding.PARKED)
    assert one(kit.engine, "SELECT count(*) FROM visits WHERE ending IS NULL") == (not pause)
    assert one(kit.engine, "SELECT count(*) FROM fetches") == 1, "nothing is asked of the host meanwhile"


class _FullLine(Line):
    is_full = True


class _FullLines(Lines):
    line = _FullLine


def test_a_visit_that_finds_the_line_too_long_comes_again_and_does_not_ask_anew(make: Make, web: Web) -> None:
    kit, shelf = at_a_crowded_address(make, web, 0.0)
    stay = shelf.held[0]
    stay.kit = replace(stay.kit, lines=_FullLines(kit.monotonic))
    assert shelf.next().ending is VisitEnding.PARKED
    assert stay.near is not None
    sql(kit.engine, "DELETE FROM budgets")
    assert shelf.next().ending is VisitEnding.PARKED
    assert one(kit.engine, "SELECT count(*) FROM budgets") == 0, "an ask would have made it"
    stay.kit = replace(stay.kit, lines=kit.lines)
    assert shelf.next().ending in {VisitEnding.PARKED, VisitEnding.NOTHING_DUE}
    assert stay.requests > 1
