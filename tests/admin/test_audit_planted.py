"""One violation planted in a clean log: the audit finds exactly it, at exactly its host or address. And clean logs are clean."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from tests.crawl.planted import DAY, HOUR, Log, audited, wrong
from tests.store.rows import one, sql

PRIVATE = "User-agent: *\nDisallow: /private\n"
ADDRESS: dict[str, Any] = {"address_budget": "192.0.2.7", "address_gap_s": 0.5}


@pytest.fixture
def log(engine: Engine) -> Log:
    """Two hosts that were visited politely."""
    log = Log(engine)
    for name in ("a.test", "b.test"):
        host_id = log.host(name, robots=PRIVATE)
        for start in (2.0, 4.0):
            log.page(host_id, start)
    return log


@pytest.fixture
def a(log: Log) -> int:
    return int(one(log.engine, "SELECT id FROM hosts WHERE name = 'a.test'"))


@pytest.fixture
def b(log: Log) -> int:
    return int(one(log.engine, "SELECT id FROM hosts WHERE name = 'b.test'"))


def test_a_clean_log(log: Log) -> None:
    found = audited(log.engine)
    assert (found.fetches, found.violations, found.holds) == (6, 0, True)
    assert found.verdict == "6 requests, 2 hosts: no violation"
    assert [(host.smallest_gap_s, host.smallest_margin_s, host.largest_concurrency) for host in found.hosts] == [
        pytest.approx((1.9, 0.9, 1))
    ] * 2


# --- gaps and concurrency at a host -----------------------------------------------------------------------------


# the next request starts so long after the last one ended (4.1 s), under this delay → what is wrong
@pytest.mark.parametrize(
    ("after", "delay_s", "counts"),
    [
        (0.9, 1.0, {"gap_violations": 1}),
        (59.0, 60.0, {"gap_violations": 1}),  # the delay in force at that moment counts, not that of the request before
        (0.0, 1.0, {"gap_violations": 1}),
        (-0.0005, 1.0, {"gap_violations": 1}),  # less than the log can tell from no gap at all: not at once
        (0.998, 1.0, {"gap_violations": 1}),
        (1.0, 1.0, {}),
        (0.9995, 1.0, {}),  # exact to a millisecond
        (0.0, 0.0, {}),
        (0.5, 0.5, {}),
        (300.0, 300.0, {}),
        (-0.05, 1.0, {"concurrent": 1}),
        (-0.05, 0.0, {"concurrent": 1}),
    ],
)
def test_the_gap_of_a_host(log: Log, a: int, after: float, delay_s: float, counts: dict[str, int]) -> None:
    log.page(a, 4.1 + after, delay_s=delay_s, visit=log.last_visit(a))
    assert wrong(log.engine) == ({"a.test": counts} if counts else {})
    worst = audited(log.engine).hosts[0]
    assert worst.host == "a.test"
    assert worst.smallest_margin_s == pytest.approx(min(after - delay_s, 0.9))


def test_a_request_under_a_long_one_is_at_once_though_another_ended_between(log: Log, a: int) -> None:
    """What counts is every earlier request, not the one before."""
    visit = log.visit(a, 10.0, ends=30.0)
    log.page(a, 10.0, visit=visit, lasts=10.0)
    log.page(a, 12.0, visit=visit)
    log.page(a, 15.0, visit=visit)
    assert wrong(log.engine) == {"a.test": {"concurrent": 2}}
    assert audited(log.engine).hosts[0].largest_concurrency == 2
    assert audited(log.engine).hosts[0].smallest_gap_s == pytest.approx(-8.0)


# requests as (start, end) → how many ran at once
@pytest.mark.parametrize(
    ("requests", "most"),
    [
        ([(10, 20), (11, 19), (12, 13)], 3),
        ([(10, 20), (11, 12), (13, 14), (15, 16)], 2),
        ([(10, 12), (11, 13), (12, 14)], 2),  # the end of one and the start of another at the same moment
        ([(10, 20), (11, 11)], 2),  # over at once, but there
        ([(10, 11), (10, 11), (10, 11), (10, 11)], 4),
    ],
)
def test_the_largest_concurrency_is_what_was_observed(
    log: Log, a: int, requests: list[tuple[float, float]], most: int
) -> None:
    visit = log.visit(a, 10.0, ends=30.0)
    for start, end in requests:
        log.page(a, start, lasts=end - start, visit=visit)
    assert {host.host: host.largest_concurrency for host in audited(log.engine).hosts} == {"a.test": most, "b.test": 1}


# --- robots.txt -------------------------------------------------------------------------------------------------


def test_a_page_before_robots(log: Log) -> None:
    c = log.host("c.test", robots=None)
    log.page(c, 2.0)
    log.page(c, 4.0)
    log.robots(c, 6.0)
    log.copy(c, 6.1, "")
    log.page(c, 8.0)
    assert wrong(log.engine) == {"c.test": {"before_robots": 2}}


def test_a_page_while_robots_is_asked_for(log: Log) -> None:
    c = log.host("c.test", robots=None)
    visit = log.visit(c, 0.0, ends=20.0)
    log.robots(c, 0.0, visit=visit, lasts=5.0, delay_s=0.0)
    log.page(c, 4.999, visit=visit, delay_s=0.0)
    log.copy(c, 5.0, "")
    assert wrong(log.engine) == {"c.test": {"before_robots": 1}}


def test_a_host_that_nobody_asked_for_robots(log: Log) -> None:
    log.page(log.host("c.test", robots=None), 2.0)
    assert wrong(log.engine) == {"c.test": {"before_robots": 1}}


@pytest.mark.parametrize("origin", ["https://a.test", "http://a.test:8080"])
def test_each_origin_of_a_host_has_its_own_robots(log: Log, a: int, origin: str) -> None:
    log.page(a, 6.0, origin=origin)
    assert wrong(log.engine) == {"a.test": {"before_robots": 1}}
    assert audited(log.engine).hosts[0].disallowed == 0


def test_two_origins_of_a_host_are_judged_each_by_its_own(log: Log, a: int) -> None:
    log.robots(a, 6.0, origin="https://a.test")
    log.copy(a, 6.1, "User-agent: *\nDisallow: /secret\n", scheme="https", port=443)
    log.page(a, 8.0, "/private", origin="https://a.test")
    log.page(a, 10.0, "/secret")
    assert wrong(log.engine) == {}
    log.page(a, 12.0, "/secret", origin="https://a.test")
    assert wrong(log.engine) == {"a.test": {"disallowed": 1}}


@pytest.mark.parametrize("kind", ["page", "sitemap"])
def test_a_disallowed_request(log: Log, a: int, kind: str) -> None:
    log.page(a, 6.0, "/private/x?y=/z", kind=kind)
    assert wrong(log.engine) == {"a.test": {"disallowed": 1}}


def test_robots_itself_is_always_allowed(log: Log) -> None:
    c = log.host("c.test", robots="User-agent: *\nDisallow: /\n")
    log.robots(c, 6.0)
    log.page(c, 8.0, "/robots.txt")
    assert wrong(log.engine) == {}


def test_the_copy_in_force_at_the_moment_judges(log: Log, a: int) -> None:
    """/private was refused until 100 s; /new is refused from then on."""
    log.page(a, 6.0, "/new")
    log.robots(a, 100.0)
    log.copy(a, 100.1, "User-agent: *\nDisallow: /new\n")
    log.page(a, 102.0, "/private")
    assert wrong(log.engine) == {}
    log.page(a, 104.0, "/new")
    log.page(a, 50.0, "/private")
    assert wrong(log.engine) == {"a.test": {"disallowed": 2}}


def test_pages_asked_for_right_after_robots_are_judged_by_it(log: Log, a: int) -> None:
    """Without a delay a page follows within the exactness of the log."""
    visit = log.visit(a, 100.0, ends=104.0)
    log.robots(a, 100.0, visit=visit)
    log.copy(a, 100.100001, "User-agent: *\nDisallow: /new\n")
    log.page(a, 100.1, "/private", visit=visit, delay_s=0.0)
    assert wrong(log.engine) == {}
    log.page(a, 102.0, "/new", visit=visit)
    assert wrong(log.engine) == {"a.test": {"disallowed": 1}}


def test_robots_that_was_logged_after_the_page_it_governs(log: Log) -> None:
    """The order of rows is that of settles; what counts is when."""
    c = log.host("c.test", robots=None)
    log.page(c, 2.0, "/private")
    log.robots(c, 0.0)
    log.copy(c, 0.1, PRIVATE)
    assert wrong(log.engine) == {"c.test": {"disallowed": 1}}


def test_a_group_of_ours_comes_first(log: Log) -> None:
    c = log.host("c.test", robots="User-agent: *\nDisallow: /\n\nUser-agent: Tiptoe\nDisallow: /not-us\n")
    log.page(c, 2.0, "/x")
    assert wrong(log.engine) == {}
    log.page(c, 4.0, "/not-us")
    assert wrong(log.engine) == {"c.test": {"disallowed": 1}}


def test_robots_that_is_not_there_allows_all(log: Log) -> None:
    c = log.host("c.test", robots=None)
    log.robots(c, 0.0)
    log.copy(c, 0.1, availability="unavailable", status=404)
    log.page(c, 2.0, "/private")
    assert wrong(log.engine) == {}


# so long after robots.txt went out of reach, with or without a last good copy, answered or not, path → disallowed (SPEC R3)
@pytest.mark.parametrize(
    ("after", "copy", "status", "path", "disallowed"),
    [
        (60.0, PRIVATE, 503, "/x", 1),  # phase 1: complete disallow
        (12 * HOUR - 60, PRIVATE, 503, "/x", 1),
        (12 * HOUR + 60, PRIVATE, 503, "/x", 0),  # phase 2: the last good copy
        (12 * HOUR + 60, PRIVATE, None, "/x", 0),
        (12 * HOUR + 60, PRIVATE, 503, "/private", 1),
        (12 * HOUR + 60, None, 503, "/x", 1),
        (30 * DAY - 60, PRIVATE, 503, "/private", 1),
        (30 * DAY + 60, PRIVATE, 503, "/private", 0),  # phase 3: it answers, but not for robots.txt: all is allowed
        (30 * DAY + 60, None, 503, "/x", 0),
    ],
)
def test_robots_out_of_reach(
    log: Log, after: float, copy: str | None, status: int | None, path: str, disallowed: int
) -> None:
    c = log.host("c.test", robots=copy)
    log.unreachable(c, 10.0, copy, status=status)
    log.page(c, 10.1 + after, path)
    assert wrong(log.engine) == ({"c.test": {"disallowed": 1}} if disallowed else {})


def test_one_origin_out_of_reach_does_not_stop_the_others(log: Log, a: int) -> None:
    log.unreachable(a, 6.0, None, origin="https://a.test", scheme="https", port=443)
    log.page(a, 8.0)
    assert wrong(log.engine) == {}


@pytest.mark.parametrize(
    ("every_s", "times", "repeated"), [(10.0, 17, 5), (10.0, 12, 0), (300.0, 40, 0), (120.0, 40, 28)]
)
def test_robots_txt_that_is_asked_for_without_end(log: Log, a: int, every_s: float, times: int, repeated: int) -> None:
    """Thirteen times an hour may be, the first of them in the clean log."""
    for number in range(times):
        log.robots(a, 10.0 + number * every_s)
    assert wrong(log.engine) == ({"a.test": {"robots_repeated": repeated}} if repeated else {})


def test_robots_out_of_reach_that_answers_no_more(log: Log) -> None:
    """503 at first, nothing at all later: past the copy's time nobody knows whether the host is there."""
    c = log.host("c.test", robots=PRIVATE)
    log.unreachable(c, 10.0, PRIVATE)
    log.robots(c, 13 * HOUR)
    log.copy(c, 13 * HOUR + 0.1, PRIVATE, availability="unreachable", status=None, unreachable_since=10.1)
    log.page(c, 14 * HOUR, "/x")
    assert wrong(log.engine) == {}
    log.page(c, 31 * DAY, "/x")
    assert wrong(log.engine) == {"c.test": {"disallowed": 1}}


