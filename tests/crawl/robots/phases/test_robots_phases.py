"""What decides while robots.txt cannot be had: nothing, the last good copy, then everything."""

from collections.abc import Callable

import pytest

from app.crawl.robots import obtain
from app.crawl.state.worker import Kit
from app.crawl.visit.visit import take_up
from tests.crawl.loop import go, start
from tests.crawl.robots.phases.phases import (
    ANSWERS,
    COPY,
    DAY,
    HOUR,
    SILENT,
    expire,
    later,
    learn,
    lose,
    pass_by,
    resting,
    states,
)
from tests.crawl.web import Answer, Site
from tests.store.rows import claim, one, sql, url

# --- R3: the phases ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [ANSWERS, SILENT], ids=["answers", "silent"])
def test_for_twelve_hours_nothing_is_fetched_but_robots_txt(kit: Kit, site: Site, answer: Answer) -> None:
    learn(kit, site)
    lose(kit, site, answer, "/a")
    later(kit, 11.9 * HOUR)
    assert site.paths == ["/robots.txt"] * 2
    assert states(kit) == {"/a": "queued"}


@pytest.mark.parametrize("answer", [ANSWERS, SILENT], ids=["answers", "silent"])
def test_then_the_last_good_copy_decides(kit: Kit, site: Site, answer: Answer) -> None:
    learn(kit, site)
    lose(kit, site, answer, "/a", "/no")
    later(kit, 12 * HOUR)
    assert site.paths == ["/robots.txt", "/robots.txt", "/a"]  # it is asked for first, and once
    assert states(kit) == {"/a": "resting", "/no": "refused"}
    assert url(kit.engine, site.url("/no"))["detail"] == "line 2: Disallow: /no"


def test_under_a_copy_the_crawl_goes_on_between_the_attempts(kit: Kit, site: Site) -> None:
    learn(kit, site)
    lose(kit, site, ANSWERS, "/a")
    later(kit, 12 * HOUR)
    start(kit, site.url("/b"), name="further")
    go(kit)
    assert site.paths == ["/robots.txt", "/robots.txt", "/a", "/b"]
    later(kit, HOUR)
    start(kit, site.url("/"), name="last")
    go(kit)
    assert site.paths[4:] == ["/robots.txt", "/"]


def test_the_pace_of_the_copy_holds(make: Callable[..., Kit], site: Site) -> None:
    kit = make(backoff_base_s=1000.0, backoff_max_s=3600.0)
    learn(kit, site, "User-agent: *\nCrawl-delay: 0.05")
    lose(kit, site, ANSWERS, "/a", "/b")
    later(kit, 12 * HOUR)
    assert {row["delay_s"] for row in sql(kit.engine, "SELECT delay_s FROM fetches WHERE url LIKE '%/_'")} == {0.05}


@pytest.mark.parametrize("known", [None, Answer(status=404)], ids=["nothing", "404"])
@pytest.mark.parametrize("answer", [ANSWERS, SILENT], ids=["answers", "silent"])
def test_without_a_copy_there_is_nothing_to_go_by_for_thirty_days(
    kit: Kit, site: Site, known: Answer | None, answer: Answer
) -> None:
    """A 404 is no copy: that everything was allowed says nothing of a file that is there and cannot be read."""
    if known is not None:
        learn(kit, site, known)
    lose(kit, site, answer, "/a")
    later(kit, 13 * HOUR)
    later(kit, 29 * DAY)
    assert site.pages_asked == []
    assert states(kit) == {"/a": "queued"}


@pytest.mark.parametrize("has_copy", [True, False])
def test_after_thirty_days_a_host_that_answers_is_crawled_as_if_it_had_no_robots_txt(
    kit: Kit, site: Site, has_copy: bool
) -> None:
    if has_copy:
        learn(kit, site)
    lose(kit, site, ANSWERS, "/a", "/no")
    later(kit, 30 * DAY)
    assert sorted(site.pages_asked) == ["/a", "/no"]
    assert site.paths[:2] == ["/robots.txt"] * 2


