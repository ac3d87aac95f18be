"""What a worker process has one of."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from app import config
from app.crawl.visit import visit as visits
from app.errors import ServiceError
from app.features.archive.keep import keeper_of
from app.model import VisitEnding
from app.plugins import Relay
from app.runtime.intake import Places
from workers import process, visit


@pytest.fixture
def fresh_process(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As a worker process starts: nothing made yet. It ends as one does, so that no thread of it outlives the test."""
    made = (config.current, process.engine, process.worker, process.intake)
    before = set(threading.enumerate())
    monkeypatch.setenv("TIPTOE_DATABASE_URL", database_url)
    monkeypatch.setenv("TIPTOE_HOME", str(tmp_path))
    for cached in made:
        cached.clear()
    yield
    process._stopped()
    process.resume_with(visit.resume)
    process.engine().dispose()
    for cached in made:
        cached.clear()
    left = {thread.name for thread in set(threading.enumerate()) - before}
    assert not left & {"archive", "parking", "visit"}


def test_a_process_that_visited_nothing_makes_nothing_to_end(fresh_process: None) -> None:
    process._stopped()
    assert not process.worker.is_made


def test_all_threads_of_a_process_share_one_kit(fresh_process: None) -> None:
    """A worker each would be a sender each: as many connections to a host, and caches, as threads."""
    together = threading.Barrier(16)

    def ask(_: int) -> int:
        together.wait()
        return id(process.worker())

    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(ask, range(16)))) == 1


def resumed_with(**acts: Any) -> None:
    """Parked visits of this process are resumed, or settled, by these acts."""
    process.resume_with(partial(visit.resume, acts=visit.Acts(**acts)))


def test_a_parked_visit_that_crashes_costs_no_thread(fresh_process: None) -> None:
    gone_on: list[str] = []

    def crash_or_go_on(visit: SimpleNamespace) -> visits.VisitReport:
        gone_on.append(visit.name)
        if visit.name == "first":
            raise KeyError("a bug")
        return visits.VisitReport(host=None, ending=VisitEnding.CLOSED)

    resumed_with(go_on=crash_or_go_on)
    worker = process.worker()
    assert worker.stays.parking is not None
    for name in ("first", "second"):
        worker.stays.parking.park(SimpleNamespace(name=name, worker=worker, host_id=1), 0.0)
    process._stopped()
    assert gone_on == ["first", "second"]
    assert worker.stopping.is_set()


