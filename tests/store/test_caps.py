"""The queries of the caps: who is a stranger, who is weakest, how many wait, and that asking costs little."""

import json
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, text

from app.policy.candidate import standing
from app.store import caps, crawls, db, urls
from app.store.url_rows import Admission
from tests.store.revisions import MIGRATIONS
from tests.store.rows import (
    admission,
    admit,
    make_crawl,
    make_host,
    one,
    sql,
    wanted,
    weak,
)

GOOD_S = 300.0


def link(host_id: int, crawl_id: int, path: str, **columns: Any) -> Admission:
    """Found on a page, unlike a seed."""
    return admission(host_id, crawl_id, path, **{"depth": 2, "found_on": "http://x.test/", **columns})


def weakest(engine: Engine, host_id: int, **where: Any) -> list[str]:
    """Paths."""
    with db.transaction(engine) as tx:
        found = caps.weakest(tx, host_id=host_id, **{"n": 100, **where})
    return [each.url.split("/", 3)[3] for each in found]


def test_strangers_are_those_without_a_row(engine: Engine) -> None:
    crawl_id, other, host_id = make_crawl(engine), make_crawl(engine, "other"), make_host(engine)
    rows = [link(host_id, crawl_id, f"/{number}") for number in range(5)]
    admit(engine, rows[1], rows[3], link(host_id, other, "/0"))
    sql(engine, "UPDATE urls SET state = 'gone' WHERE url LIKE '%/3'")
    keys: list[tuple[int | None, int, bytes]] = [(row["host_id"], row["crawl_id"], row["key"]) for row in rows]
    keys.append((None, crawl_id, rows[1]["key"]))  # of a host that has no row
    with db.transaction(engine) as tx:
        assert caps.strangers(tx, keys) == [0, 2, 4, 5]


def test_the_lowest_score_is_the_weakest_then_the_last_lane_then_the_youngest(engine: Engine) -> None:
    crawl_id, host_id = make_crawl(engine), make_host(engine)
    for path, score, lane in [
        ("a", 0.5, 1),
        ("b", 0.25, 1),
        ("c", 0.25, 1),
        ("d", 0.25, 3),
        ("e", 0.25, 0),
        ("f", 0.1, 0),
    ]:
        admit(engine, link(host_id, crawl_id, f"/{path}", score=score, lane=lane))
    assert weakest(engine, host_id) == ["f", "d", "c", "b", "e", "a"]
    assert weakest(engine, host_id, n=2) == ["f", "d"]
    assert weakest(engine, host_id, below=0.25) == ["f"]
    with db.transaction(engine) as tx:
        spared = [
            urls.pick(tx, [wanted(host_id, 1)])[0].key,
            *(each.key for each in caps.weakest(tx, host_id=host_id, n=1)),
        ]
    assert set(weakest(engine, host_id)) - set(weakest(engine, host_id, spared=spared)) == {"e", "f"}


def test_scores_of_thirds_are_below_no_third(engine: Engine) -> None:
    """`real` has rounded 1/3 up: a link that scores 1/3 is no better."""
    crawl_id, host_id = make_crawl(engine), make_host(engine)
    admit(engine, link(host_id, crawl_id, "/a", score=1 / 3))
    assert weakest(engine, host_id, below=standing(1 / 3, 1)[0]) == []
    with db.transaction(engine) as tx:
        (found,) = caps.weakest(tx, host_id=host_id, n=1)
    assert standing(found.score, found.lane) == standing(1 / 3, 1)


@pytest.mark.parametrize(
    ("columns", "change"),
    [
        ({"depth": 0, "found_on": None}, ""),
        ({"kind": "sitemap"}, ""),
        ({}, "UPDATE urls SET fetched_at = now()"),
        ({}, "UPDATE urls SET state = 'resting', due_at = now()"),
        ({}, "UPDATE crawls SET state = 'paused'"),
    ],
)
def test_seeds_sitemaps_what_was_fetched_and_what_is_not_to_be_do_not_give_way(
    engine: Engine, columns: dict[str, Any], change: str
) -> None:
    crawl_id, host_id = make_crawl(engine), make_host(engine)
    admit(engine, link(host_id, crawl_id, "/a", **columns))
    if change:
        sql(engine, change)
    assert weakest(engine, host_id) == []