def test_after_thirty_days_a_host_that_does_not_answer_goes_on_resting(kit: Kit, site: Site) -> None:
    learn(kit, site)
    lose(kit, site, SILENT, "/a")
    later(kit, 30 * DAY)
    assert site.pages_asked == []
    assert (states(kit), resting(kit)) == ({"/a": "queued"}, "resting: robots.txt out of reach")


def test_whether_the_host_answers_is_said_by_the_last_attempt(kit: Kit, site: Site) -> None:
    lose(kit, site, ANSWERS, "/a")
    site.robots = SILENT
    later(kit, 30 * DAY)
    assert site.pages_asked == []
    site.robots = ANSWERS
    later(kit, HOUR)
    assert site.pages_asked == ["/a"]


def test_what_the_copy_refused_is_reopened_when_everything_is_allowed(kit: Kit, site: Site) -> None:
    learn(kit, site)
    lose(kit, site, ANSWERS, "/no", keep_fresh=True)
    later(kit, 12 * HOUR)
    assert states(kit) == {"/no": "refused"}
    start(kit, site.url("/a"), name="wakes the host")
    later(kit, 30 * DAY)
    go(kit)
    assert states(kit) == {"/no": "resting"}


def test_a_success_ends_the_phases_and_the_next_failure_begins_them_anew(kit: Kit, site: Site) -> None:
    learn(kit, site)
    lose(kit, site, ANSWERS, "/a", keep_fresh=True)
    site.robots = COPY
    later(kit, 13 * HOUR)
    assert sql(kit.engine, "SELECT unreachable_since, failures, availability FROM robots") == [
        {"unreachable_since": None, "failures": 0, "availability": "available"}
    ]
    assert site.pages_asked == ["/a"]
    site.robots = ANSWERS
    expire(kit)
    start(kit, site.url("/b"), name="again")
    later(kit, 0)
    later(kit, HOUR)
    assert site.pages_asked == ["/a"]
    assert one(kit.engine, "SELECT now() - unreachable_since < interval '61 minutes' FROM robots")


def test_a_304_is_a_success(kit: Kit, site: Site) -> None:
    good = Answer(headers={"ETag": '"r1"'}, body=COPY.encode())
    learn(kit, site, good)
    lose(kit, site, ANSWERS, "/a", "/no")
    site.robots = good
    later(kit, 2 * HOUR)
    assert [hit.status for hit in site.log if hit.path == "/robots.txt"] == [500, 304]
    assert states(kit) == {"/a": "resting", "/no": "refused"}
    assert sql(kit.engine, "SELECT availability, status, detail FROM robots") == [
        {"availability": "available", "status": 304, "detail": ""}
    ]


def test_the_settings_set_the_phases(make: Callable[..., Kit], site: Site, auditors: list[Kit]) -> None:
    kit = make(backoff_base_s=1000.0, backoff_max_s=3600.0, robots_disallow_s=2 * HOUR, robots_copy_s=4 * HOUR)
    auditors.append(kit)
    learn(kit, site)
    lose(kit, site, ANSWERS, "/a", "/no")
    later(kit, HOUR)
    assert site.pages_asked == []
    later(kit, HOUR)
    assert site.pages_asked == ["/a"]
    assert states(kit) == {"/a": "resting", "/no": "refused"}
    start(kit, site.url("/no"), name="further")
    later(kit, 2 * HOUR)
    assert site.pages_asked == ["/a", "/no", "/no"]  # in this crawl, and reopened in the other


def test_a_visit_does_not_outstay_the_time_of_a_copy(make: Callable[..., Kit], site: Site) -> None:
    """The file is asked for once more when the copy's time ends, and then it depends on the host."""
    kit = make(backoff_base_s=1000.0, backoff_max_s=3600.0)
    learn(kit, site)
    lose(kit, site, SILENT, "/a")
    pass_by(kit, 30 * DAY - 100)
    sql(kit.engine, "UPDATE robots SET expires_at = now() + interval '1 hour'")
    (offer,) = claim(kit.engine, dict.fromkeys(kit.settings.queue_names, 1))
    visit = take_up(kit, offer.host_id, offer.token)
    assert visit is not None
    (file,) = visit.origins.robots.values()
    assert file.rules is not None
    assert 98 < file.fresh_until - visit.now() < 100
    assert obtain.of(visit, next(iter(visit.origins.robots))) is file.rules
