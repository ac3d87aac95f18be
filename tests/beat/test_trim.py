"""The caps per crawl and in all: looked at by a janitor, from a sample; what a visit picks says how good a link must
be."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, text

from app.admin import doctor, report
from app.admin.check import Grade
from app.beat import trim
from app.beat.finish import finish
from app.beat.promote import promote
from app.config import Settings
from app.crawl.state.worker import Worker
from app.store import caps, db
from tests.crawl.loop import go, make_settings, run, start
from tests.crawl.waiting import refused, state, waiting
from tests.crawl.web import Site, Web, html
from tests.store.rows import Aside, admission, admit, await_blocked, backend, make_crawl, make_host, one, sql


@pytest.fixture
def settings(database_url: str) -> Callable[..., Settings]:
    return lambda **overrides: make_settings(database_url, **overrides)


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


def stand(
    engine: Engine, crawl_id: int, scores: dict[float, int], *, host_id: int | None = None, **columns: Any
) -> int:
    """So many links with each score wait at a host, which knows it. Returns the host."""
    host_id = host_id or make_host(engine)
    for score, n in scores.items():
        rows = [
            admission(host_id, crawl_id, f"/{crawl_id}/{score}/{number}", score=score, depth=2, found_on="x", **columns)
            for number in range(n)
        ]
        admit(engine, *rows)
    sql(engine, "UPDATE hosts SET unfetched = :n WHERE id = :id", n=sum(scores.values()), id=host_id)
    return host_id


def floors(engine: Engine) -> dict[int, float | None]:
    with db.transaction(engine) as tx:
        return caps.floors(tx)


def left(engine: Engine, crawl_id: int) -> dict[float, int]:
    rows = sql(
        engine,
        "SELECT score, count(*) AS n FROM urls WHERE crawl_id = :id AND state = 'queued' GROUP BY 1",
        id=crawl_id,
    )
    return {row["score"]: row["n"] for row in rows}


def test_nothing_is_looked_at_where_nothing_is_capped(engine: Engine, settings: Callable[..., Settings]) -> None:
    crawl_id = make_crawl(engine)
    stand(engine, crawl_id, {0.5: 30})
    assert trim.trim(engine, settings()) == 0
    assert floors(engine) == {crawl_id: None}


# waiting by score, cap → floor, what is left
LOOKS = [
    ({0.5: 9}, 10, None, {0.5: 9}),
    ({0.5: 10}, 10, 0.5, {0.5: 10}),
    ({1.0: 1, 0.5: 4, 0.25: 5}, 10, 0.25, {1.0: 1, 0.5: 4, 0.25: 5}),
    ({1.0: 1, 0.5: 4, 0.25: 15}, 10, 0.25, {1.0: 1, 0.5: 4, 0.25: 5}),
    ({1.0: 1, 0.5: 14, 0.25: 15}, 10, 0.5, {1.0: 1, 0.5: 9}),
]


@pytest.mark.parametrize(("waiting", "cap", "above", "rest"), LOOKS)
@pytest.mark.parametrize("which", ["frontier_max_per_crawl", "frontier_max"])
def test_a_look(
    engine: Engine,
    settings: Callable[..., Settings],
    which: str,
    waiting: dict[float, int],
    cap: int,
    above: float | None,
    rest: dict[float, int],
) -> None:
    crawl_id = make_crawl(engine)
    host_id = stand(engine, crawl_id, waiting)
    gone = sum(waiting.values()) - sum(rest.values())
    assert trim.trim(engine, settings(**{which: cap})) == gone
    assert floors(engine) == {crawl_id: above}
    assert left(engine, crawl_id) == rest
    assert one(engine, "SELECT unfetched FROM hosts WHERE id = :id", id=host_id) == sum(rest.values())
    assert len(refused(engine)) == gone
    assert set(refused(engine).values()) <= {"cap per crawl, or in all: evicted"}
    assert trim.trim(engine, settings(**{which: cap})) == 0


def test_a_floor_goes_when_there_is_room(engine: Engine, settings: Callable[..., Settings]) -> None:
    crawl_id = make_crawl(engine)
    stand(engine, crawl_id, {0.5: 10})
    trim.trim(engine, settings(frontier_max_per_crawl=10))
    sql(engine, "UPDATE urls SET state = 'gone' WHERE url LIKE '%/3'")
    trim.trim(engine, settings(frontier_max_per_crawl=10))
    assert floors(engine) == {crawl_id: None}


def test_each_crawl_has_its_own_and_all_share_one(engine: Engine, settings: Callable[..., Settings]) -> None:
    large, small, paused = (make_crawl(engine, name) for name in ("large", "small", "paused"))
    stand(engine, large, {0.5: 6, 0.25: 6})
    stand(engine, small, {0.5: 2, 0.25: 1})
    stand(engine, paused, {0.5: 90})
    sql(engine, "UPDATE crawls SET state = 'paused' WHERE id = :id", id=paused)
    trim.trim(engine, settings(frontier_max_per_crawl=8))
    assert floors(engine) == {large: 0.25, small: None}
    assert (left(engine, large), left(engine, small)) == ({0.5: 6, 0.25: 2}, {0.5: 2, 0.25: 1})
    trim.trim(engine, settings(frontier_max=9))
    assert floors(engine) == {large: 0.25, small: 0.25}
    assert sum(left(engine, large).values()) + sum(left(engine, small).values()) == 9
    assert left(engine, paused) == {0.5: 90}, "it is nobody's business now"


def test_seeds_sitemaps_and_what_was_fetched_stay(engine: Engine, settings: Callable[..., Settings]) -> None:
    crawl_id, host_id = make_crawl(engine), make_host(engine)
    admit(engine, *(admission(host_id, crawl_id, f"/seed/{number}", score=0.1) for number in range(5)))
    admit(
        engine, *(admission(host_id, crawl_id, f"/map/{n}", score=0.1, kind="sitemap", found_on="x") for n in range(5))
    )
    admit(engine, *(admission(host_id, crawl_id, f"/had/{number}", score=0.1, found_on="x") for number in range(5)))
    sql(engine, "UPDATE urls SET fetched_at = now() WHERE url LIKE '%/had/%'")
    stand(engine, crawl_id, {0.5: 5}, host_id=host_id)
    assert trim.trim(engine, settings(frontier_max_per_crawl=3)) == 5
    assert list(left(engine, crawl_id).values()) == [15]


@pytest.mark.parametrize(("lease", "gone"), [("taken", 0), ("offered", 0), (None, 5)])
def test_hosts_that_are_visited_are_left_alone(
    engine: Engine, settings: Callable[..., Settings], lease: str | None, gone: int
) -> None:
    """What a visit has picked must not go under its hands."""
    crawl_id = make_crawl(engine)
    stand(engine, crawl_id, {0.5: 10})
    if lease:
        sql(
            engine,
            """UPDATE hosts SET state = :state, lease_token = gen_random_uuid(), lease_until = now(), next_fetch_at =
            now(),
                                taken_at = CASE WHEN :state = 'taken' THEN now() END""",
            state=lease,
        )
    assert trim.trim(engine, settings(frontier_max_per_crawl=5)) == gone
    assert floors(engine) == {crawl_id: 0.5}


def test_deferred_instead(engine: Engine, settings: Callable[..., Settings]) -> None:
    crawl_id = make_crawl(engine)
    stand(engine, crawl_id, {0.5: 10})
    assert trim.trim(engine, settings(frontier_max_per_crawl=4, frontier_full="defer")) == 6
    assert one(engine, "SELECT count(*) FROM urls WHERE state = 'resting' AND NOT retrying AND due_at > now()") == 6
    assert set(refused(engine).values()) == {"cap per crawl, or in all: waits for the next cycle"}


def test_a_large_frontier_is_sampled(engine: Engine) -> None:
    """A look reads so many blocks and no more; what it reckons is near enough."""
    crawl_id, host_id = make_crawl(engine), make_host(engine)
    sql(
        engine,
        """INSERT INTO urls (host_id, crawl_id, key, url, state, lane, score, depth, found_on)
           SELECT :host, :crawl, sha256(n::text::bytea), 'http://h.test/' || n, 'queued', 1, 0.25 + 0.25 * (n % 2), 2,
           'x'
           FROM generate_series(1, 60000) AS n""",
        host=host_id,
        crawl=crawl_id,
    )
    with db.transaction(engine) as tx:
        percent = caps.sample_percent(tx, 200)
        found = caps.unfetched(tx, percent)[crawl_id]
    assert 5 < percent < 40
    assert found == {0.5: pytest.approx(30_000, rel=0.4), 0.25: pytest.approx(30_000, rel=0.4)}
    with db.transaction(engine) as tx:
        assert caps.sample_percent(tx, 1_000_000) == 100
        assert caps.unfetched(tx, 100)[crawl_id] == {0.5: 30_000, 0.25: 30_000}


# --- in a crawl ---------------------------------------------------------------------------------------------------


def work(worker: Worker, rounds: int = 200) -> int:
    """To the crawl's end, with a look between visits. Returns the most that was waiting after a look."""
    most = 0
    for _ in range(rounds):
        go(worker)
        promote(worker.engine)
        trim.trim(worker.engine, worker.settings)
        most = max(most, waiting(worker.engine))
        finish(worker.engine)
        if one(worker.engine, "SELECT count(*) FROM crawls WHERE state = 'active'") == 0:
            return most
    raise AssertionError("no end")


