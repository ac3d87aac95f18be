"""One violation planted in a clean log: gaps, concurrency, rests, addresses, and logs that cannot be."""

import pytest

from tests.admin.planted.planted_rows import ADDRESS
from tests.crawl.planted import Log, audited, wrong


def test_a_clean_log(log: Log) -> None:
    found = audited(log.engine)
    assert (found.fetches, found.violations, found.holds) == (6, 0, True)
    assert found.verdict == "4 requests for URLs, 2 for robots.txt or tdmrep.json, 2 hosts: no violation"
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