def test_more_parked_visits_wait_for_answers_than_a_process_has_threads_for_new_ones(
    fresh_process: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIPTOE_CONCURRENCY", "2")
    worker, all_wait, waited = process.worker(), threading.Barrier(4), []

    def wait_for_an_answer(_: object) -> visits.VisitReport:
        with worker.stays.seats.left():
            all_wait.wait(60.0)
        waited.append(1)
        return visits.VisitReport(host=None, ending=VisitEnding.CLOSED)

    resumed_with(go_on=wait_for_an_answer)
    assert worker.stays.parking is not None
    for _ in range(4):
        worker.stays.parking.park(SimpleNamespace(worker=worker, host_id=1), 0.0)
    process._stopped()
    assert len(waited) == 4


@pytest.mark.parametrize(
    ("ending", "in_hand"), [(VisitEnding.CLOSED, 0), (VisitEnding.DELAY, 0), (None, 0), (VisitEnding.PARKED, 1)]
)
def test_a_visit_is_in_hand_until_it_ends(fresh_process: None, ending: VisitEnding | None, in_hand: int) -> None:
    def begun(*_: object) -> visits.VisitReport:
        assert process._in_hand()[0] == 1
        assert process.worker().stays.seats.has_one
        if ending is None:
            raise KeyError("a bug")
        return visits.VisitReport(host=None, ending=ending)

    assert process._in_hand() == (0, 0)
    with suppress(KeyError):
        visit.begin(1, str(uuid4()), visit.Acts(begin=begun))
    assert process._in_hand() == (in_hand, config.current().concurrency)


@pytest.mark.parametrize(("threads", "first", "least", "most"), [(64, 64, 16, 512), (8, 32, 2, 64), (1, 32, 2, 8)])
def test_a_slow_machine_may_have_fewer_visits_in_hand_than_threads(
    threads: int, first: int, least: int, most: int
) -> None:
    assert process.places(threads) == Places(first=first, least=least, most=most)


def test_an_offer_waits_here_for_less_time_than_it_stands(fresh_process: None) -> None:
    offer_s = config.current().offer_s
    assert 0 < process.patience_s(offer_s) < offer_s


def test_a_parked_visit_is_in_hand_no_more_when_it_has_ended(fresh_process: None) -> None:
    ended = visits.VisitReport(host=None, ending=VisitEnding.CLOSED)
    parked: Any = SimpleNamespace(worker=process.worker(), host_id=1)
    begun = visits.VisitReport(host="a", ending=VisitEnding.PARKED)
    acts = visit.Acts(begin=lambda *_: begun, go_on=lambda _: ended)
    visit.begin(1, str(uuid4()), acts)
    visit.resume(parked, acts)
    assert process._in_hand()[0] == 0


@pytest.mark.parametrize("error", [ServiceError("Postgres", "is away"), KeyError("a bug")])
def test_where_gathered_batches_cannot_be_settled_each_visit_is_seen_to(fresh_process: None, error: Exception) -> None:
    seen_to: list[str] = []
    in_seats: list[bool] = []

    def fail(visits: list[SimpleNamespace]) -> None:
        in_seats.append(process.worker().stays.seats.has_one)
        raise error

    def see_to(visit: SimpleNamespace) -> visits.VisitReport:
        seen_to.append(visit.name)
        if visit.name == "first":
            raise KeyError("it was this one")
        return visits.VisitReport(host=None, ending=VisitEnding.CLOSED)

    resumed_with(settle_together=fail, settle_alone=see_to)
    worker = process.worker()
    assert worker.stays.gatherer is not None
    for number, name in enumerate(("first", "second")):
        worker.stays.gatherer.add(
            SimpleNamespace(name=name, lease=SimpleNamespace(host=name), worker=worker, host_id=number), 1
        )
    process._stopped()
    assert seen_to == ["first", "second"]
    assert in_seats == [True]


@pytest.mark.parametrize("fails", ["db", "features"])
def test_what_waits_for_services_outlives_a_bug_in_the_question(fresh_process: None, fails: str) -> None:
    """Else its thread, and the visits that it was to see to, would be lost, and count as in hand for ever."""
    asked, seen_to = list[str](), list[str]()

    def fail(*_: object, **__: object) -> None:
        asked.append(threading.current_thread().name)
        raise KeyError("a bug")

    def away(_: object) -> None:
        raise ServiceError("Postgres", "is away")

    def see_to(visit: SimpleNamespace) -> visits.VisitReport:
        seen_to.append(visit.name)
        return visits.VisitReport(host=None, ending=VisitEnding.CLOSED)

    worker = process.worker()
    assert worker.stays.gatherer is not None
    broken: Any = SimpleNamespace(begin=fail, connect=fail) if fails == "db" else worker.engine
    its = replace(worker, engine=broken, hooks=Relay({"check": fail}))
    resumed_with(settle_together=away, settle_alone=see_to)
    worker.stays.gatherer.add(SimpleNamespace(name="a", lease=SimpleNamespace(host="a"), worker=its, host_id=1), 1)
    assert worker.stays.parking is not None
    worker.stays.parking.close()
    worker.stays.parking.join()
    assert "visit" in asked
    assert seen_to == ["a"]


def test_a_signal_within_the_handler_of_another_waits_for_nothing() -> None:
    """It would, for a lock that the first one's frame holds, and that frame goes on only when the second is done."""
    lock, stops = threading.Lock(), list[str]()

    def stop() -> None:
        stops.append("stop")
        assert lock.acquire(blocking=False), "the second would wait for ever"
        told()  # as a second SIGTERM, just here

    told = process.StopOnce(stop)
    told()
    assert stops == ["stop"]


def test_threads_that_write_to_the_archive_end_before_it_is_closed(fresh_process: None) -> None:
    """A page that is open in a browser when its worker is stopped is archived, and its segment is closed."""
    archive, found = keeper_of(process.worker()), []
    assert archive is not None
    process.join_before_the_archive_closes(
        lambda: found.append((process.worker().stopping.is_set(), archive._ended.is_set()))
    )
    process._stopped()
    assert found == [(True, False)]
    assert archive._ended.is_set()
