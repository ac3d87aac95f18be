"""Who waits leaves its seat at the interpreter: for the start, the name and the answer; and it computes in one."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.crawl.page import isolation
from app.crawl.state.worker import Worker
from app.parse.html.html import read
from app.runtime.seats import Seats
from tests.crawl.ahead import ahead
from tests.crawl.loop import run, start
from tests.crawl.web import Web, html

Seen = list[tuple[str, bool]]


def noting(seen: Seen, worker: Worker, what: str, act: Callable[..., Any]) -> Callable[..., Any]:
    """The function; whether the thread that calls it has a seat is noted."""

    def noted(*args: Any, **kwargs: Any) -> Any:
        seen.append((what, worker.seats.has_one))
        return act(*args, **kwargs)

    return noted


def test_a_visit_computes_in_its_seat_and_leaves_it_while_it_waits(
    make: Callable[..., Worker], web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, seen = web.site(), Seen()
    site.pages |= {"/": html("/1"), "/1": html(text="The other.")}
    worker = ahead(make(default_delay_s=0.2, linger_s=1.0, address_gap_s=0.01))
    send, where = worker.send, worker.where
    assert where is not None
    worker = replace(worker, send=noting(seen, worker, "send", send), where=noting(seen, worker, "where", where))
    monkeypatch.setattr(worker.stopping, "wait", noting(seen, worker, "start", worker.stopping.wait))
    monkeypatch.setattr(Seats, "_take", noting(seen, worker, "take", vars(Seats)["_take"]))
    monkeypatch.setattr(isolation, "read_html", noting(seen, worker, "read", read))
    start(worker, site.url())
    with worker.seats.taken():
        run(worker)
        assert worker.seats.has_one
    assert set(seen) == {("send", False), ("where", False), ("start", False), ("take", False), ("read", True)}
    after_start = {after for (what, _), (after, _) in itertools.pairwise(seen) if what == "start"}
    assert after_start == {"send"}, "no seat is waited for between a start and its request"
