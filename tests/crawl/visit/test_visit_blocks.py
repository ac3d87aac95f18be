"""Walls made for bots, refusals, and failures by their class (promise P7, P8): what becomes of the URL and of its
host."""

from collections import Counter
from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from app.admin import explain
from app.crawl.state.worker import Worker
from app.model import Cause
from tests.crawl.answers import in_turn
from tests.crawl.clock import DAY, HOUR, SLACK_S, STEP, host, logged, step, steps
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Web, html
from tests.store.rows import one, sql, url

Make = Callable[..., Worker]


# --- blocks ---------------------------------------------------------------------------------------------------------

CHALLENGE = html("/behind", title="Just a moment...", status=403, headers={"cf-mitigated": "challenge"})
DENIED = html("/behind", title="Access Denied", text="Access denied")


def test_a_challenge_is_a_no_and_its_host_rests_for_a_day(make: Make, web: Web) -> None:
    worker = make(**STEP)
    site = web.site()
    site.pages |= {"/": html("/a", "/b"), "/a": in_turn(CHALLENGE, html()), "/b": in_turn(CHALLENGE, html())}
    start(worker, site.url())
    step(worker)
    row = host(worker.engine)
    assert len(site.pages_asked) == 2
    met = site.pages_asked[-1]
    assert (row["resting_because"], row["rests_s"]) == ("challenged", pytest.approx(DAY, abs=SLACK_S))
    found = url(worker.engine, site.url(met))
    assert (found["state"], found["attempts"]) == ("queued", 0)
    assert logged(worker.engine, "outcome")[-1] == "challenged"
    (known,) = explain.why(worker.engine, worker.settings, site.url(met)).crawls
    assert known.waits_for[0].startswith("its rest (challenged) to end")
    step(worker, after_s=DAY - 60)
    assert len(site.pages_asked) == 2, "nothing else is asked for"
    step(worker, after_s=60)
    assert len(site.pages_asked) > 2
    assert one(worker.engine, "SELECT count(*) FROM pages WHERE url = :url", url=site.url("/behind")) == 0


def test_the_rest_after_a_challenge_is_a_setting(make: Make, web: Web) -> None:
    worker = make(challenge_rest_s=500.0, **STEP)
    site = web.site()
    site.pages["/"] = CHALLENGE
    start(worker, site.url())
    step(worker)
    assert host(worker.engine)["rests_s"] == pytest.approx(500, abs=SLACK_S)
    assert logged(worker.engine, "rest_s") == [500.0]


def test_a_host_that_only_challenges_is_given_up(make: Make, web: Web) -> None:
    worker = make(host_failures_max=3, **STEP)
    site = web.site()
    site.pages |= {"/": CHALLENGE, "/a": CHALLENGE}
    start(worker, site.url(), site.url("/a"))
    steps(worker, 5, after_s=DAY)
    assert len(site.pages_asked) == 3
    causes = sql(worker.engine, "SELECT DISTINCT state, cause, detail FROM urls")
    assert causes == [{"state": "quarantined", "cause": Cause.CHALLENGED, "detail": "3 times in a row"}]


def test_a_soft_block_cuts_the_rate_and_is_no_page(make: Make, web: Web) -> None:
    worker = make(adaptive_level_max=8, **STEP)
    site = web.site()
    site.pages |= {"/": html("/x"), "/x": DENIED}
    start(worker, site.url())
    step(worker)
    row = host(worker.engine)
    assert (row["adaptive_level"], row["delay_s"]) == (3, 8.0)
    assert row["waits_s"] is None, "its only URL waits for its retry"
    found = url(worker.engine, site.url("/x"))
    assert (found["state"], found["retrying"], found["attempts"]) == ("resting", True, 1)
    run(worker)
    found = url(worker.engine, site.url("/x"))
    assert (found["state"], site.pages_asked.count("/x")) == ("quarantined", 3)
    assert (found["cause"], found["detail"]) == (Cause.FAILED, "soft_blocked (200) 3 times")
    assert [row["url"] for row in sql(worker.engine, "SELECT url FROM pages")] == [site.url()]
    assert "/behind" not in site.pages_asked
    assert logged(worker.engine, "outcome") == ["page"] + ["soft_blocked"] * 3


def test_a_soft_block_that_ends_brings_the_page(make: Make, web: Web) -> None:
    worker = make(adaptive_level_max=8, **STEP)
    site = web.site()
    site.pages |= {"/": in_turn(DENIED, html("/a")), "/a": html()}
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/", "/a"]
    assert url(worker.engine, site.url())["attempts"] == 0