def test_what_was_fetched_is_waded_through_as_far_as_it_goes(engine: Engine) -> None:
    crawl_id, host_id = make_crawl(engine), make_host(engine)
    admit(engine, *(link(host_id, crawl_id, f"/old/{number}", score=0.1) for number in range(caps.WADED + 50)))
    sql(engine, "UPDATE urls SET fetched_at = now()")
    admit(engine, link(host_id, crawl_id, "/new", score=0.2))
    assert weakest(engine, host_id, n=51) == ["new"]
    assert weakest(engine, host_id, n=50) == []


@pytest.mark.parametrize("leave", ["evict", "defer"])
def test_only_what_is_queued_and_was_never_fetched_leaves(engine: Engine, leave: str) -> None:
    crawl_id, host_id = make_crawl(engine), make_host(engine)
    rows = [link(host_id, crawl_id, f"/{number}") for number in range(3)]
    admit(engine, *rows)
    sql(engine, "UPDATE urls SET fetched_at = now() WHERE url LIKE '%/1'")
    sql(engine, "UPDATE urls SET state = 'gone' WHERE url LIKE '%/2'")
    values = {"due_s": 60.0} if leave == "defer" else {}
    with db.transaction(engine) as tx:
        gone = getattr(caps, leave)(tx, [weak(row) for row in rows], **values)
    assert gone == {weak(rows[0]).where}
    found = {row["url"][-1]: row["state"] for row in sql(engine, "SELECT url, state FROM urls")}
    assert found == {"1": "queued", "2": "gone"} | ({"0": "resting"} if leave == "defer" else {})


# --- how many -----------------------------------------------------------------------------------------------------


def recount(engine: Engine, host_id: int, most: int = 1_000) -> tuple[int, bool] | None:
    with db.transaction(engine) as tx:
        return caps.recount(tx, host_id=host_id, good_s=GOOD_S, most=most)


def long_ago(engine: Engine) -> None:
    sql(engine, "UPDATE hosts SET unfetched_at = now() - interval '1 hour'")


def test_a_count_is_of_what_waits_for_its_first_fetch_in_active_crawls(engine: Engine) -> None:
    active, paused = make_crawl(engine, "active"), make_crawl(engine, "paused", state="paused")
    host_id, other = make_host(engine), make_host(engine)
    admit(
        engine,
        *(link(host_id, crawl_id, f"/{number}", lane=number) for crawl_id in (active, paused) for number in range(4)),
    )
    admit(engine, link(other, active, "/x"), link(host_id, active, "/r", state="refused", cause="robots.txt"))
    sql(engine, "UPDATE urls SET fetched_at = now() WHERE url LIKE '%/3'")
    long_ago(engine)
    assert recount(engine, host_id) == (3, True)
    assert recount(engine, host_id, most=4) == (3, False), "a look at 4 says that there may be more"
    assert recount(engine, host_id, most=5) == (3, True)


def test_a_count_holds_for_a_while_and_until_a_crawl_starts_or_ends(engine: Engine) -> None:
    crawl_id, host_id = make_crawl(engine), make_host(engine)
    assert recount(engine, host_id) is None
    long_ago(engine)
    assert recount(engine, host_id) == (0, True)
    with db.transaction(engine) as tx:
        caps.counted(tx, host_id=host_id, unfetched=7)
        assert caps.estimate(tx, host_id) == 7
    assert recount(engine, host_id) is None
    for change in (
        "UPDATE crawls SET state = 'paused', state_since = clock_timestamp()",
        "INSERT INTO crawls (name, scope) VALUES ('another', 'any')",
    ):
        sql(engine, change)
        assert recount(engine, host_id) == (0, True)
        with db.transaction(engine) as tx:
            caps.counted(tx, host_id=host_id, unfetched=0)
        assert recount(engine, host_id) is None
    assert crawl_id


@pytest.mark.parametrize("act", ["start", "pause", "finish", "finish_done"])
def test_whatever_starts_or_ends_a_crawl_says_when(engine: Engine, act: str) -> None:
    crawl_id = make_crawl(engine, state="paused" if act == "start" else "active")
    before = one(engine, "SELECT clock_timestamp()")
    with db.transaction(engine) as tx:
        if act == "start":
            crawls.start(tx, crawl_id)
        elif act == "finish_done":
            assert crawls.finish_done(tx, crawl_id) == "c"
        else:
            assert getattr(crawls, act)(tx, crawl_id)
    assert one(engine, "SELECT state_since FROM crawls") > before
    if act == "start":
        with db.transaction(engine) as tx:
            crawls.start(tx, crawl_id, restart_clock=True)
        assert one(engine, "SELECT state_since < active_since FROM crawls"), "it was active already"