def test_robots_that_is_back_is_in_force_again(log: Log, a: int) -> None:
    log.unreachable(a, 10.0, PRIVATE)
    log.robots(a, 100.0)
    log.copy(a, 100.1, PRIVATE)
    log.page(a, 102.0)
    assert wrong(log.engine) == {}


def test_a_robots_redirect_elsewhere_counts_for_that_host(log: Log, a: int, b: int) -> None:
    """a's file is at b: one request to b under a borrowed lease, in a's visit. It is a contact of b, at b's pace."""
    visit = log.visit(a, 20.0, ends=22.0)
    log.robots(a, 20.0, visit=visit)
    log.robots(b, 20.2, visit=visit)
    log.copy(a, 20.3, PRIVATE)
    log.page(a, 21.5, visit=visit)
    assert wrong(log.engine) == {}
    log.page(b, 20.8)
    assert wrong(log.engine) == {"b.test": {"gap_violations": 1}}


def test_a_robots_redirect_to_another_file_is_not_the_robots_of_that_origin(log: Log) -> None:
    c = log.host("c.test", robots=None)
    log.page(c, 0.0, "/elsewhere/robots.txt", kind="robots")
    log.page(c, 2.0, "/x")
    assert wrong(log.engine) == {"c.test": {"before_robots": 1}}