@pytest.mark.parametrize("frontier_full", ["evict", "defer"])
def test_a_crawl_at_its_cap_stays_there_and_ends_by_itself(
    make: Callable[..., Worker], web: Web, frontier_full: str
) -> None:
    """Hosts without end, each with forty links a page; new hosts are not even made."""
    worker = make(frontier_max_per_crawl=24, frontier_full=frontier_full, visit_max_s=0.001, settle_urls=1)
    sites = [web.site() for _ in range(2)]
    for site in sites:
        for depth in range(2):
            site.pages[f"/{depth}"] = html(
                f"/{depth + 1}", *(f"/{depth}/{number}" for number in range(40)), text=f"{site.host}{depth}"
            )
        site.pages["/"] = html("/0", *(f"http://h{site.host.replace('.', '-')}-{n}.invalid/" for n in range(30)))
    start(worker, *(site.url() for site in sites), scope="any")
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now()")
    most = work(worker)
    assert most <= 2 * 41 + 24, "what two visits find between two looks"
    assert one(worker.engine, "SELECT ended_because FROM crawls") == "done"
    assert len(refused(worker.engine)) > 20
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE state = 'queued'") == 0


def test_a_visit_refuses_what_scores_too_low_and_lets_go_of_it(make: Callable[..., Worker], site: Site) -> None:
    worker = make(frontier_max_per_crawl=1_000, settle_urls=1)
    site.pages["/"] = html("/a", "http://never-met.test/a")
    start(worker, site.url(), scope="any")
    crawl_id = one(worker.engine, "SELECT id FROM crawls")
    host_id = one(worker.engine, "SELECT id FROM hosts")
    stand(worker.engine, crawl_id, {0.4: 3, 0.6: 2}, host_id=host_id, lane=0)
    sql(worker.engine, "UPDATE crawls SET admits_above = 0.5")
    go(worker)
    gone = refused(worker.engine)
    assert {url: detail for url, detail in gone.items() if "/0.4/" not in url} == {
        site.url("/a"): "cap per crawl, or in all: not admitted",
        "http://never-met.test/a": "cap per crawl, or in all: not admitted",
    }
    assert list(gone.values()).count("cap per crawl, or in all: evicted") == 3
    assert state(worker.engine, site.url("/a")) is None
    assert one(worker.engine, "SELECT count(*) FROM hosts") == 1, "no host is made for what is refused"


