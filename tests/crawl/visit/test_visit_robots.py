"""robots.txt in a visit: before anything else, followed, honoured, reopened, and complete disallow while out of reach."""

from collections.abc import Callable
from typing import Any

import pytest

from app.admin.seeds import add
from app.crawl.state.worker import Kit
from app.model import Cause
from app.store import db, hosts
from tests.crawl.loop import bring_forward, go, run, start
from tests.crawl.web import Answer, Page, Site, Web, html, redirect
from tests.store.rows import host, make_host, one, sql, url


def expire(kit: Kit) -> None:
    """Every robots.txt is to be fetched anew, as if its time had passed."""
    sql(kit.engine, "UPDATE robots SET expires_at = now() - interval '1 second'")


def known(kit: Kit) -> str:
    return str(one(kit.engine, "SELECT availability FROM robots ORDER BY host_id LIMIT 1"))


def chain(site: Site, hops: int, last: Page) -> None:
    """/robots.txt redirects as often, to other paths of the site, and then there is `last`."""
    for number in range(hops):
        target = redirect(f"/robots-{number + 1}")
        if number == 0:
            site.robots = target
        else:
            site.pages[f"/robots-{number}"] = target
    site.pages[f"/robots-{hops}"] = last


@pytest.mark.parametrize(
    "line",
    [
        "Sitemap: http://h/\x00s.xml",
        "Crawl-delay: \x00",
        "Crawl-delay: 0\x00",
        "Request-rate: 1\x00/5",
        "Visit-time: 00\x0000-2400",
        "Disallow: /\x00",
        "User-agent: \x00",
        "\x00",
    ],
)
def test_a_nul_in_any_line_costs_no_visit(kit: Kit, web: Web, line: str) -> None:
    site = web.site()
    site.robots = Answer(body=f"User-agent: *\n{line}\nDisallow: /no".encode(), headers={"ETag": '"a"'})
    site.pages["/"] = html("/no", "/yes")
    start(kit, site.url())
    run(kit)
    assert site.paths[:2] == ["/robots.txt", "/"]
    assert site.pages_asked == ["/", "/yes"]


# --- 2xx --------------------------------------------------------------------------------------------------------


def test_disallowed_paths_are_never_requested_and_kept_as_refused(kit: Kit, web: Web) -> None:
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /no\nAllow: /no/but\n\nUser-agent: other\nDisallow: /"
    site.pages["/"] = html("/yes", "/no/1", "/no/but", "/no")
    site.pages |= {"/yes": html("/no/1"), "/no/but": html()}
    start(kit, site.url(), site.url("/no/seed"))
    run(kit)
    assert sorted(site.paths) == ["/", "/no/but", "/robots.txt", "/yes"]
    refused = sql(kit.engine, "SELECT url, cause, detail FROM urls WHERE state = 'refused' ORDER BY url")
    assert [row["url"] for row in refused] == [site.url(path) for path in ("/no", "/no/1", "/no/seed")]
    assert {row["cause"] for row in refused} == {Cause.ROBOTS}
    assert [row["detail"] for row in refused] == [None, None, "line 2: Disallow: /no"]


def test_our_own_group_counts_before_the_star(kit: Kit, web: Web) -> None:
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /\n\nUser-agent: tiptoe\nDisallow: /no"
    site.pages["/"] = html("/yes", "/no")
    start(kit, site.url())
    run(kit)
    assert site.pages_asked == ["/", "/yes"]


def test_sitemap_lines_are_collected(kit: Kit, web: Web) -> None:
    site = web.site()
    site.robots = "Sitemap: http://x.test/s.xml\nUser-agent: *\nCrawl-delay: 0.01\nSitemap: /t.xml"
    start(kit, site.url())
    run(kit)
    (row,) = sql(kit.engine, "SELECT sitemaps, crawl_delay_raw, crawl_delay_s FROM robots")
    assert (row["sitemaps"][0], row["crawl_delay_raw"], row["crawl_delay_s"]) == ("http://x.test/s.xml", "0.01", 0.01)