def test_requests_older_than_the_history_are_named_and_not_judged(log: Log) -> None:
    c = log.host("c.test", robots=None)
    log.robots(c, 0.0)
    log.page(c, 2.0, "/private")
    log.robots(c, 100.0)
    log.copy(c, 100.1, PRIVATE)
    log.page(c, 102.0, "/x")
    assert wrong(log.engine) == {"c.test": {"unjudged": 1}}
    assert audited(log.engine).holds
    assert "1 request is older than the history of robots.txt and not judged" in audited(log.engine).verdict


# --- rests ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "path"), [("page", "/"), ("robots", "/robots.txt"), ("sitemap", "/sitemap.xml")])
def test_a_contact_during_a_rest(log: Log, a: int, kind: str, path: str) -> None:
    """An answer that asks for a rest is answered by one, whatever the next request is for."""
    log.page(a, 10.0, rest_s=60.0)
    log.page(a, 12.0, path, kind=kind)
    assert wrong(log.engine) == {"a.test": {"during_block": 1}}


@pytest.mark.parametrize(("after", "counts"), [(59.9, {"during_block": 1}), (59.9995, {}), (60.0, {}), (61.0, {})])
def test_a_rest_counts_from_the_end_of_its_request(log: Log, a: int, after: float, counts: dict[str, int]) -> None:
    log.page(a, 10.0, lasts=5.0, rest_s=60.0)
    log.page(a, 15.0 + after)
    assert wrong(log.engine) == ({"a.test": counts} if counts else {})