@pytest.mark.parametrize(("status", "outcome"), [(401, "unauthorised"), (403, "forbidden"), (451, "forbidden")])
def test_a_refusal_stops_one_url_and_not_its_host(make: Make, web: Web, status: int, outcome: str) -> None:
    worker = make(adaptive_level_max=8)
    site = web.site()
    site.pages |= {"/": html("/x", "/y"), "/x": Answer(status=status), "/y": html()}
    start(worker, site.url())
    run(worker)
    assert Counter(site.pages_asked) == {"/": 1, "/x": 1, "/y": 1}
    found = url(worker.engine, site.url("/x"))
    assert (found["state"], found["outcome"], found["status"]) == ("resting", outcome, status)
    row = host(worker.engine)
    assert (row["adaptive_level"], row["failures"], row["resting_because"]) == (0, 0, None)


# --- failures by class (P8) -------------------------------------------------------------------------------------------

SERVER, NETWORK = Answer(status=500), Answer(body=b"half", cut=True)


def classes(engine: Engine, text: str) -> tuple[int, int, int]:
    """Failures of the server, of the network, and all."""
    row = url(engine, text)
    return row["server_failures"], row["network_failures"], row["attempts"]


def test_failures_of_each_class_are_counted_apart(make: Make, web: Web) -> None:
    worker = make(attempts_max=3, **STEP)
    site = web.site()
    site.pages["/"] = in_turn(SERVER, NETWORK, SERVER, NETWORK, SERVER)
    start(worker, site.url())
    found = []
    for _ in range(4):
        step(worker, after_s=HOUR)
        found.append(classes(worker.engine, site.url()))
    assert found == [(1, 0, 1), (1, 1, 2), (2, 1, 3), (2, 2, 4)]
    assert url(worker.engine, site.url())["retrying"] is True, "two of each are not three of one"
    steps(worker, 2)
    row = url(worker.engine, site.url())
    assert (row["cause"], row["detail"]) == (Cause.FAILED, "server_error (500) 3 times")
    assert len(site.pages_asked) == 5


def test_a_good_answer_forgets_the_failures_of_every_class(make: Make, web: Web) -> None:
    worker = make(attempts_max=3, **STEP)
    site = web.site()
    site.pages["/"] = in_turn(SERVER, NETWORK, html())
    start(worker, site.url())
    steps(worker, 2)
    assert classes(worker.engine, site.url()) == (1, 1, 2)
    step(worker, after_s=HOUR)
    assert classes(worker.engine, site.url()) == (0, 0, 0)


# header of an answer, the reason that its URL keeps
MALFORMED = [
    ({"Transfer-Encoding": "gzip"}, "Transfer-Encoding 'gzip', which nobody asked for"),
    ({"Content-Encoding": ", ".join(["br"] * 300)}, "300 content codings over each other; 5 are decoded"),
    ({"X-Long": "x" * 300_000}, "more than 262,144 bytes of header fields"),
]


@pytest.mark.parametrize(("headers", "why"), MALFORMED)
def test_a_malformed_answer_costs_one_request_and_its_reason_is_kept(
    make: Make, web: Web, headers: dict[str, str], why: str
) -> None:
    worker = make(attempts_max=3, **STEP)
    site = web.site()
    site.pages |= {"/": html("/x", "/y"), "/x": Answer(headers=headers, body=b"x"), "/y": html()}
    start(worker, site.url())
    run(worker)
    assert Counter(site.pages_asked) == {"/": 1, "/x": 1, "/y": 1}
    row = url(worker.engine, site.url("/x"))
    assert (row["state"], row["cause"], row["detail"]) == ("quarantined", Cause.FAILED, f"broken (protocol): {why}")


# Content-Range of a 206, the reason that its URL keeps
PARTS = [
    (None, "of no range"),
    ("bytes 0-0/99", "Content-Range 'bytes 0-0/99'"),
    ("bytes 0-0/*", "Content-Range 'bytes 0-0/*'"),
]


@pytest.mark.parametrize(("said", "why"), PARTS)
def test_a_part_costs_one_request_and_its_reason_is_kept(make: Make, web: Web, said: str | None, why: str) -> None:
    worker = make(attempts_max=3, **STEP)
    site = web.site()
    site.pages |= {"/": html("/x"), "/x": html("/y", status=206, headers={"Content-Range": said} if said else {})}
    start(worker, site.url())
    run(worker)
    assert Counter(site.pages_asked) == {"/": 1, "/x": 1}
    row = url(worker.engine, site.url("/x"))
    words = f"broken (206): a part that nobody asked for, {why}"
    assert (row["state"], row["cause"], row["detail"]) == ("quarantined", Cause.FAILED, words)


@pytest.mark.parametrize("status", [429, 503])
def test_what_is_the_hosts_trouble_spends_no_class(make: Make, web: Web, status: int) -> None:
    worker = make(**STEP)
    site = web.site()
    site.pages["/"] = in_turn(SERVER, Answer(status=status, headers={"Retry-After": "5"}))
    start(worker, site.url())
    steps(worker, 6)
    assert len(site.pages_asked) == 6
    assert classes(worker.engine, site.url()) == (1, 0, 1)
