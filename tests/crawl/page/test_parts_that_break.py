"""A bug in any step of a URL costs that URL alone: the gate, robots.txt, receiving, judging, a feed, a settle.

A part of the worker is replaced by one that raises for what it is told; the rest is real.
"""

import errno
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.crawl.state.robots_book import RobotsBook
from app.crawl.state.worker import Worker
from app.errors import ServiceError
from app.model import Cause, Origin, Refusal, Reply, Request, Unsent, Url, VisitEnding
from app.policy.robots import Robots
from app.policy.tdm import RobotsSignals
from app.policy.url import Canon
from tests.crawl.loop import bring_forward, go, run, start
from tests.crawl.visit.robots_states import expire
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import one, sql, url

BUG = "raises here"


class FaultyCanon(Canon):
    """Raises for URLs that end in /bad: of rows, and of links."""

    def __init__(self, fault: BaseException) -> None:
        super().__init__()
        self._fault = fault

    def of_row(self, text: str, key: bytes, linked: str | None = None) -> Url | Refusal:
        if text.endswith("/bad"):
            raise self._fault
        return super().of_row(text, key, linked)

    def join(self, base: str, href: str) -> Url | Refusal:
        if href.endswith("/bad.xml"):
            raise self._fault
        return super().join(base, href)


class FaultyBook(RobotsBook):
    """Raises for a robots.txt that says so, when its rules or its signals are read."""

    def __init__(self, *, rules: bool = True, foreign: bool = False) -> None:
        super().__init__("tiptoe")
        self._rules, self._raises_foreign = rules, foreign

    def parsed(self, body: bytes) -> Robots:
        if self._rules and BUG.encode() in body:
            raise IndexError("of rules")
        return super().parsed(body)

    def signals(self, digest: bytes, body: Callable[[], bytes]) -> RobotsSignals:
        if BUG.encode() in body():
            raise RecursionError("of signals")
        return super().signals(digest, body)

    def foreign(self, origin: Origin, now: float) -> Robots | None:
        if self._raises_foreign:
            raise KeyError("of the bookkeeping")
        return super().foreign(origin, now)


class FaultySink(BytesIO):
    def write(self, data: Any) -> int:
        raise ValueError(f"of {len(data)} octets")


class OddFields(dict[str, str]):
    """Fields that cannot be looked through for a wall."""

    def __iter__(self) -> Iterator[str]:
        raise LookupError("of the fields")


@pytest.fixture(autouse=True)
def log() -> Iterator[list[Any]]:
    """What is logged, and not printed: a traceback with a worker's state takes seconds to lay out."""
    with capture_logs() as lines:
        yield lines


def crashed(log: list[Any]) -> set[str]:
    """Events that were logged with a traceback."""
    return {line["event"] for line in log if line.get("exc_info")}


def three(web: Web) -> Site:
    site = web.site()
    site.pages |= {
        "/": html("/a", "/bad", "/b"),
        "/a": html(text="a"),
        "/bad": html(text="bad"),
        "/b": html(text="b"),
    }
    return site


def asked(site: Site) -> dict[str, int]:
    return {path: site.paths.count(path) for path in site.pages}


def broken(worker: Worker, site: Site, path: str = "/bad") -> tuple[str, str | None, str | None]:
    row = url(worker.engine, site.url(path))
    return row["state"], row["cause"], row["detail"]


def test_the_gate(worker: Worker, web: Web, log: list[Any]) -> None:
    site, worker = three(web), replace(worker, canon=FaultyCanon(IndexError("of the gate\x1b[2J")))
    start(worker, site.url())
    (report,) = run(worker)
    assert report.ending is not VisitEnding.LOST
    assert crashed(log) == {"page.crashed"}
    assert asked(site) == {"/": 1, "/a": 1, "/bad": 0, "/b": 1}
    state, cause, detail = broken(worker, site)
    assert (state, cause) == ("quarantined", Cause.UNREADABLE)
    assert detail is not None
    assert detail.startswith("visiting it raised IndexError: of the gate")
    assert detail.isprintable()
    assert one(worker.engine, "SELECT sum(failed) FROM crawl_hosts") == 1
    assert one(worker.engine, "SELECT unfetched FROM hosts") == 0


