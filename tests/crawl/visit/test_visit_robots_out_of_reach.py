"""A robots.txt that cannot be had disallows all, for as long as it must."""

from collections.abc import Callable

import pytest

from app.admin.seeds import add
from app.crawl.state.worker import Worker
from app.model import Cause
from tests.crawl.loop import bring_forward, go, run, start
from tests.crawl.visit.robots_states import expire, known
from tests.crawl.web import Answer, Page, Web, html
from tests.store.rows import one, sql, url

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
    make: Callable[..., Worker], web: Web, answer: Answer
) -> None:
    worker = make(backoff_base_s=1000.0, backoff_max_s=5000.0, robots_deadline_s=0.3)
    site = web.site()
    site.robots = answer
    site.pages["/"] = html()
    start(worker, site.url())
    for _ in range(3):
        go(worker)
    assert site.paths == ["/robots.txt"]
    assert url(worker.engine, site.url())["state"] == "queued"
    (row,) = sql(worker.engine, "SELECT * FROM v_host_status")
    assert row["waits_for"] == "resting: robots.txt out of reach"
    assert known(worker) == "unreachable"


@pytest.mark.parametrize("answer", OUT_OF_REACH[:3], ids=lambda answer: str(answer)[:60])
def test_a_host_that_never_gives_its_robots_txt_is_given_up(
    make: Callable[..., Worker], web: Web, answer: Answer
) -> None:
    worker = make(new_host_failures_max=3)
    site = web.site()
    site.robots = answer
    site.pages["/"] = html()
    start(worker, site.url(), site.url("/a"))
    run(worker)
    assert site.paths == ["/robots.txt"] * 3
    for path in ("/", "/a"):
        found = url(worker.engine, site.url(path))
        assert (found["state"], found["cause"] == Cause.ROBOTS_OUT_OF_REACH) == ("refused", True)


def test_a_host_that_recovers_is_crawled(worker: Worker, web: Web) -> None:
    site = web.site()
    answers: list[Page] = [Answer(status=500), Answer(status=500), "User-agent: *\nDisallow: /no"]
    site.robots = lambda _: answers.pop(0)  # type: ignore[assignment, return-value]
    site.pages["/"] = html("/no")
    start(worker, site.url())
    run(worker)
    assert site.paths == ["/robots.txt"] * 3 + ["/"]
    assert one(worker.engine, "SELECT failures FROM hosts") == 0
    assert one(worker.engine, "SELECT unreachable_since IS NULL FROM robots") is True


def test_while_out_of_reach_the_last_good_copy_is_kept_but_not_used(make: Callable[..., Worker], web: Web) -> None:
    worker = make(backoff_base_s=1000.0, backoff_max_s=1000.0)
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /no"
    site.pages["/"] = html()
    start(worker, site.url())
    run(worker)
    site.robots = Answer(status=500)
    expire(worker)
    start(worker, site.url("/more"), name="more")
    go(worker)
    assert site.pages_asked == ["/"]
    (row,) = sql(worker.engine, "SELECT availability, body, unreachable_since IS NOT NULL AS since FROM robots")
    assert row == {"availability": "unreachable", "body": b"User-agent: *\nDisallow: /no", "since": True}


@pytest.mark.parametrize("first", ["good", "bad"])
def test_one_origin_out_of_reach_does_not_stop_the_others(make: Callable[..., Worker], web: Web, first: str) -> None:
    worker = make(new_host_failures_max=2, backoff_base_s=30.0, backoff_max_s=60.0)
    good = web.site()
    bad = web.site(beside=good)
    bad.robots = Answer(status=500)
    good.pages |= {"/": html("/a"), "/a": html()}
    seeds = [good.url(), bad.url("/x")]
    crawl = start(worker, seeds[first == "bad"])
    add(worker.engine, worker.settings, crawl, [seeds[first != "bad"]])
    for _ in range(6):
        go(worker)
        bring_forward(worker.engine)
    assert sorted(good.pages_asked) == ["/", "/a"]
    assert bad.pages_asked == []
    found = url(worker.engine, bad.url("/x"))
    assert (found["state"], found["attempts"]) in {("resting", 0), ("queued", 0)}


@pytest.mark.parametrize(("answers", "times"), [(False, 2), (True, 5)], ids=["never answered", "answers once"])
def test_an_origin_that_never_answered_beside_one_that_does_is_given_up_soon(
    make: Callable[..., Worker], web: Web, *, answers: bool, times: int
) -> None:
    """Many a page names https of a host that has none: its crawl was open for hours."""
    worker = make(new_host_failures_max=2, host_failures_max=5)
    good = web.site()
    bad = web.site(beside=good)
    replies: list[Page] = [Answer(status=500)] if answers else []
    bad.robots = lambda _: replies.pop() if replies else Answer(drop=True)  # type: ignore[assignment, return-value]
    good.pages |= {"/": html(bad.url("/x"), "/a"), "/a": html()}
    start(worker, good.url())
    run(worker)
    assert sorted(good.pages_asked) == ["/", "/a"]
    found = url(worker.engine, bad.url("/x"))
    assert (found["state"], found["cause"]) == ("refused", Cause.ROBOTS_OUT_OF_REACH)
    assert one(worker.engine, f"SELECT failures FROM robots WHERE port = {bad.port}") == times