def test_the_longest_rest_holds_not_the_last(log: Log, a: int) -> None:
    log.page(a, 10.0, rest_s=3600.0)
    log.page(a, 20.0, rest_s=1.0)
    log.page(a, 30.0)
    assert wrong(log.engine) == {"a.test": {"during_block": 2}}


def test_a_request_that_was_over_at_once_is_not_during_its_own_rest(log: Log, a: int) -> None:
    log.page(a, 10.0, lasts=0.0, rest_s=60.0)
    assert wrong(log.engine) == {}


def test_a_rest_of_one_host_is_not_that_of_another(log: Log, a: int, b: int) -> None:
    log.page(a, 10.0, rest_s=3600.0)
    log.page(b, 20.0)
    assert wrong(log.engine) == {}


def test_an_operator_may_end_a_rest(log: Log, a: int) -> None:
    log.page(a, 10.0, rest_s=3600.0)
    log.event(a, 20.0, "released")
    log.page(a, 22.0)
    log.page(a, 24.0)
    assert wrong(log.engine) == {}


@pytest.mark.parametrize(
    ("who", "event", "when"),
    [
        ("a.test", "released", 9.0),  # before that rest began
        ("a.test", "released", 10.05),  # while the answer that set it was on its way
        ("a.test", "released", 23.0),  # after the request
        ("a.test", "resumed", 20.0),  # not what ends a rest
        ("b.test", "released", 20.0),  # another host
    ],
)
def test_only_a_release_between_the_two_ends_a_rest(
    log: Log, a: int, b: int, who: str, event: str, when: float
) -> None:
    log.page(a, 10.0, rest_s=3600.0)
    log.event({"a.test": a, "b.test": b}[who], when, event)
    log.page(a, 22.0)
    assert wrong(log.engine) == {"a.test": {"during_block": 1}}


