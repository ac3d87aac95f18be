"""Retry-After closes the whole host until then, in every form and wherever it stands (promise P5)."""

from collections.abc import Callable
from email.utils import formatdate
from time import time

import pytest

from app.crawl.state.worker import Worker
from tests.crawl.answers import in_turn
from tests.crawl.clock import SLACK_S, STEP, TICK_S, host, logged, step
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Web, html

Make = Callable[..., Worker]


ABSURD, CAP_S, BASE_S = "Fri, 31 Dec 2199 23:59:59 GMT", 900.0, 40.0


def date_in(seconds: float) -> str:
    """Of whole seconds: it may name a moment up to a second earlier."""
    return formatdate(time() + seconds, usegmt=True)


# status, Retry-After → seconds of rest
FORMS = [
    (429, "600", 600.0),
    (429, "date", 600.0),
    (429, ABSURD, CAP_S),
    (429, "9" * 30, CAP_S),
    (429, None, BASE_S),
    (429, "soon", BASE_S),
    (429, "0", BASE_S),  # nobody is asked again at once
    (429, "5", BASE_S),  # the longer of the two
    (503, "600", 600.0),
    (503, "date", 600.0),
    (503, ABSURD, CAP_S),
    (503, None, BASE_S),
    (301, "600", 600.0),
    (301, "date", 600.0),
    (301, ABSURD, CAP_S),
]
WHERE = pytest.mark.parametrize("path", ["/", "/robots.txt"])


@WHERE
@pytest.mark.parametrize(("status", "asks", "rest_s"), FORMS)
def test_retry_after_closes_the_whole_host_until_then(
    make: Make, web: Web, path: str, status: int, asks: str | None, rest_s: float
) -> None:
    worker = make(retry_after_max_s=CAP_S, backoff_base_s=BASE_S, backoff_max_s=BASE_S, **STEP)
    site = web.site()
    sent = date_in(600) if asks == "date" else asks
    refusal = Answer(
        status=status,
        headers={
            **({} if sent is None else {"Retry-After": sent}),
            **({"Location": "/elsewhere"} if status == 301 else {}),
        },
    )
    site.pages |= {"/": html(), "/a": html(), "/elsewhere": html()}
    if path == "/robots.txt":
        site.robots = in_turn(refusal, Answer(status=404))
    else:
        site.pages |= {"/": in_turn(refusal, html()), "/a": in_turn(refusal, html())}
    start(worker, site.url(), site.url("/a"))
    step(worker)
    seen = list(site.paths)
    row = host(worker.engine)
    assert row["rests_s"] == pytest.approx(rest_s, abs=SLACK_S)
    assert row["waits_s"] >= row["rests_s"] - TICK_S
    kind = "robots" if path == "/robots.txt" else "page"
    assert logged(worker.engine, "rest_s", kind)[-1] == pytest.approx(rest_s, abs=SLACK_S)
    assert logged(worker.engine, "retry_after", kind)[-1] == sent, "as sent"
    step(worker, after_s=rest_s - SLACK_S - 5)
    assert site.paths == seen, "not before"
    step(worker, after_s=2 * SLACK_S + 5)
    assert len(site.paths) > len(seen)


@WHERE
@pytest.mark.parametrize("asks", [None, "0", "soon"])
def test_a_redirect_that_asks_for_nothing_closes_nobody(make: Make, web: Web, path: str, asks: str | None) -> None:
    worker = make(**STEP)
    site = web.site()
    fields = {"Location": "/elsewhere", **({} if asks is None else {"Retry-After": asks})}
    site.pages |= {"/": html(), "/elsewhere": "User-agent: *\n"}
    if path == "/robots.txt":
        site.robots = Answer(status=302, headers=fields)
    else:
        site.pages["/"] = Answer(status=302, headers=fields)
    start(worker, site.url())
    run(worker)
    assert set(logged(worker.engine, "rest_s") + logged(worker.engine, "rest_s", "robots")) == {None}
    assert host(worker.engine)["blocked_until"] is None


def test_a_date_is_waited_for_to_the_end(make: Make, web: Web) -> None:
    """However long the answer was looked at: a date does not come sooner by that."""
    worker = make(retry_after_max_s=CAP_S, **STEP)
    site, date = web.site(), int(time()) + 600
    words = html("please come later " * 3_000)
    site.pages |= {"/": Answer(status=429, headers={"Retry-After": formatdate(date, usegmt=True)}, body=words.body)}
    start(worker, site.url())
    step(worker)
    (ended_at,), (rest_s,) = logged(worker.engine, "extract(epoch FROM ended_at)"), logged(worker.engine, "rest_s")
    assert float(ended_at) + rest_s == pytest.approx(date, abs=0.0002)
