"""One violation of robots.txt planted in a clean log."""

import pytest

from tests.admin.planted.planted_rows import PRIVATE
from tests.crawl.planted import DAY, HOUR, Log, audited, wrong


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


# so long after robots.txt went out of reach, with or without a last good copy, answered or not, path → disallowed
# (promise R3)
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
    assert "1 request is not judged: older than the history of robots.txt" in audited(log.engine).verdict