@pytest.mark.parametrize(
    "fault",
    [MemoryError(), OSError(errno.ENOSPC, "No space left on device"), ServiceError("Postgres at db", "out of reach")],
    ids=lambda each: type(each).__name__,
)
def test_a_failure_of_ours_at_the_gate_ends_no_url(worker: Worker, web: Web, fault: Exception) -> None:
    site = three(web)
    start(worker, site.url())
    with pytest.raises(type(fault)):
        run(replace(worker, canon=FaultyCanon(fault)))
    row = url(worker.engine, site.url("/bad"))
    assert (row["state"], row["cause"], row["attempts"]) == ("queued", None, 0)


def test_a_line_of_robots_txt_that_names_a_sitemap(worker: Worker, web: Web) -> None:
    site, worker = three(web), replace(worker, canon=FaultyCanon(IndexError("no")))
    del site.pages["/bad"]
    site.pages["/"] = html("/a", "/b")
    site.robots = f"Sitemap: {site.url('/bad.xml')}\nUser-agent: *\nDisallow: /b$\n"
    start(worker, site.url(), sitemaps="all")
    run(worker)
    assert asked(site) == {"/": 1, "/a": 1, "/b": 0}
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE state = 'quarantined'") == 0


@pytest.mark.parametrize("rules", [True, False], ids=["rules", "signals"])
def test_a_robots_txt_that_cannot_be_read_closes_its_origin_for_a_while(
    make: Callable[..., Worker], web: Web, log: list[Any], *, rules: bool
) -> None:
    """RFC 9309 2.3.1.4: unreachable, complete disallow. No URL ends, and none is called disallowed."""
    site, good = three(web), make(backoff_base_s=60.0, backoff_max_s=60.0)
    site.robots = f"# {BUG}\nUser-agent: *\nDisallow: /b$\n"
    start(good, site.url())
    worker = replace(good, robots=FaultyBook(rules=rules))
    go(worker)
    bring_forward(worker.engine)
    go(worker)
    assert site.paths == ["/robots.txt"] * 2
    assert crashed(log) == {"robots.crashed"}
    assert (url(worker.engine, site.url())["state"], url(worker.engine, site.url())["attempts"]) == ("queued", 0)
    (row,) = sql(worker.engine, "SELECT availability, status, failures, detail, body_sha256 FROM robots")
    assert (row["availability"], row["status"], row["failures"], row["body_sha256"]) == ("unreachable", None, 2, None)
    assert row["detail"].startswith("reading it raised ")
    assert [
        (each["status"], each["outcome"]) for each in sql(worker.engine, "SELECT status, outcome FROM fetches")
    ] == [(200, "page")] * 2, "what was sent is in the log, as it was answered"
    bring_forward(worker.engine)
    run(good)
    assert asked(site) == {"/": 1, "/a": 1, "/bad": 1, "/b": 0}


@pytest.mark.parametrize("rules", [True, False], ids=["rules", "signals"])
def test_a_copy_that_a_new_release_cannot_read(make: Callable[..., Worker], web: Web, *, rules: bool) -> None:
    """It is asked for anew, whole; nothing else is asked, and the visit goes on to its end."""
    site, good = three(web), make(backoff_base_s=60.0, backoff_max_s=60.0)
    site.robots = Answer(
        headers={"ETag": '"1"', "Content-Type": "text/plain"}, body=f"# {BUG}\nUser-agent: *\nAllow: /\n".encode()
    )
    start(good, site.url("/a"))
    run(good)
    assert site.paths == ["/robots.txt", "/a"]
    start(good, site.url("/b"), name="second")
    go(replace(good, robots=FaultyBook(rules=rules)))
    assert site.paths == ["/robots.txt", "/a", "/robots.txt"]
    assert site.log[-1].headers["If-None-Match"] is None
    assert site.log[-1].status == 200
    assert one(good.engine, "SELECT count(*) FROM hosts WHERE lease_until IS NOT NULL") == 0, "the visit left"
    bring_forward(good.engine)
    expire(good)
    run(good)
    assert site.paths[-1] == "/b"


