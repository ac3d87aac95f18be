"""Batches of several hosts settled in one transaction: who joins, and that each is as if it were alone."""

import threading
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine

from app.admin.audit import audit
from app.crawl.state.visit import Visit
from app.crawl.visit.visit import go_on, settle_together
from app.model import Budgets, VisitEnding
from app.runtime.delay_queue import DelayQueue
from app.runtime.group_commit import GATHER_S, MOST, SETTLE_LINKS, CommitGroup, GroupCommit
from tests.crawl.clock import work
from tests.crawl.loop import start
from tests.crawl.set_clock import LONG_S, SetClock
from tests.crawl.web import Answer, Web, html
from tests.runtime.gatherings import DELAY_S, Basket, Make, commits, gathered, gathering, site_of, states
from tests.store.rows import sql


@pytest.fixture
def basket() -> Basket:
    return Basket()


# --- gatherings -------------------------------------------------------------------------------------------------


def test_who_comes_soon_after_the_first_is_settled_with_it() -> None:
    given: list[tuple[float, list[str]]] = []
    settled, clock = threading.Event(), SetClock()

    def settle_it(parked: str | CommitGroup[str]) -> None:
        assert isinstance(parked, CommitGroup)
        given.append((clock.now(), parked.close()))
        settled.set()

    parking: DelayQueue[str | CommitGroup[str]] = DelayQueue(settle_it, most=10, threads=1, clock=clock)
    gatherer = GroupCommit(parking)
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
    parking: DelayQueue[int | CommitGroup[int]] = DelayQueue(lambda _: None, most=100, threads=1)
    gatherer = GroupCommit(parking)
    parked: list[CommitGroup[int]] = []

    def park(gathering: int | CommitGroup[int], until: float) -> bool:
        assert isinstance(gathering, CommitGroup)
        parked.append(gathering)
        return True

    parking.park = park  # type: ignore[method-assign,assignment]
    assert all(gatherer.add(number, links) for number in range(n + 1))
    assert [len(each.close()) for each in parked] == [n, 1]


def test_those_who_are_gathered_take_the_room_that_they_would_take_alone() -> None:
    went_on = threading.Event()
    clock = SetClock()
    parking: DelayQueue[int | CommitGroup[int]] = DelayQueue(
        lambda _: went_on.wait(LONG_S), most=5, threads=1, clock=clock
    )
    gatherer = GroupCommit(parking)
    assert [gatherer.add(number, 1) for number in range(6)] == [True] * 5 + [False]
    assert not parking.park(7, clock.now())
    with parking._lock:
        gathering = parking._heap[0][2]
    assert isinstance(gathering, CommitGroup)
    assert gathering.close() == list(range(5))
    assert parking.park(8, clock.now())
    went_on.set()
    parking.close()
    clock.run()
    parking.join()


# --- as if each were alone --------------------------------------------------------------------------------------


def test_several_hosts_are_settled_in_one_transaction(make: Make, web: Web, basket: Basket) -> None:
    worker = gathering(make, basket)
    sites = [site_of(web, 4) for _ in range(3)]
    start(worker, *(site.url() for site in sites))
    visits = gathered(worker, basket, 3)
    with commits(worker.engine) as counted:
        assert basket.settle() == {site.host: VisitEnding.PARKED for site in sites}
    assert len(counted) == 1
    assert {visit.host_id for visit in basket.shelf.held} == {visit.host_id for visit in visits}
    assert all(visit.picked.due and not visit.batch.results for visit in visits)
    assert all(states(worker.engine, site).count("queued") == 2 for site in sites)
    rows = sql(
        worker.engine,
        """SELECT h.name, count(f) AS fetches, count(DISTINCT v.id) AS visits, min(f.started_at) >= min(v.taken_at) AS
        after,
                  (SELECT sum(fetches) FROM crawl_hosts AS c WHERE c.host_id = h.id) AS counted,
                  (SELECT count(*) FROM pages AS p WHERE p.host_id = h.id AND p.url LIKE '%' || h.name || '%') AS pages
           FROM hosts AS h JOIN fetches AS f ON f.host_id = h.id JOIN visits AS v ON v.id = f.visit_id AND v.host_id =
           h.id
           GROUP BY h.id""",
    )
    own = {"fetches": 3, "visits": 1, "after": True, "counted": 2, "pages": 2}
    assert sorted(rows, key=lambda row: str(row["name"])) == [
        {"name": name, **own} for name in sorted(site.host for site in sites)
    ]


def test_a_crawl_settled_together_is_the_crawl_settled_alone(make: Make, web: Web) -> None:
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
    worker = make(default_delay_s=DELAY_S, linger_s=0.02, settle_s=DELAY_S)
    found = []
    for name in ("alone", "together"):
        joined = 0

        def resume(parked: Visit | CommitGroup[Visit]) -> None:
            nonlocal joined
            if not isinstance(parked, CommitGroup):
                go_on(parked)
                return
            visits = parked.close()
            joined = max(joined, len(visits))
            for _, act in settle_together(visits):
                act()

        parking: DelayQueue[Visit | CommitGroup[Visit]] = DelayQueue(resume, most=100, threads=1)
        start(worker, *(site.url() for site in sites), name=name, budgets=Budgets(max_pages=200))
        gatherer = GroupCommit(parking, soonest_s=2 * DELAY_S / 3) if name == "together" else None
        work(replace(worker, stays=replace(worker.stays, parking=parking, gatherer=gatherer)), threads=1)
        parking.close()
        parking.join()
        found.append(_written(worker.engine, name))
        assert (joined > 1) == (name == "together")
    assert found[0] == found[1]
    assert {row["state"] for row in found[0]["urls"]} == {"resting", "refused"}
    assert found[0]["duplicates"] == [{"urls": 3, "kind": "body"}]
    proof = audit(worker.engine, worker.settings, None)
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
    worker = gathering(make, basket, keep_text=True)
    sites = [site_of(web, 2) for _ in range(2)]
    for site in sites:
        site.pages["/1"] = html(text="the same bytes")
    start(worker, *(site.url() for site in sites))
    gathered(worker, basket, 2)
    basket.settle()
    (row,) = sql(worker.engine, "SELECT url, of_url, kind FROM duplicates")
    assert {row["url"], row["of_url"]} == {site.url("/1") for site in sites}
    assert row["kind"] == "body"


def test_a_link_to_a_host_of_the_gathering_is_picked_at_once(make: Make, web: Web, basket: Basket) -> None:
    worker = gathering(make, basket)
    there = site_of(web, 2)
    here = site_of(web, 2, there.url("/new"))
    there.pages["/new"] = html(text="found by another")
    start(worker, here.url(), there.url())
    gathered(worker, basket, 2)
    with commits(worker.engine) as counted:
        assert basket.settle() == {here.host: "nothing due", there.host: VisitEnding.PARKED}
    assert len(counted) == 1
    (visit,) = basket.shelf.held
    assert [due.url for due in visit.picked.due] == [there.url("/new")]