@pytest.mark.parametrize(
    "answer", [Answer(), Answer(body=b"\x00\xff<html>" * 100), Answer(body=b"Disallow: /" * 60_000)]
)
def test_whatever_a_200_holds_is_a_robots_txt(kit: Kit, web: Web, answer: Answer) -> None:
    site = web.site()
    site.robots = answer
    site.pages["/"] = html()
    start(kit, site.url())
    run(kit)
    assert site.paths == ["/robots.txt", "/"]
    assert known(kit) == "available"


def test_it_is_fetched_once_for_the_fleet_while_it_is_fresh(make: Callable[..., Kit], web: Web) -> None:
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /no"
    site.pages |= {"/": html("/no/1"), "/2": html("/no/2")}
    first, second = make(), make()
    start(first, site.url())
    run(first)
    start(second, site.url("/2"), name="other")
    run(second)
    assert site.paths == ["/robots.txt", "/", "/2"]


def test_a_changed_robots_txt_reopens_what_it_allows_now(kit: Kit, web: Web) -> None:
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /a\nDisallow: /b"
    site.pages |= {"/": html("/a", "/b", "/c"), "/a": html(), "/c": html(), "/later": html()}
    start(kit, site.url())
    run(kit)
    assert site.pages_asked == ["/", "/c"]
    site.robots = "User-agent: *\nDisallow: /b"
    expire(kit)
    start(kit, site.url("/later"), name="wakes the host")
    sql(kit.engine, "UPDATE crawls SET state = 'active', finished_at = NULL")
    run(kit)
    assert site.pages_asked[2:] in (["/later", "/a"], ["/a", "/later"])
    assert url(kit.engine, site.url("/a"))["cause"] is None
    assert url(kit.engine, site.url("/b"))["state"] == "refused"


def test_a_robots_txt_that_stays_the_same_is_revalidated_and_reopens_nothing(kit: Kit, web: Web) -> None:
    site = web.site()
    site.robots = Answer(headers={"ETag": '"r1"'}, body=b"User-agent: *\nDisallow: /a")
    site.pages |= {"/": html("/a"), "/later": html()}
    start(kit, site.url())
    run(kit)
    expire(kit)
    start(kit, site.url("/later"), name="wakes the host")
    run(kit)
    assert [hit.status for hit in site.log if hit.path == "/robots.txt"] == [200, 304]
    assert url(kit.engine, site.url("/a"))["state"] == "refused"
    assert one(kit.engine, "SELECT expires_at > now() FROM robots") is True