def test_a_release_ends_the_rests_before_it_not_those_after(log: Log, a: int) -> None:
    log.page(a, 10.0, rest_s=3600.0)
    log.event(a, 20.0, "released")
    log.page(a, 22.0, rest_s=10.0)
    log.page(a, 30.0)
    log.page(a, 40.0)
    assert wrong(log.engine) == {"a.test": {"during_block": 1}}


# --- addresses --------------------------------------------------------------------------------------------------


# the second start, so long after the first of another host, under this budget → violations
@pytest.mark.parametrize(
    ("after", "gap_s", "violations"),
    [(0.4, 0.5, 1), (0.5, 0.5, 0), (0.4995, 0.5, 0), (0.0, 0.5, 1), (5.9, 6.0, 1), (6.0, 6.0, 0), (0.0, 0.0, 0)],
)
def test_the_gap_of_an_address_is_between_starts(
    log: Log, a: int, b: int, after: float, gap_s: float, violations: int
) -> None:
    log.page(a, 10.0, lasts=3.0, address_budget="192.0.2.7", address_gap_s=0.1)
    log.page(b, 10.0 + after, lasts=3.0, address_budget="192.0.2.7", address_gap_s=gap_s)
    assert wrong(log.engine) == ({"192.0.2.7": {"gap_violations": 1}} if violations else {})
    (address,) = audited(log.engine).addresses
    assert (address.budget, address.fetches, address.hosts) == ("192.0.2.7", 2, 2)
    assert address.smallest_gap_s == pytest.approx(after)
    assert address.largest_concurrency == (2 if after < 3.0 else 1)


def test_a_network_has_one_budget_and_addresses_beside_it_their_own(log: Log, a: int, b: int) -> None:
    log.page(a, 10.0, address_budget="198.51.100.0/24", address_gap_s=0.02)
    log.page(b, 10.03, address_budget="198.51.100.0/24", address_gap_s=0.02)
    log.page(a, 20.0, **ADDRESS)
    log.page(b, 20.1, address_budget="192.0.2.8", address_gap_s=0.5)
    assert wrong(log.engine) == {}
    log.page(b, 30.0, address_budget="198.51.100.0/24", address_gap_s=0.02)
    log.page(a, 30.01, address_budget="198.51.100.0/24", address_gap_s=0.02)
    assert wrong(log.engine) == {"198.51.100.0/24": {"gap_violations": 1}}
    assert "1 VIOLATION (1 start too soon at an address)" in audited(log.engine).verdict
    assert audited(log.engine).addresses[0].budget == "198.51.100.0/24"


def test_many_hosts_at_one_address_may_be_asked_at_once(log: Log) -> None:
    for number in range(5):
        host_id = log.host(f"c{number}.test")
        log.page(host_id, 10.0 + number / 2, lasts=30.0, **ADDRESS)
    assert wrong(log.engine) == {}
    (address,) = audited(log.engine).addresses
    assert (address.hosts, address.largest_concurrency, address.smallest_margin_s) == (5, 5, pytest.approx(0.0))


# --- what the log does not tell ---------------------------------------------------------------------------------


def test_a_visit_that_ended_without_a_word(log: Log, a: int, b: int) -> None:
    """It settled a request at 11 s and was never heard of again; the host was taken up anew at 41 s."""
    log.page(a, 10.9, visit=log.visit(a, 10.0, ends=None, ending="lost"))
    log.page(a, 41.0)
    assert wrong(log.engine) == {"a.test": {"unaccounted": 1}}
    found = audited(log.engine)
    assert found.holds
    assert found.unaccounted[0].seconds == pytest.approx(30.0)
    assert found.verdict.endswith(
        "no violation; but 1 visit of 1 host may have made up to one batch of requests each that no row tells of "
        "(in 30 s at most)"
    )


def test_lost_visits_that_logged_nothing_and_were_followed_by_none(log: Log, a: int, b: int) -> None:
    """They may have gone on for as long as a visit does, and its lease."""
    log.visit(a, 10.0, ends=None, ending="lost")
    log.visit(a, 100.0, ends=None, ending="lost")
    log.visit(b, 10.0, ends=None, ending=None)  # nobody has swept yet, but its lease is over
    assert wrong(log.engine) == {"a.test": {"unaccounted": 2}, "b.test": {"unaccounted": 1}}
    seconds = {each.host: each.seconds for each in audited(log.engine).unaccounted}
    assert seconds == {"a.test": pytest.approx(70.0 + 70.0), "b.test": pytest.approx(70.0)}


