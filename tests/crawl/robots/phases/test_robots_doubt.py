"""After a refusal robots.txt is doubted, and fetched anew."""

import pytest

from app.crawl.state.worker import Worker
from tests.crawl.loop import go, start
from tests.crawl.robots.phases.phases import ANSWERS, COPY, HOUR, later, learn, lose, states
from tests.crawl.web import Answer, Site, html
from tests.store.rows import one, sql


def asked_ago(worker: Worker, seconds: float) -> None:
    """robots.txt was fetched so long ago, and is fresh for hours."""
    values = f"fetched_at = now() - make_interval(secs => {seconds}), expires_at = now() + interval '10 hours'"
    sql(worker.engine, f"UPDATE robots SET {values}")


@pytest.mark.parametrize("status", [403, 429])
def test_after_a_refusal_robots_txt_is_fetched_anew_before_the_next_page(
    worker: Worker, site: Site, status: int
) -> None:
    learn(worker, site)
    asked_ago(worker, 2 * HOUR)
    site.pages["/a"] = Answer(status=status)
    start(worker, site.url("/a"), name="more")
    go(worker)
    site.robots, site.pages["/a"] = "User-agent: *\nDisallow: /b", html()
    start(worker, site.url("/b"), name="further")
    later(worker, HOUR)
    assert site.paths[:2] == ["/a", "/robots.txt"]
    assert "/b" not in site.paths


def test_within_a_visit_too(worker: Worker, site: Site) -> None:
    learn(worker, site)
    asked_ago(worker, 2 * HOUR)
    site.pages |= {"/a": Answer(status=403), "/b": Answer(status=403)}
    start(worker, site.url("/a"), site.url("/b"), site.url("/"), name="more")
    (report,) = go(worker)
    assert report.requests == 4
    pages = site.pages_asked
    first = min(pages.index("/a"), pages.index("/b"))
    assert site.paths.index("/robots.txt") == first + 1
    assert site.paths.count("/robots.txt") == 1  # the second 403 comes within the hour


def test_it_is_doubted_once_an_hour_at_most(worker: Worker, site: Site) -> None:
    learn(worker, site)
    asked_ago(worker, HOUR / 2)
    site.pages["/a"] = Answer(status=403)
    start(worker, site.url("/a"), site.url("/b"), name="more")
    go(worker)
    assert sorted(site.paths) == ["/a", "/b"]
    assert one(worker.engine, "SELECT expires_at - fetched_at = interval '1 hour' FROM robots")
    start(worker, site.url("/"), name="further")
    later(worker, HOUR)
    assert site.paths[2:] == ["/robots.txt", "/"]


def test_a_doubt_is_settled_with_its_page(worker: Worker, site: Site) -> None:
    """Another worker reads it from the database; what the site says of caching can shorten it, not lengthen it."""
    learn(worker, site, Answer(headers={"Cache-Control": "max-age=86400"}, body=COPY.encode()))
    asked_ago(worker, 5 * HOUR)
    site.pages["/a"] = Answer(status=403)
    start(worker, site.url("/a"), name="more")
    go(worker)
    assert one(worker.engine, "SELECT expires_at < now() FROM robots")
    learnt = Answer(headers={"Cache-Control": "max-age=600"}, body=COPY.encode())
    site.robots = learnt
    start(worker, site.url("/b"), name="further")
    go(worker)
    assert site.paths == ["/a", "/robots.txt", "/b"]
    assert one(worker.engine, "SELECT expires_at - fetched_at = interval '10 minutes' FROM robots")
    start(worker, site.url("/a"), name="last")
    go(worker)
    assert one(worker.engine, "SELECT expires_at - fetched_at = interval '10 minutes' FROM robots")


def test_a_doubted_robots_txt_is_revalidated(worker: Worker, site: Site) -> None:
    learn(worker, site, Answer(headers={"ETag": '"r1"', "Last-Modified": "yesterday"}, body=COPY.encode()))
    asked_ago(worker, 2 * HOUR)
    site.pages["/a"] = Answer(status=403)
    start(worker, site.url("/a"), name="more")
    go(worker)
    start(worker, site.url("/no"), name="further")
    go(worker)
    (hit,) = [hit for hit in site.log if hit.path == "/robots.txt"]
    assert (hit.status, hit.headers["If-None-Match"], hit.headers["If-Modified-Since"]) == (304, '"r1"', "yesterday")
    assert (states(worker), states(worker, "further")) == ({"/a": "resting"}, {"/no": "refused"})


def test_robots_txt_is_not_asked_for_before_a_block_is_over(worker: Worker, site: Site) -> None:
    learn(worker, site)
    asked_ago(worker, 2 * HOUR)
    site.pages["/a"] = Answer(status=429, headers={"Retry-After": "7200"})
    start(worker, site.url("/a"), site.url("/b"), name="more")
    go(worker)
    seen = len(site.paths)
    assert one(worker.engine, "SELECT expires_at < now() FROM robots")
    later(worker, 7180)
    assert len(site.paths) == seen
    later(worker, 30)
    assert site.paths[seen] == "/robots.txt"


@pytest.mark.parametrize("status", [200, 401, 404, 410, 451, 500])
def test_other_answers_raise_no_doubt(worker: Worker, site: Site, status: int) -> None:
    learn(worker, site)
    asked_ago(worker, 2 * HOUR)
    site.pages["/a"] = Answer(status=status)
    start(worker, site.url("/a"), site.url("/b"), name="more")
    go(worker)
    assert "/robots.txt" not in site.paths


def test_a_robots_txt_out_of_reach_keeps_its_own_back_off(worker: Worker, site: Site) -> None:
    """What asks for more patience than an hour is not shortened by a 403 under the copy."""
    learn(worker, site)
    lose(worker, site, ANSWERS, "/a")
    site.pages["/b"] = Answer(status=403)
    later(worker, 12 * HOUR)
    sql(
        worker.engine,
        "UPDATE robots SET fetched_at = now() - interval '2 hours', expires_at = now() + interval '5 hours'",
    )
    start(worker, site.url("/b"), name="further")
    go(worker)
    assert one(worker.engine, "SELECT expires_at > now() + interval '4 hours' FROM robots")