def test_a_stricter_robots_txt_refuses_what_is_queued(kit: Kit, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html()
    start(kit, site.url())
    run(kit)
    site.robots = "User-agent: *\nDisallow: /late"
    expire(kit)
    start(kit, site.url("/later"), name="more")
    run(kit)
    assert site.pages_asked == ["/"]
    assert url(kit.engine, site.url("/later"))["state"] == "refused"


def test_links_to_other_hosts_are_judged_by_what_is_known_of_them(kit: Kit, web: Web) -> None:
    first, second = web.site(), web.site()
    second.robots = "User-agent: *\nDisallow: /no"
    second.pages["/"] = html()
    first.pages["/"] = html(second.url("/no"), second.url("/yes"))
    start(kit, second.url())
    run(kit)
    start(kit, first.url(), name="later", scope="any")
    run(kit)
    assert second.pages_asked == ["/", "/yes"]
    assert url(kit.engine, second.url("/no"))["cause"] == "robots.txt"


def test_a_cached_robots_txt_of_another_host_costs_no_url(kit: Kit, web: Web) -> None:
    first, second = web.site(), web.site()
    second.robots = "User-agent: *\nDisallow: /a"
    second.pages["/"] = html()
    first.pages |= {"/1": html(second.url("/a1")), "/2": html(second.url("/a2"))}
    start(kit, second.url())
    run(kit)
    start(kit, first.url("/1"), name="one", scope="any", keep_fresh=True)
    for _ in range(3):
        go(kit)
    assert url(kit.engine, second.url("/a1"))["state"] == "refused"
    second.robots = "User-agent: *\nDisallow: /b"
    expire(kit)
    start(kit, second.url("/c"), name="two", keep_fresh=True)  # the host is visited: /a1 is reopened
    for _ in range(3):
        go(kit)
    assert url(kit.engine, second.url("/a1"))["state"] == "resting"
    start(kit, first.url("/2"), name="three", scope="any", keep_fresh=True)
    for _ in range(3):
        go(kit)
    assert url(kit.engine, second.url("/a2"))["state"] == "resting"


# --- 4xx --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
def test_rfc9309_4xx_allows_all(kit: Kit, web: Web, status: int) -> None:
    site = web.site()
    site.robots = Answer(status=status, body=b"User-agent: *\nDisallow: /")
    site.pages["/"] = html()
    start(kit, site.url())
    run(kit)
    assert site.paths == ["/robots.txt", "/"]
    assert known(kit) == "unavailable"


# --- out of reach -----------------------------------------------------------------------------------------------

OUT_OF_REACH = [
    Answer(status=500),
    Answer(status=503),
    Answer(status=429),  # 4xx by the letter; we take it for what it says
    Answer(delay_s=5.0),
    Answer(body=b"User-agent: *", cut=True),
    Answer(drop=True),
]


@pytest.mark.parametrize("answer", OUT_OF_REACH, ids=lambda answer: str(answer)[:60])
def test_rfc9309_out_of_reach_disallows_all_and_the_host_rests(
    make: Callable[..., Kit], web: Web, answer: Answer
) -> None:
    kit = make(backoff_base_s=1000.0, backoff_max_s=5000.0, robots_deadline_s=0.3)
    site = web.site()
    site.robots = answer
    site.pages["/"] = html()
    start(kit, site.url())
    for _ in range(3):
        go(kit)
    assert site.paths == ["/robots.txt"]
    assert url(kit.engine, site.url())["state"] == "queued"
    (row,) = sql(kit.engine, "SELECT * FROM v_host_status")
    assert row["waits_for"] == "resting: robots.txt out of reach"
    assert known(kit) == "unreachable"


@pytest.mark.parametrize("answer", OUT_OF_REACH[:3], ids=lambda answer: str(answer)[:60])
def test_a_host_that_never_gives_its_robots_txt_is_given_up(make: Callable[..., Kit], web: Web, answer: Answer) -> None:
    kit = make(new_host_failures_max=3)
    site = web.site()
    site.robots = answer
    site.pages["/"] = html()
    start(kit, site.url(), site.url("/a"))
    run(kit)
    assert site.paths == ["/robots.txt"] * 3
    for path in ("/", "/a"):
        found = url(kit.engine, site.url(path))
        assert (found["state"], found["cause"] == Cause.ROBOTS_OUT_OF_REACH) == ("refused", True)


def test_a_host_that_recovers_is_crawled(kit: Kit, web: Web) -> None:
    site = web.site()
    answers: list[Page] = [Answer(status=500), Answer(status=500), "User-agent: *\nDisallow: /no"]
    site.robots = lambda _: answers.pop(0)  # type: ignore[assignment, return-value]
    site.pages["/"] = html("/no")
    start(kit, site.url())
    run(kit)
    assert site.paths == ["/robots.txt"] * 3 + ["/"]
    assert one(kit.engine, "SELECT failures FROM hosts") == 0
    assert one(kit.engine, "SELECT unreachable_since IS NULL FROM robots") is True


def test_while_out_of_reach_the_last_good_copy_is_kept_but_not_used(make: Callable[..., Kit], web: Web) -> None:
    kit = make(backoff_base_s=1000.0, backoff_max_s=1000.0)
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /no"
    site.pages["/"] = html()
    start(kit, site.url())
    run(kit)
    site.robots = Answer(status=500)
    expire(kit)
    start(kit, site.url("/more"), name="more")
    go(kit)
    assert site.pages_asked == ["/"]
    (row,) = sql(kit.engine, "SELECT availability, body, unreachable_since IS NOT NULL AS since FROM robots")
    assert row == {"availability": "unreachable", "body": b"User-agent: *\nDisallow: /no", "since": True}


@pytest.mark.parametrize("first", ["good", "bad"])
def test_one_origin_out_of_reach_does_not_stop_the_others(make: Callable[..., Kit], web: Web, first: str) -> None:
    kit = make(new_host_failures_max=2, backoff_base_s=30.0, backoff_max_s=60.0)
    good = web.site()
    bad = web.site(beside=good)
    bad.robots = Answer(status=500)
    good.pages |= {"/": html("/a"), "/a": html()}
    seeds = [good.url(), bad.url("/x")]
    crawl = start(kit, seeds[first == "bad"])
    add(kit.engine, kit.settings, crawl, [seeds[first != "bad"]])
    for _ in range(6):
        go(kit)
        bring_forward(kit.engine)
    assert sorted(good.pages_asked) == ["/", "/a"]
    assert bad.pages_asked == []
    found = url(kit.engine, bad.url("/x"))
    assert (found["state"], found["attempts"]) in {("resting", 0), ("queued", 0)}


# --- 3xx --------------------------------------------------------------------------------------------------------

DISALLOW = "User-agent: *\nDisallow: /no"


@pytest.mark.parametrize(
    ("hops", "last", "availability", "asked"),
    [
        (1, DISALLOW, "available", ["/"]),
        (5, DISALLOW, "available", ["/"]),
        (6, DISALLOW, "unavailable", ["/", "/no"]),  # as 404
        (1, Answer(status=404), "unavailable", ["/", "/no"]),
        (1, redirect("mailto:a@b.test"), "unavailable", ["/", "/no"]),
    ],
)
def test_rfc9309_redirects_are_followed_for_five_hops(
    kit: Kit, web: Web, hops: int, last: Page, availability: str, asked: list[str]
) -> None:
    site = web.site()
    chain(site, hops, last)
    site.pages |= {"/": html("/no"), "/no": html()}
    start(kit, site.url())
    run(kit)
    assert known(kit) == availability
    assert [path for path in site.pages_asked if "robots" not in path] == asked


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_host_is_followed_under_that_hosts_lease(kit: Kit, web: Web, status: int) -> None:
    site, other = web.site(), web.site()
    site.robots = redirect(other.url("/its-robots"), status)
    seen: list[dict[str, Any]] = []

    def watched(_: object) -> str:
        seen.append(host(kit.engine, one(kit.engine, "SELECT id FROM hosts WHERE name = :name", name=other.host)))
        return DISALLOW

    other.pages["/its-robots"] = watched
    site.pages |= {"/": html("/no"), "/no": html()}
    start(kit, site.url())
    run(kit)
    assert site.pages_asked == ["/"]
    assert other.paths == ["/its-robots"]
    assert (seen[0]["state"], seen[0]["lease_until"] > seen[0]["now"]) == ("taken", True)
    after = host(kit.engine, seen[0]["id"])
    assert (after["state"], after["lease_token"], after["last_contact_at"] is not None) == ("idle", None, True)
    logged = sql(kit.engine, "SELECT host_id, kind FROM fetches WHERE url = :url", url=other.url("/its-robots"))
    assert logged == [{"host_id": after["id"], "kind": "robots"}]


def busy(kit: Kit, site: Site) -> None:
    """Another visit holds the host, for a long time."""
    host_id = make_host(kit.engine, site.host)
    sql(
        kit.engine,
        """UPDATE hosts SET state = 'taken', lease_token = gen_random_uuid(), taken_at = now(),
                            lease_until = now() + interval '1 day', next_fetch_at = now() + interval '1 day'
           WHERE id = :id""",
        id=host_id,
    )


def test_a_redirect_to_a_host_that_is_taken_waits(make: Callable[..., Kit], web: Web) -> None:
    kit = make(backoff_base_s=1000.0, backoff_max_s=1000.0)
    site, other = web.site(), web.site()
    site.robots = redirect(other.url("/its-robots"))
    other.pages["/its-robots"] = DISALLOW
    busy(kit, other)
    start(kit, site.url())
    go(kit)
    assert (site.paths, other.paths) == (["/robots.txt"], [])
    assert url(kit.engine, site.url())["state"] == "queued"
    sql(
        kit.engine,
        """UPDATE hosts SET state = 'idle', lease_token = NULL, lease_until = NULL, taken_at = NULL, next_fetch_at = NULL
           WHERE name = :name""",
        name=other.host,
    )
    bring_forward(kit.engine)
    run(kit)
    assert other.paths == ["/its-robots"]
    assert site.pages_asked == ["/"]


def test_a_host_is_not_given_up_because_another_is_busy(make: Callable[..., Kit], web: Web) -> None:
    kit = make(new_host_failures_max=2)
    site, other = web.site(), web.site()
    site.robots = redirect(other.url("/its-robots"))
    busy(kit, other)
    start(kit, site.url())
    for _ in range(5):
        go(kit)
        bring_forward(kit.engine)
        sql(kit.engine, "UPDATE hosts SET lease_until = now() + interval '1 day' WHERE name = :name", name=other.host)
    assert url(kit.engine, site.url())["state"] == "queued"


def test_a_redirect_between_hosts_keeps_to_the_pace_of_the_other(make: Callable[..., Kit], web: Web) -> None:
    """The other host was contacted just now: its robots.txt has to wait, and so has everything here."""
    kit = make()
    site, other = web.site(), web.site()
    site.robots = redirect(other.url("/its-robots"))
    other.pages["/its-robots"] = DISALLOW
    host_id = make_host(kit.engine, other.host, delay_s=3600.0)
    sql(kit.engine, "UPDATE hosts SET polite_at = now() + interval '1 hour' WHERE id = :id", id=host_id)
    start(kit, site.url())
    go(kit)
    assert (other.paths, site.pages_asked) == ([], [])


def test_the_log_has_the_delay_of_the_host_that_was_asked(make: Callable[..., Kit], web: Web) -> None:
    kit = make()
    site, other = web.site(), web.site()
    site.robots = redirect(other.url("/its-robots"))
    other.pages["/its-robots"] = DISALLOW
    make_host(kit.engine, other.host, delay_s=0.25)
    start(kit, site.url())
    with db.transaction(kit.engine) as tx:
        hosts.slow(tx, site.host, 0.05)
    run(kit)
    logged = one(kit.engine, "SELECT delay_s FROM fetches WHERE url = :url", url=other.url("/its-robots"))
    assert logged == 0.25


def dead_beside(web: Web, site: Site) -> Site:
    """Another origin of the same host, where nothing listens."""
    dead = web.site(beside=site)
    dead.close()
    return dead


def test_a_dead_port_stops_neither_the_hosts_other_origins_nor_its_address(make: Callable[..., Kit], web: Web) -> None:
    """With budgets per address, and rests that are longer than the test."""
    kit = make(backoff_base_s=600.0, backoff_max_s=3_600.0, address_gap_s=0.01)
    good = web.site()
    dead = dead_beside(web, good)
    good.pages |= {f"/{n}": html(f"/{n + 1}") for n in range(1, 20)}
    start(kit, good.url("/1"), *(dead.url(f"/{n}") for n in range(5)))
    for _ in range(20):
        go(kit)
    assert len(good.pages_asked) == 20
    row = host(kit.engine, one(kit.engine, "SELECT id FROM hosts"))
    assert (row["state"], row["blocked_until"]) == ("idle", None)
    assert row["resting_because"] == "robots.txt out of reach"
    assert row["next_fetch_at"] > row["now"], "it waits for the dead origin's next turn"
    assert one(kit.engine, "SELECT count(*) FROM budgets WHERE blocked_until IS NOT NULL") == 0
    assert one(kit.engine, "SELECT count(*) FROM urls WHERE state = 'queued'") == 5


def test_a_url_of_a_healthy_origin_ends_the_wait_for_a_dead_one(make: Callable[..., Kit], web: Web) -> None:
    kit = make(backoff_base_s=600.0, backoff_max_s=3_600.0)
    good = web.site()
    dead = dead_beside(web, good)
    good.pages |= {"/1": html(), "/2": html()}
    crawl = start(kit, good.url("/1"), dead.url())
    for _ in range(3):
        go(kit)
    add(kit.engine, kit.settings, crawl, [good.url("/2")])
    go(kit)
    assert good.pages_asked == ["/1", "/2"]
    add(kit.engine, kit.settings, crawl, [dead.url("/2")])
    assert [report.requests for report in go(kit)] == [0], "looked at, and nothing is asked of the dead one"


def test_nobody_waits_for_a_dead_origin_that_has_nothing_queued(make: Callable[..., Kit], web: Web) -> None:
    kit = make(backoff_base_s=600.0, backoff_max_s=3_600.0)
    good = web.site()
    dead = dead_beside(web, good)
    good.pages["/1"] = html()
    crawl = start(kit, dead.url())
    go(kit)
    sql(kit.engine, "DELETE FROM urls")
    add(kit.engine, kit.settings, crawl, [good.url("/1")])
    reports = go(kit)
    assert good.pages_asked == ["/1"]
    assert [report.ending for report in reports] == ["nothing due"]
    row = host(kit.engine, one(kit.engine, "SELECT id FROM hosts"))
    assert (row["next_fetch_at"], row["resting_because"]) == (None, None)


def asked_again_in_s(kit: Kit) -> float:
    return float(one(kit.engine, "SELECT extract(epoch FROM expires_at - fetched_at) FROM robots"))


def test_a_redirect_to_a_host_that_rests_waits_for_its_next_contact(kit: Kit, web: Web) -> None:
    site, other = web.site(), web.site()
    site.robots = redirect(other.url("/its-robots"))
    host_id = make_host(kit.engine, other.host)
    sql(kit.engine, "UPDATE hosts SET blocked_until = now() + interval '20 minutes' WHERE id = :id", id=host_id)
    start(kit, site.url())
    for _ in range(4):
        go(kit)
    assert (site.paths, other.paths) == (["/robots.txt"], [])
    assert 1_100 < asked_again_in_s(kit) < 1_201


def test_a_redirect_to_a_host_whose_end_nobody_knows_is_tried_ever_more_rarely(
    make: Callable[..., Kit], web: Web
) -> None:
    kit = make()
    site, other = web.site(), web.site()
    site.robots = redirect(other.url("/its-robots"))
    busy(kit, other)
    start(kit, site.url())
    go(kit)
    assert asked_again_in_s(kit) == 10
    ago = "UPDATE robots SET unreachable_since = now() - interval '5 minutes', expires_at = now() - interval '1 second'"
    sql(kit.engine, ago)
    bring_forward(kit.engine)
    go(kit)
    assert site.paths == ["/robots.txt"] * 2
    assert 290 < asked_again_in_s(kit) < 400


def test_a_redirect_to_a_forbidden_address_is_a_failure_that_backs_off(make: Callable[..., Kit], web: Web) -> None:
    kit = make(backoff_base_s=600.0, backoff_max_s=7_200.0)
    site = web.site()
    site.robots = redirect("http://10.11.12.13/robots.txt")
    start(kit, site.url())
    for _ in range(3):
        go(kit)
    assert site.paths == ["/robots.txt"]
    assert (one(kit.engine, "SELECT failures FROM robots"), asked_again_in_s(kit)) == (1, 600)