def test_a_visit_that_is_there_is_not_lost(log: Log, a: int) -> None:
    visit = log.visit(a, 10.0, ends=None, ending=None)
    sql(
        log.engine,
        """UPDATE hosts SET state = 'taken', lease_until = now() + interval '1 minute', taken_at = now(), next_fetch_at = now(),
                            lease_token = (SELECT token FROM visits WHERE id = :visit) WHERE id = :id""",
        visit=visit,
        id=a,
    )
    assert wrong(log.engine) == {}
    sql(log.engine, "UPDATE hosts SET lease_until = now() - interval '1 minute' WHERE id = :id", id=a)
    assert wrong(log.engine) == {"a.test": {"unaccounted": 1}}


def test_what_the_fence_refused_is_counted_like_all_the_rest(log: Log, a: int) -> None:
    visit = log.visit(a, 10.0, ends=60.0, ending="fenced")
    log.page(a, 10.0, visit=visit, fenced=True)
    log.page(a, 30.0)
    assert wrong(log.engine) == {}
    log.page(a, 30.05, visit=visit, fenced=True)
    assert wrong(log.engine) == {"a.test": {"concurrent": 1}}
    assert {host.host: host.fenced for host in audited(log.engine).hosts} == {"a.test": 2, "b.test": 0}


# --- disorder ---------------------------------------------------------------------------------------------------


def start_before_its_visit(log: Log, a: int) -> None:
    log.page(a, 9.0, visit=log.visit(a, 10.0, ends=20.0))


def overtaken(log: Log, a: int) -> None:
    visit = log.visit(a, 10.0, ends=20.0)
    log.page(a, 14.0, visit=visit)
    log.page(a, 12.0, visit=visit)


def overlapping_visits(log: Log, a: int) -> None:
    log.page(a, 10.0, visit=log.visit(a, 10.0, ends=20.0))
    log.page(a, 19.0, visit=log.visit(a, 18.0, ends=25.0))


def end_before_the_start(log: Log, a: int) -> None:
    sql(log.engine, "ALTER TABLE fetches DROP CONSTRAINT fetches_ends_after_start")
    log.page(a, 10.0, lasts=-0.5)


@pytest.fixture
def _constraint(engine: Engine, log: Log) -> object:
    yield
    sql(engine, "TRUNCATE fetches")
    sql(engine, "ALTER TABLE fetches DROP CONSTRAINT IF EXISTS fetches_ends_after_start")
    sql(engine, "ALTER TABLE fetches ADD CONSTRAINT fetches_ends_after_start CHECK (ended_at >= started_at)")


@pytest.mark.usefixtures("_constraint")
@pytest.mark.parametrize("plant", [start_before_its_visit, overtaken, overlapping_visits, end_before_the_start])
def test_a_log_that_cannot_be(log: Log, a: int, plant: Callable[[Log, int], None]) -> None:
    plant(log, a)
    assert wrong(log.engine) == {"a.test": {"disorder": 1}}
    found = audited(log.engine)
    assert (found.violations, found.disorder, found.holds) == (0, 1, False)
    assert "out of order at 1 line" in found.verdict


def test_a_visit_that_was_told_late_that_its_lease_was_lost_does_not_overlap(log: Log, a: int) -> None:
    log.visit(a, 10.0, ends=40.0, ending="fenced")
    log.page(a, 30.0)
    assert wrong(log.engine) == {}


def test_everything_at_once(log: Log, a: int, b: int) -> None:
    """Each is counted once, where it is."""
    log.page(a, 4.6)  # too soon
    log.page(b, 4.05, visit=log.last_visit(b))  # at once
    log.page(log.host("c.test", robots=None), 2.0)
    log.page(a, 10.0, "/private", **ADDRESS)
    log.page(b, 10.1, rest_s=60.0, **ADDRESS)
    log.page(b, 20.0)
    assert wrong(log.engine) == {
        "a.test": {"gap_violations": 1, "disallowed": 1},
        "b.test": {"concurrent": 1, "during_block": 1},
        "c.test": {"before_robots": 1},
        "192.0.2.7": {"gap_violations": 1},
    }
    assert audited(log.engine).violations == 6