def test_a_host_swells_and_shrinks_but_not_below_nothing(engine: Engine) -> None:
    host_id = make_host(engine)
    with db.transaction(engine) as tx:
        assert [caps.swell(tx, host_id=host_id, n=n) for n in (5, 2, -4, -9)] == [5, 7, 3, 0]


def test_full_hosts(engine: Engine) -> None:
    crawl_id = make_crawl(engine)
    for name, n in (("a.test", 5), ("b.test", 9), ("c.test", 4)):
        host_id = make_host(engine, name, unfetched=n)
        if name != "b.test":
            sql(engine, "INSERT INTO crawl_hosts (crawl_id, host_id) VALUES (:c, :h)", c=crawl_id, h=host_id)
    with db.transaction(engine) as tx:
        assert [row["name"] for row in caps.full_hosts(tx, cap=5, n=9)] == ["b.test", "a.test"]
        assert [row["name"] for row in caps.full_hosts(tx, cap=5, n=1)] == ["b.test"]
        assert caps.full_hosts_of(tx, crawl_id, cap=5, n=9) == ["a.test"]


# --- what it costs, and locks -------------------------------------------------------------------------------------


def plan(engine: Engine, query: str, **values: Any) -> dict[str, Any]:
    with engine.begin() as tx:
        tx.execute(text("ANALYZE urls"))
        ((found,),) = tx.execute(text("EXPLAIN (ANALYZE, FORMAT JSON) " + query), values).all()
        read: list[dict[str, dict[str, Any]]] = json.loads(found) if isinstance(found, str) else found
        return read[0]["Plan"]


def scans(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node] * ("Relation Name" in node) + [each for child in node.get("Plans", ()) for each in scans(child)]


def test_the_weakest_are_found_from_the_end_of_the_queue(engine: Engine) -> None:
    """By its index, backwards: of 20,000 that wait it looks at those that it brings."""
    crawl_id, host_id = make_crawl(engine), make_host(engine)
    sql(
        engine,
        """INSERT INTO urls (host_id, crawl_id, key, url, state, lane, score, depth, found_on)
           SELECT :host, :crawl, sha256(n::text::bytea), 'http://h.test/' || n, 'queued', 1, 1.0 / (1 + n % 40), 2, 'x'
           FROM generate_series(1, 20000) AS n""",
        host=host_id,
        crawl=crawl_id,
    )
    query = db.queries("caps")["weakest"].text
    values = {"host_id": host_id, "n": 5, "most": 10, "below": 0.9, "spared": []}
    found = [each for each in scans(plan(engine, query, **values)) if each["Relation Name"] == "urls"]
    assert {each.get("Index Name") for each in found} == {"urls_queue"}
    assert sum(each["Actual Rows"] * each["Actual Loops"] for each in found) <= 4 * 10


def test_hosts_that_are_visited_are_not_waited_for(engine: Engine) -> None:
    idle, paused, busy = make_host(engine), make_host(engine), make_host(engine)
    sql(engine, "UPDATE hosts SET state = 'paused' WHERE id = :id", id=paused)
    sql(
        engine,
        """UPDATE hosts SET state = 'taken', lease_token = gen_random_uuid(), lease_until = now(), taken_at = now(),
                            next_fetch_at = now() WHERE id = :id""",
        id=busy,
    )
    with db.transaction(engine) as tx:
        assert caps.lock_unvisited(tx, {idle, paused, busy}) == {idle, paused}
        with db.transaction(engine) as other:
            assert caps.lock_unvisited(other, {idle, paused, busy}) == set()


# --- the migration ------------------------------------------------------------------------------------------------


def test_estimates_start_exact(engine: Engine) -> None:
    """What waits when the column comes is counted."""
    active, done = make_crawl(engine), make_crawl(engine, "done", state="finished", finished_at=text("now()"))
    first, second = make_host(engine), make_host(engine)
    admit(engine, *(link(first, active, f"/{number}") for number in range(6)), link(first, done, "/x"))
    sql(engine, "UPDATE urls SET fetched_at = now() WHERE url LIKE '%/1'")
    sql(engine, "UPDATE urls SET state = 'gone' WHERE url LIKE '%/2'")
    config = Config()
    config.set_main_option("script_location", str(Path(MIGRATIONS)))
    for way, revision in ((command.downgrade, "0005"), (command.upgrade, "head")):
        with db.transaction(engine) as tx:
            config.attributes["connection"] = tx
            way(config, revision)
    found = {row["id"]: row["unfetched"] for row in sql(engine, "SELECT id, unfetched FROM hosts")}
    assert found == {first: 4, second: 0}
