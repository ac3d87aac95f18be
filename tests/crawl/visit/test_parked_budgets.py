"""Parked visits at an address: alone, and where it is crowded."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from app.admin.audit import audit
from app.crawl.request.slots import HOLD_AGAIN_S, HOLD_S
from app.crawl.state.line import Line, Lines
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import go_on
from app.model import VisitEnding
from app.runtime.delay_queue import DelayQueue
from app.store import budgets
from tests.crawl.clock import work
from tests.crawl.crowd import GAP_S, ROAD_S, Shared, gaps, names, unhurried
from tests.crawl.loop import start
from tests.crawl.visit.shelf import DELAY_S, Make, Shelf, begin, shelved, site_of
from tests.crawl.web import Web
from tests.store.rows import one, sql

HOUR = 3_600.0


def test_who_is_alone_at_an_address_asks_for_it_once_a_visit(
    make: Make, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    reserve = budgets.reserve

    def counting(*args: Any, **named: Any) -> Any:
        answer = reserve(*args, **named)
        asked.append(answer.held)
        return answer

    monkeypatch.setattr(budgets, "reserve", counting)
    worker, shelf = shelved(make, address_gap_s=DELAY_S, visit_max_s=6.5 * DELAY_S)
    site = site_of(web, 30)
    start(worker, site.url())
    begin(worker)
    while shelf.held:
        shelf.next()
    assert asked == [False, True], "the first start makes it its own"
    leaves = one(worker.engine, "SELECT extract(epoch FROM next_at - clock_timestamp())::float FROM budgets")
    assert leaves <= 2 * DELAY_S, "and it lets go when it leaves"
    worker.stopping.wait(2 * DELAY_S)
    begin(worker)
    while shelf.held:
        shelf.next()
    assert asked == [False, True, True]
    assert min(gaps(site.log)) >= DELAY_S - ROAD_S


def test_an_address_is_taken_for_new_until_its_host_has_answered(
    make: Make, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    new: list[bool] = []
    reserve = budgets.reserve

    def looking(*args: Any, **named: Any) -> Any:
        new.append(args[2].is_new)
        return reserve(*args, **named)

    monkeypatch.setattr(budgets, "reserve", looking)
    worker, shelf = shelved(make, address_gap_s=DELAY_S, visit_max_s=6.5 * DELAY_S)
    start(worker, site_of(web, 30).url())
    for _ in range(2):
        begin(worker)
        while shelf.held:
            shelf.next()
        worker.stopping.wait(2 * DELAY_S)
    assert new == [True, False, False], "robots.txt, the visit's first page, the next visit"


@pytest.mark.parametrize(("was_here", "most_s"), [(False, HOLD_S), (True, HOLD_AGAIN_S)])
def test_a_long_visit_holds_an_address_for_a_while_only(make: Make, web: Web, was_here: bool, most_s: float) -> None:
    worker, shelf = shelved(make, address_gap_s=DELAY_S, visit_max_s=HOUR)
    site = site_of(web, 9)
    start(worker, site.url())
    if was_here:
        sql(worker.engine, "UPDATE hosts SET address = :address", address=urlsplit(site.url()).hostname)
    begin(worker)
    shelf.next()
    (visit,) = shelf.held
    assert visit.start.held is not None
    held_s = one(worker.engine, "SELECT extract(epoch FROM next_at - clock_timestamp())::float FROM budgets")
    assert most_s / 2 < held_s <= most_s + 2 * DELAY_S


def test_who_comes_to_share_an_address_waits_for_the_visit_that_holds_it(make: Make, web: Web) -> None:
    shared = Shared(web, names(2), pages=12)
    worker = make(default_delay_s=0.06, linger_s=0.05, address_gap_s=GAP_S, visit_max_s=1.0, resolve=shared.resolve)
    worker = replace(worker, stays=replace(worker.stays, parking=DelayQueue(go_on, most=10, threads=4)))
    start(worker, shared.urls[0])
    assert begin(worker).ending == VisitEnding.PARKED
    start(worker, shared.urls[1], name="d")
    work(worker, threads=3)
    worker.stop()
    worker.join()
    assert shared.asked == shared.everything
    assert min(gaps(shared.site.log)) >= GAP_S - ROAD_S
    proof = audit(worker.engine, worker.settings, None)
    assert (proof.violations, proof.disorder) == (0, 0), proof.verdict


def shared_now(worker: Worker, *, promised_s: float) -> None:
    """Others draw on its budget from now on, and starts are promised so far ahead."""
    sql(
        worker.engine,
        """UPDATE budgets SET shared_until = clock_timestamp() + interval '1 hour', next_at = clock_timestamp(),
                              queue_at = clock_timestamp() + make_interval(secs => :promised_s)""",
        promised_s=promised_s,
    )


def at_a_crowded_address(make: Make, web: Web, promised_s: float, **settings: Any) -> tuple[Worker, Shelf]:
    """A visit that has fetched robots.txt, while a queue of promises has grown."""
    worker, shelf = shelved(make, address_gap_s=0.01, visit_max_s=HOUR, **settings)
    worker = unhurried(worker)
    start(worker, site_of(web, 9).url())
    begin(worker)
    (visit,) = shelf.held
    visit.start.held = None  # it had its budgets to itself until now
    shared_now(worker, promised_s=promised_s)
    return worker, shelf


@pytest.mark.parametrize(("promised_s", "stays"), [(0.8, True), (30.0, False)])
def test_at_a_crowded_address_the_visit_waits_for_a_start_that_is_promised_soon(
    make: Make, web: Web, promised_s: float, stays: bool
) -> None:
    """It keeps its lease and its connection for up to 20 s, and leaves for longer, to come when it was told to."""
    worker, shelf = at_a_crowded_address(make, web, promised_s)
    report = shelf.next()
    if stays:
        assert (report.ending, len(shelf.held)) == ("parked", 1)
        assert shelf.next().ending in {"parked", "nothing due"}, "with its ticket it passes the queue"
    else:
        assert (report.ending, shelf.held) == ("rests", [])
        assert one(worker.engine, "SELECT resting_because FROM hosts") == "address budget"


@pytest.mark.parametrize("pause", [False, True])
def test_a_visit_that_waits_long_for_a_promised_start_hears_of_a_pause(make: Make, web: Web, pause: bool) -> None:
    worker, shelf = at_a_crowded_address(make, web, 15.0)
    assert shelf.next().ending is VisitEnding.PARKED
    assert one(worker.engine, "SELECT count(*) FROM fetches") == 1, "what it has is settled before the wait"
    (visit,) = shelf.held
    shelf.held.clear()
    sql(worker.engine, "UPDATE hosts SET pause_requested = :pause", pause=pause)
    visit.batch.started -= visit.worker.stays.settled_within_s
    assert go_on(visit).ending == ("paused" if pause else VisitEnding.PARKED)
    assert one(worker.engine, "SELECT count(*) FROM visits WHERE ending IS NULL") == (not pause)
    assert one(worker.engine, "SELECT count(*) FROM fetches") == 1, "nothing is asked of the host meanwhile"


class _FullLine(Line):
    is_full = True


class _FullLines(Lines):
    line = _FullLine


def test_a_visit_that_finds_the_line_too_long_comes_again_and_does_not_ask_anew(make: Make, web: Web) -> None:
    worker, shelf = at_a_crowded_address(make, web, 0.0)
    visit = shelf.held[0]
    visit.worker = replace(visit.worker, starts=replace(visit.worker.starts, lines=_FullLines(worker.monotonic)))
    assert shelf.next().ending is VisitEnding.PARKED
    assert visit.start.asked is not None
    sql(worker.engine, "DELETE FROM budgets")
    assert shelf.next().ending is VisitEnding.PARKED
    assert one(worker.engine, "SELECT count(*) FROM budgets") == 0, "an ask would have made it"
    visit.worker = replace(visit.worker, starts=replace(visit.worker.starts, lines=worker.starts.lines))
    assert shelf.next().ending in {VisitEnding.PARKED, VisitEnding.NOTHING_DUE}
    assert visit.turn.requests > 1
