"""What decides while robots.txt cannot be had: nothing, the last good copy, then everything."""

from collections.abc import Callable

import pytest

from app.crawl.robots import obtain
from app.crawl.state.worker import Worker
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
def test_for_twelve_hours_nothing_is_fetched_but_robots_txt(worker: Worker, site: Site, answer: Answer) -> None:
    learn(worker, site)
    lose(worker, site, answer, "/a")
    later(worker, 11.9 * HOUR)
    assert site.paths == ["/robots.txt"] * 2
    assert states(worker) == {"/a": "queued"}


@pytest.mark.parametrize("answer", [ANSWERS, SILENT], ids=["answers", "silent"])
def test_then_the_last_good_copy_decides(worker: Worker, site: Site, answer: Answer) -> None:
    learn(worker, site)
    lose(worker, site, answer, "/a", "/no")
    later(worker, 12 * HOUR)
    assert site.paths == ["/robots.txt", "/robots.txt", "/a"]  # it is asked for first, and once
    assert states(worker) == {"/a": "resting", "/no": "refused"}
    assert url(worker.engine, site.url("/no"))["detail"] == "line 2: Disallow: /no"


def test_under_a_copy_the_crawl_goes_on_between_the_attempts(worker: Worker, site: Site) -> None:
    learn(worker, site)
    lose(worker, site, ANSWERS, "/a")
    later(worker, 12 * HOUR)
    start(worker, site.url("/b"), name="further")
    go(worker)
    assert site.paths == ["/robots.txt", "/robots.txt", "/a", "/b"]
    later(worker, HOUR)
    start(worker, site.url("/"), name="last")
    go(worker)
    assert site.paths[4:] == ["/robots.txt", "/"]


def test_the_pace_of_the_copy_holds(make: Callable[..., Worker], site: Site) -> None:
    worker = make(backoff_base_s=1000.0, backoff_max_s=3600.0)
    learn(worker, site, "User-agent: *\nCrawl-delay: 0.05")
    lose(worker, site, ANSWERS, "/a", "/b")
    later(worker, 12 * HOUR)
    assert {row["delay_s"] for row in sql(worker.engine, "SELECT delay_s FROM fetches WHERE url LIKE '%/_'")} == {0.05}


@pytest.mark.parametrize("known", [None, Answer(status=404)], ids=["nothing", "404"])
@pytest.mark.parametrize("answer", [ANSWERS, SILENT], ids=["answers", "silent"])
def test_without_a_copy_there_is_nothing_to_go_by_for_thirty_days(
    worker: Worker, site: Site, known: Answer | None, answer: Answer
) -> None:
    """A 404 is no copy: that everything was allowed says nothing of a file that is there and cannot be read."""
    if known is not None:
        learn(worker, site, known)
    lose(worker, site, answer, "/a")
    later(worker, 13 * HOUR)
    later(worker, 29 * DAY)
    assert site.pages_asked == []
    assert states(worker) == {"/a": "queued"}


@pytest.mark.parametrize("has_copy", [True, False])
def test_after_thirty_days_a_host_that_answers_is_crawled_as_if_it_had_no_robots_txt(
    worker: Worker, site: Site, has_copy: bool
) -> None:
    if has_copy:
        learn(worker, site)
    lose(worker, site, ANSWERS, "/a", "/no")
    later(worker, 30 * DAY)
    assert sorted(site.pages_asked) == ["/a", "/no"]
    assert site.paths[:2] == ["/robots.txt"] * 2


def test_after_thirty_days_a_host_that_does_not_answer_goes_on_resting(worker: Worker, site: Site) -> None:
    learn(worker, site)
    lose(worker, site, SILENT, "/a")
    later(worker, 30 * DAY)
    assert site.pages_asked == []
    assert (states(worker), resting(worker)) == ({"/a": "queued"}, "resting: robots.txt out of reach")


