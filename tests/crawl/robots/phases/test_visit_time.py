"""Within the Visit-time of robots.txt pages are fetched; outside of it the host rests."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from app.crawl.state.worker import Worker
from tests.crawl.loop import go, start
from tests.crawl.robots.phases.phases import ANSWERS, HOUR, expire, later, learn, lose, resting, states
from tests.crawl.web import Site, Web, html
from tests.store.rows import one, sql


def window(worker: Worker, opens_h: float, closes_h: float) -> str:
    """A robots.txt whose Visit-time begins and ends so many hours from now."""
    now: datetime = one(worker.engine, "SELECT clock_timestamp()")
    hours = [f"{now.astimezone(UTC) + timedelta(hours=each):%H%M}" for each in (opens_h, closes_h)]
    return f"User-agent: *\nVisit-time: {'-'.join(hours)}\nDisallow: /no"


@pytest.mark.parametrize(
    ("opens_h", "closes_h"), [(-1, 2), (-13, 10), (-0.5, 23)], ids=["short", "over midnight", "long"]
)
def test_within_the_visit_time_pages_are_fetched(worker: Worker, site: Site, opens_h: float, closes_h: float) -> None:
    site.robots = window(worker, opens_h, closes_h)
    start(worker, site.url("/a"), name="more")
    go(worker)
    assert site.paths == ["/robots.txt", "/a"]


@pytest.mark.parametrize(("opens_h", "closes_h"), [(2, 4), (2, 23), (20, 22)], ids=["short", "over midnight", "late"])
def test_outside_of_it_the_host_rests_until_it_opens(
    worker: Worker, site: Site, opens_h: float, closes_h: float
) -> None:
    site.robots = window(worker, opens_h, closes_h)
    start(worker, site.url("/a"), site.url("/no"), name="more")
    go(worker)
    assert site.paths == ["/robots.txt"]
    assert states(worker) == {"/a": "queued", "/no": "queued"}
    assert resting(worker) == "resting: visit-time of robots.txt"
    away = one(worker.engine, "SELECT CAST(extract(epoch FROM next_fetch_at - now()) AS double precision) FROM hosts")
    assert opens_h * HOUR - 61 < away < opens_h * HOUR + 1
    assert one(worker.engine, "SELECT blocked_until FROM hosts") is None, "a URL of another origin would not wait"
    later(worker, away - 20)
    assert site.paths == ["/robots.txt"]


def test_when_it_opens_the_visit_begins(worker: Worker, site: Site) -> None:
    site.robots = window(worker, 2, 4)
    start(worker, site.url("/a"), name="more")
    go(worker)
    site.robots = window(worker, -1, 2)  # the clock cannot be moved, so the window is
    expire(worker)
    later(worker, 2 * HOUR)
    assert site.paths == ["/robots.txt", "/robots.txt", "/a"]


def test_robots_txt_itself_is_fetched_at_any_time(worker: Worker, site: Site) -> None:
    learn(worker, site, window(worker, 2, 4) + "\n\nUser-agent: Tiptoe\nDisallow: /no")
    site.robots = window(worker, 2, 4)
    expire(worker)
    start(worker, site.url("/a"), name="more")
    go(worker)
    assert site.paths == ["/robots.txt"]
    assert states(worker) == {"/a": "queued"}


def test_other_origins_of_the_host_go_on(make: Callable[..., Worker], web: Web, site: Site) -> None:
    worker = make(backoff_base_s=1000.0, backoff_max_s=3600.0)
    other = web.site(beside=site)
    other.pages |= {"/": html(), "/later": html()}
    site.robots = window(worker, 5, 6)
    start(worker, site.url("/a"), other.url("/"), name="more", keep_fresh=True)
    for _ in range(3):
        go(worker)
    assert (site.pages_asked, other.pages_asked) == ([], ["/"])
    start(worker, other.url("/later"), name="further")
    later(worker, HOUR)  # the host looks whether the other has something new
    assert (site.pages_asked, other.pages_asked) == ([], ["/", "/later"])


def test_the_visit_time_of_the_copy_holds(worker: Worker, site: Site) -> None:
    learn(worker, site, window(worker, -1, 2))
    sql(worker.engine, "UPDATE robots SET body = convert_to(:body, 'UTF8')", body=window(worker, 2, 4))
    sql(worker.engine, "TRUNCATE robots_copies")
    lose(worker, site, ANSWERS, "/a")
    later(worker, 12 * HOUR)
    assert site.pages_asked == []
    assert resting(worker) == "resting: visit-time of robots.txt"