def test_a_robots_txt_of_another_origin_costs_no_page_that_links_to_it(worker: Worker, web: Web) -> None:
    there, here = three(web), web.site()
    there.robots = f"# {BUG}\nUser-agent: *\nDisallow: /b$\n"
    start(worker, there.url("/a"), scope="any")
    run(worker)
    here.pages["/"] = html(there.url("/b"), "/next")
    here.pages["/next"] = html(text="next")
    start(worker, here.url(), name="second", scope="any")
    faulty = replace(worker, robots=FaultyBook())
    for _ in range(2):
        go(faulty)
    assert {url(worker.engine, here.url(path))["state"] for path in ("/", "/next")} == {"resting"}
    assert url(worker.engine, there.url("/b"))["state"] == "queued", "its gate will say"
    assert there.paths == ["/robots.txt", "/a", *["/robots.txt"] * (len(there.paths) - 2)]


def test_a_bug_in_a_settle_costs_what_revealed_it(worker: Worker, web: Web, log: list[Any]) -> None:
    site, there = three(web), web.site()
    site.pages["/a"] = html(there.url("/"), "/c", text="a")
    site.pages["/c"] = html(text="c")
    start(worker, site.url(), scope="any")
    run(replace(worker, robots=FaultyBook(foreign=True)))
    assert asked(site) == {"/": 1, "/a": 1, "/bad": 1, "/b": 1, "/c": 1}
    assert {row["state"] for row in sql(worker.engine, "SELECT state FROM urls")} == {"resting"}
    assert there.paths == []
    assert "settle.crashed" in crashed(log)


def received(worker: Worker, change: Callable[[Request], Request]) -> Worker:
    """The worker with its real sender, which is handed other requests for /bad."""
    send = worker.send
    return replace(worker, send=lambda request: send(change(request) if request.url.endswith("/bad") else request))


def test_receiving_an_answer(make: Callable[..., Worker], web: Web) -> None:
    """The request is in the log, its pace holds, and its connection is not used again."""
    site = three(web)
    worker = received(make(default_delay_s=0.2), lambda request: request._replace(sink=FaultySink()))
    start(worker, site.url())
    run(worker)
    assert asked(site) == {"/": 1, "/a": 1, "/bad": 1, "/b": 1}
    assert min(site.gaps()) >= 0.2
    state, cause, detail = broken(worker, site)
    assert (state, cause) == ("quarantined", Cause.FAILED)
    assert detail is not None
    assert detail.startswith("broken (protocol): receiving it raised ValueError: of ")
    (row,) = sql(worker.engine, "SELECT outcome, failure, address FROM fetches WHERE url = :url", url=site.url("/bad"))
    assert (row["outcome"], row["failure"], str(row["address"])) == ("broken", "protocol", site.address)


def test_judging_an_answer(make: Callable[..., Worker], web: Web) -> None:
    """The request is in the log."""
    site, worker = three(web), make(default_delay_s=0.2)
    send = worker.send

    def odd(request: Request) -> Reply | Unsent:
        reply = send(request)
        assert isinstance(reply, Reply)
        return reply._replace(headers=OddFields(reply.headers)) if request.url.endswith("/bad") else reply

    worker = replace(worker, send=odd)
    start(worker, site.url())
    run(worker)
    assert asked(site) == {"/": 1, "/a": 1, "/bad": 1, "/b": 1}
    assert min(site.gaps()) >= 0.2
    state, cause, detail = broken(worker, site)
    assert (state, cause, detail) == ("quarantined", Cause.UNREADABLE, "visiting it raised LookupError: of the fields")
    assert one(worker.engine, "SELECT outcome FROM fetches WHERE url = :url", url=site.url("/bad")) == "broken"


def test_a_feed(worker: Worker, web: Web) -> None:
    site, worker = three(web), replace(worker, canon=FaultyCanon(IndexError("of the feed")))
    items = "".join(f"<item><title>x</title><link>{site.url(path)}</link></item>" for path in ("/a", "/bad.xml"))
    body = f'<?xml version="1.0"?><rss version="2.0"><channel>{items}</channel></rss>'.encode()
    site.pages["/feed"] = Answer(headers={"Content-Type": "application/rss+xml"}, body=body)
    start(worker, site.url("/feed"), site.url("/b"))
    run(worker)
    assert broken(worker, site, "/feed") == (
        "quarantined",
        Cause.UNREADABLE,
        "reading it raised IndexError: of the feed",
    )
    assert url(worker.engine, site.url("/b"))["state"] == "resting"
