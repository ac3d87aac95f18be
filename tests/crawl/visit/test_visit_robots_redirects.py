"""A robots.txt that leads elsewhere, and origins of a host that are dead."""

from collections.abc import Callable
from typing import Any

import pytest

from app.admin.seeds import add
from app.crawl.state.worker import Worker
from app.store import db, hosts
from tests.crawl.loop import bring_forward, go, run, start
from tests.crawl.visit.robots_states import known
from tests.crawl.web import Answer, Page, Site, Web, html, redirect
from tests.store.rows import host, make_host, one, sql, url


def chain(site: Site, hops: int, last: Page) -> None:
    """/robots.txt redirects as often, to other paths of the site, and then there is `last`."""
    for number in range(hops):
        target = redirect(f"/robots-{number + 1}")
        if number == 0:
            site.robots = target
        else:
            site.pages[f"/robots-{number}"] = target
    site.pages[f"/robots-{hops}"] = last


DISALLOW = "User-agent: *\nDisallow: /no"


@pytest.mark.parametrize(
    ("hops", "last", "availability", "asked"),
    [
        (1, DISALLOW, "available", ["/"]),
        (5, DISALLOW, "available", ["/"]),
        (6, DISALLOW, "unavailable", ["/", "/no"]),  # as 404
        (1, Answer(status=404), "unavailable", ["/", "/no"]),
        (1, redirect("mailto:a@b.test"), "unavailable", ["/", "/no"]),
        (1, Answer(status=302), "unavailable", ["/", "/no"]),  # whereto?
        (1, redirect(""), "unavailable", ["/", "/no"]),
    ],
)
def test_rfc9309_redirects_are_followed_for_five_hops(
    worker: Worker, web: Web, hops: int, last: Page, availability: str, asked: list[str]
) -> None:
    site = web.site()
    chain(site, hops, last)
    site.pages |= {"/": html("/no"), "/no": html()}
    start(worker, site.url())
    run(worker)
    assert known(worker) == availability
    assert [path for path in site.pages_asked if "robots" not in path] == asked


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_host_is_followed_under_that_hosts_lease(worker: Worker, web: Web, status: int) -> None:
    site, other = web.site(), web.site()
    site.robots = redirect(other.url("/its-robots"), status)
    seen: list[dict[str, Any]] = []

    def watched(_: object) -> str:
        seen.append(host(worker.engine, one(worker.engine, "SELECT id FROM hosts WHERE name = :name", name=other.host)))
        return DISALLOW

    other.pages["/its-robots"] = watched
    site.pages |= {"/": html("/no"), "/no": html()}
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/"]
    assert other.paths == ["/its-robots"]
    assert (seen[0]["state"], seen[0]["lease_until"] > seen[0]["now"]) == ("taken", True)
    after = host(worker.engine, seen[0]["id"])
    assert (after["state"], after["lease_token"], after["last_contact_at"] is not None) == ("idle", None, True)
    logged = sql(worker.engine, "SELECT host_id, kind FROM fetches WHERE url = :url", url=other.url("/its-robots"))
    assert logged == [{"host_id": after["id"], "kind": "robots"}]


def busy(worker: Worker, site: Site) -> None:
    """Another visit holds the host, for a long time."""
    host_id = make_host(worker.engine, site.host)
    sql(
        worker.engine,
        """UPDATE hosts SET state = 'taken', lease_token = gen_random_uuid(), taken_at = now(),
                            lease_until = now() + interval '1 day', next_fetch_at = now() + interval '1 day'
           WHERE id = :id""",
        id=host_id,
    )


def test_a_redirect_to_a_host_that_is_taken_waits(make: Callable[..., Worker], web: Web) -> None:
    worker = make(backoff_base_s=1000.0, backoff_max_s=1000.0)
    site, other = web.site(), web.site()
    site.robots = redirect(other.url("/its-robots"))
    other.pages["/its-robots"] = DISALLOW
    busy(worker, other)
    start(worker, site.url())
    go(worker)
    assert (site.paths, other.paths) == (["/robots.txt"], [])
    assert url(worker.engine, site.url())["state"] == "queued"
    sql(
        worker.engine,
        """UPDATE hosts SET state = 'idle', lease_token = NULL, lease_until = NULL, taken_at = NULL, next_fetch_at =
        NULL
           WHERE name = :name""",
        name=other.host,
    )
    bring_forward(worker.engine)
    run(worker)
    assert other.paths == ["/its-robots"]
    assert site.pages_asked == ["/"]


def test_a_host_is_not_given_up_because_another_is_busy(make: Callable[..., Worker], web: Web) -> None:
    worker = make(new_host_failures_max=2)
    site, other = web.site(), web.site()
    site.robots = redirect(other.url("/its-robots"))
    busy(worker, other)
    start(worker, site.url())
    for _ in range(5):
        go(worker)
        bring_forward(worker.engine)
        sql(
            worker.engine, "UPDATE hosts SET lease_until = now() + interval '1 day' WHERE name = :name", name=other.host
        )
    assert url(worker.engine, site.url())["state"] == "queued"


def test_a_redirect_between_hosts_keeps_to_the_pace_of_the_other(make: Callable[..., Worker], web: Web) -> None:
    """The other host was contacted just now: its robots.txt has to wait, and so has everything here."""
    worker = make()
    site, other = web.site(), web.site()
    site.robots = redirect(other.url("/its-robots"))
    other.pages["/its-robots"] = DISALLOW
    host_id = make_host(worker.engine, other.host, delay_s=3600.0)
    sql(worker.engine, "UPDATE hosts SET polite_at = now() + interval '1 hour' WHERE id = :id", id=host_id)
    start(worker, site.url())
    go(worker)
    assert (other.paths, site.pages_asked) == ([], [])