def test_a_floor_that_nobody_set_is_not_kept_to(worker: Worker, site: Site) -> None:
    """Left over from when crawls had a cap."""
    site.pages["/"] = html("/a")
    start(worker, site.url())
    sql(worker.engine, "UPDATE crawls SET admits_above = 1.0")
    run(worker)
    assert site.pages_asked == ["/", "/a"]


def test_the_report_and_doctor_say_so(make: Callable[..., Worker], site: Site) -> None:
    worker = make(frontier_max_per_crawl=5)
    start(worker, site.url())
    sql(worker.engine, "UPDATE crawls SET admits_above = 0.25")
    assert report.report(worker.engine, "c", worker.settings).crawl.admits_above == 0.25
    (check,) = [check for check in doctor.fleet(worker.engine, worker.settings, {}) if check.name == "frontier"]
    assert (check.grade, check.finding) == (Grade.WARN, "crawls at their cap: c")
    assert "TIPTOE_FRONTIER_MAX_PER_CRAWL" in check.remedy


def test_what_was_fetched_meanwhile_is_not_noted_as_evicted(engine: Engine, settings: Callable[..., Settings]) -> None:
    """The sample was before the lock."""
    crawl_id = make_crawl(engine)
    stand(engine, crawl_id, {0.2: 1, 0.5: 2})
    with engine.begin() as tx:
        tx.execute(text("UPDATE urls SET state = 'resting', due_at = now(), fetched_at = now() WHERE score < 0.3"))
        aside = Aside(lambda: trim.trim(engine, settings(frontier_max_per_crawl=2)))
        await_blocked(engine, backend(tx), aside)
    assert aside.outcome() == 0
    assert one(engine, "SELECT count(*) FROM suppressions") == 0