def test_whether_the_host_answers_is_said_by_the_last_attempt(worker: Worker, site: Site) -> None:
    lose(worker, site, ANSWERS, "/a")
    site.robots = SILENT
    later(worker, 30 * DAY)
    assert site.pages_asked == []
    site.robots = ANSWERS
    later(worker, HOUR)
    assert site.pages_asked == ["/a"]


def test_what_the_copy_refused_is_reopened_when_everything_is_allowed(worker: Worker, site: Site) -> None:
    learn(worker, site)
    lose(worker, site, ANSWERS, "/no", keep_fresh=True)
    later(worker, 12 * HOUR)
    assert states(worker) == {"/no": "refused"}
    start(worker, site.url("/a"), name="wakes-the-host")
    later(worker, 30 * DAY)
    go(worker)
    assert states(worker) == {"/no": "resting"}


def test_a_success_ends_the_phases_and_the_next_failure_begins_them_anew(worker: Worker, site: Site) -> None:
    learn(worker, site)
    lose(worker, site, ANSWERS, "/a", keep_fresh=True)
    site.robots = COPY
    later(worker, 13 * HOUR)
    assert sql(worker.engine, "SELECT unreachable_since, failures, availability FROM robots") == [
        {"unreachable_since": None, "failures": 0, "availability": "available"}
    ]
    assert site.pages_asked == ["/a"]
    site.robots = ANSWERS
    expire(worker)
    start(worker, site.url("/b"), name="again")
    later(worker, 0)
    later(worker, HOUR)
    assert site.pages_asked == ["/a"]
    assert one(worker.engine, "SELECT now() - unreachable_since < interval '61 minutes' FROM robots")


def test_a_304_is_a_success(worker: Worker, site: Site) -> None:
    good = Answer(headers={"ETag": '"r1"'}, body=COPY.encode())
    learn(worker, site, good)
    lose(worker, site, ANSWERS, "/a", "/no")
    site.robots = good
    later(worker, 2 * HOUR)
    assert [hit.status for hit in site.log if hit.path == "/robots.txt"] == [500, 304]
    assert states(worker) == {"/a": "resting", "/no": "refused"}
    assert sql(worker.engine, "SELECT availability, status, detail FROM robots") == [
        {"availability": "available", "status": 304, "detail": ""}
    ]


def test_the_settings_set_the_phases(make: Callable[..., Worker], site: Site, auditors: list[Worker]) -> None:
    worker = make(backoff_base_s=1000.0, backoff_max_s=3600.0, robots_disallow_s=2 * HOUR, robots_copy_s=4 * HOUR)
    auditors.append(worker)
    learn(worker, site)
    lose(worker, site, ANSWERS, "/a", "/no")
    later(worker, HOUR)
    assert site.pages_asked == []
    later(worker, HOUR)
    assert site.pages_asked == ["/a"]
    assert states(worker) == {"/a": "resting", "/no": "refused"}
    start(worker, site.url("/no"), name="further")
    later(worker, 2 * HOUR)
    assert site.pages_asked == ["/a", "/no", "/no"]  # in this crawl, and reopened in the other


def test_a_visit_does_not_outstay_the_time_of_a_copy(make: Callable[..., Worker], site: Site) -> None:
    """The file is asked for once more when the copy's time ends, and then it depends on the host."""
    worker = make(backoff_base_s=1000.0, backoff_max_s=3600.0)
    learn(worker, site)
    lose(worker, site, SILENT, "/a")
    pass_by(worker, 30 * DAY - 100)
    sql(worker.engine, "UPDATE robots SET expires_at = now() + interval '1 hour'")
    (offer,) = claim(worker.engine, dict.fromkeys(worker.settings.queue_names, 1))
    visit = take_up(worker, offer.host_id, offer.token)
    assert visit is not None
    (file,) = visit.origins.robots.values()
    assert file.rules is not None
    assert 98 < file.fresh_until - visit.now() < 100
    assert obtain.of(visit, next(iter(visit.origins.robots))) is file.rules
