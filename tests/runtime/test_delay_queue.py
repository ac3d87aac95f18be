"""Where visits wait without a thread: in time, in order, with as few threads as do, and never lost."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from app.clock import monotonic
from app.runtime.delay_queue import LATE_S, Clock, DelayQueue
from tests.crawl.set_clock import LONG_S, SetClock

SOON_S = LATE_S / 100
HOUR_S = 3_600.0


class Lot:
    """A DelayQueue of callables, and who ran them. Its clock stands still until a test moves it."""

    def __init__(self, **options: Any) -> None:
        self.ran_by: list[int] = []
        self.clock = SetClock()
        self.parking: DelayQueue[Callable[[], object]] = DelayQueue(
            self._run, **{"most": 100, "threads": 8, "clock": self.clock, **options}
        )

    def _run(self, visit: Callable[[], object]) -> None:
        self.ran_by.append(threading.get_ident())
        visit()

    def park(self, visit: Callable[[], object], in_s: float = 0.0) -> bool:
        return self.parking.park(visit, self.clock.now() + in_s)

    def end(self) -> None:
        self.parking.close()
        self.clock.run()
        self.parking.join()


@pytest.fixture
def make() -> Iterator[Callable[..., Lot]]:
    made: list[Lot] = []

    def lot(**options: Any) -> Lot:
        made.append(Lot(**options))
        return made[-1]

    yield lot
    for each in made:
        each.end()


Make = Callable[..., Lot]


def done(event: threading.Event) -> bool:
    return event.wait(LONG_S)


def test_a_visit_goes_on_when_its_turn_comes_and_not_before(make: Make) -> None:
    lot, went_on, other, at = make(threads=1), threading.Event(), threading.Event(), []

    def visit() -> None:
        at.append(lot.clock.now())
        went_on.set()

    assert lot.park(visit, 1.0)
    assert len(lot.parking) == 1
    lot.clock.move(0.75)
    lot.park(other.set)
    assert done(other), "and the only thread has passed the visit by"
    assert at == []
    lot.clock.move(0.25)
    assert done(went_on)
    assert at == [1.0]
    assert len(lot.parking) == 0


def test_the_machines_own_clock_serves_as_well() -> None:
    went_on, at = threading.Event(), []
    parking: DelayQueue[None] = DelayQueue(lambda _: (at.append(monotonic()), went_on.set()), most=1, threads=1)
    until = monotonic() + SOON_S
    assert parking.park(None, until)
    assert done(went_on)
    assert at[0] >= until
    parking.close()
    parking.join()


def test_by_the_machines_own_clock_a_moment_that_is_over_is_not_waited_for() -> None:
    clock, condition = Clock(), threading.Condition()
    with condition:
        clock.wait(condition, clock.now() - HOUR_S)


def test_the_earliest_comes_first_whenever_it_was_parked(make: Make) -> None:
    order: list[float] = []
    lot, over = make(threads=1), threading.Event()
    for in_s in (0.3, 0.1, 0.2, 0.4):
        lot.park(partial(order.append, in_s), in_s)
    lot.park(over.set, 0.4)
    lot.clock.move(0.4)
    assert done(over)
    assert order == [0.1, 0.2, 0.3, 0.4]


def test_an_earlier_one_is_not_kept_waiting_by_a_later_one(make: Make) -> None:
    lot, first, second = make(threads=1), threading.Event(), threading.Event()
    lot.park(pytest.fail, HOUR_S)
    lot.park(first.set)
    assert done(first)
    lot.clock.until_waits(LATE_S, HOUR_S)  # the overseer, and the only thread for the hour to pass
    lot.park(second.set, SOON_S)
    lot.clock.until_waits(SOON_S, LATE_S)
    lot.clock.move(SOON_S)
    assert done(second)
    lot.parking._heap.clear()


def test_it_says_how_late_visits_were_resumed_since_it_was_asked_last(make: Make) -> None:
    lot, over = make(threads=1), threading.Event()
    assert lot.parking.take_late_s() == 0.0
    lot.park(pytest.fail, HOUR_S)  # first: the thread always has one to wait for
    lot.park(lambda: None)
    lot.park(lambda: None, -1.0)
    lot.park(over.set, -2.0)
    assert done(over)
    lot.clock.until_waits(LATE_S, HOUR_S)
    assert lot.parking.take_late_s() == pytest.approx(1.0)
    assert lot.parking.take_late_s() == 0.0
    lot.parking._heap.clear()


def test_where_none_was_resumed_it_says_how_long_the_first_has_been_due(make: Make) -> None:
    lot, over, go_on = make(threads=1), threading.Event(), threading.Event()
    lot.park(lambda: (over.set(), go_on.wait()))
    assert done(over)
    lot.park(lambda: None)
    lot.parking.take_late_s()
    lot.clock.move(2.0)
    assert lot.parking.take_late_s() == 2.0
    go_on.set()


def test_short_visits_take_turns_in_one_thread(make: Make) -> None:
    lot, over = make(), threading.Event()

    def visit(left: int) -> None:
        if left:
            lot.park(lambda: visit(left - 1), SOON_S)
            lot.clock.until_waits(lot.clock.now() + LATE_S)  # the overseer has seen that nothing is due
            lot.clock.move(SOON_S)
        else:
            over.set()

    lot.park(lambda: visit(10), SOON_S)
    lot.clock.until_waits(SOON_S, LATE_S)
    lot.clock.move(SOON_S)
    assert done(over)
    assert (len(lot.ran_by), len(set(lot.ran_by))) == (11, 1)


def test_a_visit_that_is_due_and_not_fetched_gets_another_thread(make: Make) -> None:
    lot, begun, other = make(threads=2), threading.Event(), threading.Event()
    lot.park(lambda: (begun.set(), done(other)), SOON_S)
    lot.clock.until_waits(SOON_S, LATE_S)
    lot.clock.move(SOON_S)
    assert done(begun)
    lot.park(other.set, SOON_S)
    lot.clock.until_waits(SOON_S + LATE_S)
    lot.clock.move(LATE_S)
    assert done(other), "the overseer came by"
    lot.end()
    assert len(set(lot.ran_by)) == 2


def test_one_that_takes_long_does_not_hold_up_the_others(make: Make) -> None:
    lot, others = make(threads=3), [threading.Event(), threading.Event()]
    held: list[bool] = []
    lot.park(lambda: held.append(all(done(each) for each in others)))
    for each in others:
        lot.park(each.set, SOON_S)
    lot.end()
    assert held == [True]


def test_one_that_takes_long_does_not_strand_the_others_where_none_stood_just_before(make: Make) -> None:
    lot, gone, begun, other, over = make(), *(threading.Event() for _ in range(4))
    lot.park(pytest.fail, HOUR_S)
    lot.clock.until_waits(LATE_S, HOUR_S)
    lot.park(gone.set)
    assert done(gone)
    lot.clock.until_waits(LATE_S, HOUR_S)  # the overseer, and the thread for the other
    with lot.parking._lock:
        lot.parking._heap.clear()  # another thread came for it
    lot.clock.move(LATE_S)
    lot.clock.until_waits(HOUR_S, None)  # and the overseer waits for the next to be parked, too
    lot.park(lambda: (begun.set(), done(other) and over.set()))
    assert done(begun)
    lot.park(other.set, SOON_S)
    lot.clock.until_waits(2 * LATE_S)
    lot.clock.move(LATE_S)
    assert done(over)


def test_a_thread_outlives_a_visit_that_crashes(make: Make) -> None:
    lot, over = make(threads=1), threading.Event()

    def crash() -> None:
        raise KeyError("a bug")

    lot.park(crash)
    lot.park(over.set)
    outlives = done(over)
    lot.parking._heap.clear()  # else the end would wait for what no thread takes
    assert outlives
    assert len(set(lot.ran_by)) == 1


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
    lot.end()
    assert (most[0], len(set(lot.ran_by))) == (2, 2)


def test_a_full_one_takes_no_more(make: Make) -> None:
    lot = make(most=2)
    assert [lot.park(lambda: None, HOUR_S) for _ in range(3)] == [True, True, False]
    assert not lot.parking.has_room


def test_at_the_end_all_go_on_at_once_and_are_waited_for(make: Make) -> None:
    ended: list[int] = []
    lot = make()
    for number in range(5):
        lot.park(partial(ended.append, number), HOUR_S)
    lot.end()
    assert sorted(ended) == [0, 1, 2, 3, 4]
    assert not lot.park(lambda: None), "and nothing parks any more"


def test_one_that_was_never_used_ends_at_once(make: Make) -> None:
    lot = make()
    lot.end()


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
