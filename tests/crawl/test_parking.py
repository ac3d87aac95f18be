"""Where visits wait without a thread: in time, in order, with as few threads as do, and never lost."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.crawl.parking import LATE_S, Parking

SOON_S = 0.02
LONG_S = 30.0  # nothing here takes so long, nor waits so long


class Lot:
    """A Parking of callables, and who ran them."""

    def __init__(self, **options: Any) -> None:
        self.ran_by: list[int] = []
        self.parking: Parking[Callable[[], None]] = Parking(self._run, **{"most": 100, "threads": 8, **options})

    def _run(self, visit: Callable[[], None]) -> None:
        self.ran_by.append(threading.get_ident())
        visit()

    def park(self, visit: Callable[[], None], in_s: float = 0.0) -> bool:
        return self.parking.park(visit, time.monotonic() + in_s)


@pytest.fixture
def make() -> Iterator[Callable[..., Lot]]:
    made: list[Lot] = []

    def lot(**options: Any) -> Lot:
        made.append(Lot(**options))
        return made[-1]

    yield lot
    for each in made:
        each.parking.close()
        each.parking.join()


Make = Callable[..., Lot]


def done(event: threading.Event) -> bool:
    return event.wait(LONG_S)


def test_a_visit_goes_on_when_its_turn_comes_and_not_before(make: Make) -> None:
    lot, went_on, at = make(), threading.Event(), []

    def visit() -> None:
        at.append(time.monotonic())
        went_on.set()

    until = time.monotonic() + 0.1
    assert lot.parking.park(visit, until)
    assert len(lot.parking) == 1
    assert done(went_on)
    assert at[0] >= until
    assert len(lot.parking) == 0


def test_the_earliest_comes_first_whenever_it_was_parked(make: Make) -> None:
    lot, order, over = make(threads=1), [], threading.Event()
    for in_s in (0.3, 0.1, 0.2, 0.4):
        lot.park(lambda in_s=in_s: (order.append(in_s), in_s == 0.4 and over.set())[1], in_s)  # type: ignore[misc]
    assert done(over)
    assert order == [0.1, 0.2, 0.3, 0.4]


def test_an_earlier_one_is_not_kept_waiting_by_a_later_one(make: Make) -> None:
    lot, first, second = make(), threading.Event(), threading.Event()
    lot.park(first.set, SOON_S)
    assert done(first), "and its thread waits for the next one, an hour away"
    lot.park(pytest.fail, 3_600.0)
    lot.park(second.set, SOON_S)
    assert done(second)
    lot.parking._heap.clear()


def test_short_visits_take_turns_in_one_thread(make: Make) -> None:
    lot, over = make(), threading.Event()

    def visit(left: int) -> None:
        if left:
            lot.park(lambda: visit(left - 1), SOON_S)
        else:
            over.set()

    lot.park(lambda: visit(10))
    assert done(over)
    assert len(set(lot.ran_by)) <= 2, "a busy machine may have called another"


def test_one_that_takes_long_does_not_hold_up_the_others(make: Make) -> None:
    lot, others = make(threads=3), [threading.Event(), threading.Event()]
    held: list[bool] = []
    lot.park(lambda: held.append(all(done(each) for each in others)))
    for each in others:
        lot.park(each.set, SOON_S)
    lot.parking.close()
    lot.parking.join()
    assert held == [True]


def test_one_that_takes_long_does_not_strand_the_others_where_none_stood_just_before(make: Make) -> None:
    lot, gone, other, over = make(), threading.Event(), threading.Event(), threading.Event()
    lot.park(pytest.fail, 3_600.0)
    lot.park(gone.set)
    assert done(gone)
    while lot.parking._first is None:
        time.sleep(SOON_S)  # until its thread waits for the other
    with lot.parking._lock:
        lot.parking._heap.clear()  # another thread came for it
    time.sleep(5 * LATE_S)  # and the overseer sleeps, too
    lot.park(lambda: over.set() if done(other) else None)
    lot.park(other.set, 2 * SOON_S)
    assert done(over)


def test_there_are_no_more_threads_than_allowed(make: Make) -> None:
    lot, lock, at_work, most = make(threads=2), threading.Lock(), [0], [0]
    gate = threading.Barrier(2)

    def visit() -> None:
        with lock:
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
        gate.wait(LONG_S)
        with lock:
            at_work[0] -= 1

    for _ in range(6):
        lot.park(visit)
    lot.parking.close()
    lot.parking.join()
    assert (most[0], len(set(lot.ran_by))) == (2, 2)


def test_a_full_one_takes_no_more(make: Make) -> None:
    lot = make(most=2)
    assert [lot.park(lambda: None, 3_600.0) for _ in range(3)] == [True, True, False]
    assert not lot.parking.has_room


def test_at_the_end_all_go_on_at_once_and_are_waited_for(make: Make) -> None:
    lot, ended = make(), []
    for number in range(5):
        lot.park(lambda number=number: ended.append(number), 3_600.0)  # type: ignore[misc]
    lot.parking.close()
    lot.parking.join()
    assert sorted(ended) == [0, 1, 2, 3, 4]
    assert not lot.park(lambda: None), "and nothing parks any more"


def test_one_that_was_never_used_ends_at_once(make: Make) -> None:
    lot = make()
    lot.parking.close()
    lot.parking.join()


def test_where_no_thread_can_be_started_nothing_parks(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    lot = make()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        assert not lot.park(lambda: None)
    went_on = threading.Event()
    assert lot.park(went_on.set)
    assert done(went_on)