def test_the_log_has_the_delay_of_the_host_that_was_asked(make: Callable[..., Worker], web: Web) -> None:
    worker = make()
    site, other = web.site(), web.site()
    site.robots = redirect(other.url("/its-robots"))
    other.pages["/its-robots"] = DISALLOW
    make_host(worker.engine, other.host, delay_s=0.25)
    start(worker, site.url())
    with db.transaction(worker.engine) as tx:
        hosts.slow(tx, site.host, 0.05)
    run(worker)
    logged = one(worker.engine, "SELECT delay_s FROM fetches WHERE url = :url", url=other.url("/its-robots"))
    assert logged == 0.25


def dead_beside(web: Web, site: Site) -> Site:
    """Another origin of the same host, where nothing listens."""
    dead = web.site(beside=site)
    dead.close()
    return dead


def test_a_dead_port_stops_neither_the_hosts_other_origins_nor_its_address(
    make: Callable[..., Worker], web: Web
) -> None:
    """With budgets per address, and rests that are longer than the test."""
    worker = make(backoff_base_s=600.0, backoff_max_s=3_600.0, address_gap_s=0.01)
    good = web.site()
    dead = dead_beside(web, good)
    good.pages |= {f"/{n}": html(f"/{n + 1}") for n in range(1, 20)}
    start(worker, good.url("/1"), *(dead.url(f"/{n}") for n in range(5)))
    for _ in range(20):
        go(worker)
    assert len(good.pages_asked) == 20
    row = host(worker.engine, one(worker.engine, "SELECT id FROM hosts"))
    assert (row["state"], row["blocked_until"]) == ("idle", None)
    assert row["resting_because"] == "robots.txt out of reach"
    assert row["next_fetch_at"] > row["now"], "it waits for the dead origin's next turn"
    assert one(worker.engine, "SELECT count(*) FROM budgets WHERE blocked_until IS NOT NULL") == 0
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE state = 'queued'") == 5


def test_a_url_of_a_healthy_origin_ends_the_wait_for_a_dead_one(make: Callable[..., Worker], web: Web) -> None:
    worker = make(backoff_base_s=600.0, backoff_max_s=3_600.0)
    good = web.site()
    dead = dead_beside(web, good)
    good.pages |= {"/1": html(), "/2": html()}
    crawl = start(worker, good.url("/1"), dead.url())
    for _ in range(3):
        go(worker)
    add(worker.engine, worker.settings, crawl, [good.url("/2")])
    go(worker)
    assert good.pages_asked == ["/1", "/2"]
    add(worker.engine, worker.settings, crawl, [dead.url("/2")])
    assert [report.requests for report in go(worker)] == [0], "looked at, and nothing is asked of the dead one"


def test_nobody_waits_for_a_dead_origin_that_has_nothing_queued(make: Callable[..., Worker], web: Web) -> None:
    worker = make(backoff_base_s=600.0, backoff_max_s=3_600.0)
    good = web.site()
    dead = dead_beside(web, good)
    good.pages["/1"] = html()
    crawl = start(worker, dead.url())
    go(worker)
    sql(worker.engine, "DELETE FROM urls")
    add(worker.engine, worker.settings, crawl, [good.url("/1")])
    reports = go(worker)
    assert good.pages_asked == ["/1"]
    assert [report.ending for report in reports] == ["nothing due"]
    row = host(worker.engine, one(worker.engine, "SELECT id FROM hosts"))
    assert (row["next_fetch_at"], row["resting_because"]) == (None, None)


def asked_again_in_s(worker: Worker) -> float:
    return float(one(worker.engine, "SELECT extract(epoch FROM expires_at - fetched_at) FROM robots"))


def test_a_redirect_to_a_host_that_rests_waits_for_its_next_contact(worker: Worker, web: Web) -> None:
    site, other = web.site(), web.site()
    site.robots = redirect(other.url("/its-robots"))
    host_id = make_host(worker.engine, other.host)
    sql(worker.engine, "UPDATE hosts SET blocked_until = now() + interval '20 minutes' WHERE id = :id", id=host_id)
    start(worker, site.url())
    for _ in range(4):
        go(worker)
    assert (site.paths, other.paths) == (["/robots.txt"], [])
    assert 1_100 < asked_again_in_s(worker) < 1_201


def test_a_redirect_to_a_host_whose_end_nobody_knows_is_tried_ever_more_rarely(
    make: Callable[..., Worker], web: Web
) -> None:
    worker = make()
    site, other = web.site(), web.site()
    site.robots = redirect(other.url("/its-robots"))
    busy(worker, other)
    start(worker, site.url())
    go(worker)
    assert asked_again_in_s(worker) == 10
    ago = "UPDATE robots SET unreachable_since = now() - interval '5 minutes', expires_at = now() - interval '1 second'"
    sql(worker.engine, ago)
    bring_forward(worker.engine)
    go(worker)
    assert site.paths == ["/robots.txt"] * 2
    assert 290 < asked_again_in_s(worker) < 400


def test_a_redirect_to_a_forbidden_address_is_a_failure_that_backs_off(make: Callable[..., Worker], web: Web) -> None:
    worker = make(backoff_base_s=600.0, backoff_max_s=7_200.0)
    site = web.site()
    site.robots = redirect("http://10.11.12.13/robots.txt")
    start(worker, site.url())
    for _ in range(3):
        go(worker)
    assert site.paths == ["/robots.txt"]
    assert (one(worker.engine, "SELECT failures FROM robots"), asked_again_in_s(worker)) == (1, 600)
