"""How many visits a process has in hand: as many as it serves in time."""

import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from app.runtime.intake import (
    ADJUST_S,
    FULL_PACE_S,
    GROWTH,
    IDLE_S,
    IN_TIME_S,
    LATE_S,
    LOOK_S,
    MOMENT_S,
    QUICK_GROWTH,
    Intake,
    Places,
)

LATE = LATE_S + 1
NEITHER = (LATE_S + IN_TIME_S) / 2
SOME_MORE = math.ceil(100 * GROWTH + 1)
MOMENT_LOOKS = round(MOMENT_S / LOOK_S)


class Stopping(threading.Event):
    """An event for which nobody really waits: its waits move a clock, and a test may hear of them."""

    def __init__(self, visits: "Visits") -> None:
        super().__init__()
        self._visits = visits

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self._visits.now = round(self._visits.now + timeout, 6)
        self._visits.looks += 1
        self._visits.looked(self._visits.looks)
        return self.is_set()


@dataclass(slots=True)
class Visits:
    """How late the visits of a process are, and its time: it passes while an offer waits, or when a test says so."""

    late: float = 0.0
    now: float = 0.0
    looks: int = 0
    looked: Callable[[int], object] = lambda look: None
    read: Callable[[], object] = lambda: None
    stopping: Stopping = field(init=False)
    intake: Intake = field(init=False)

    def __post_init__(self) -> None:
        self.stopping = Stopping(self)

    def begin(self, count: int) -> int:
        """So many want to begin, one after another. Returns how many did."""
        return sum(self.intake.wait() for _ in range(count))

    def clock(self) -> float:
        self.read()
        return self.now

    def passes(self, late: float) -> None:
        """It is late, and an offer looks; then what that adds has time to come."""
        self.late = late
        self.now += ADJUST_S
        if self.intake.wait():
            self.intake.ended()
        self.late = NEITHER
        self.now += ADJUST_S


def make(places: Places, *, threads: int = 8, looks: int = 0) -> Visits:
    visits = Visits()
    visits.intake = Intake(
        lambda: visits.late,
        places=places,
        threads=threads,
        patience_s=round(looks * LOOK_S, 6),
        stopping=visits.stopping,
        clock=visits.clock,
    )
    return visits


def places(first: int, *, least: int = 1, most: int = 1_000) -> Places:
    return Places(first=first, least=least, most=most)


@pytest.mark.parametrize(("first", "most", "begin"), [(5, 1_000, 5), (5, 3, 3)])
def test_so_many_are_in_hand_at_first(first: int, most: int, begin: int) -> None:
    assert make(places(first, most=most)).begin(10) == begin


def test_a_visit_that_has_ended_makes_room_for_another() -> None:
    visits = make(places(5))
    visits.begin(10)
    visits.intake.ended()
    assert visits.begin(10) == 1


@pytest.mark.parametrize(
    ("late", "in_hand"),
    [(0.0, SOME_MORE), (IN_TIME_S, SOME_MORE), (NEITHER, 100), (LATE_S, 100), (LATE, 100)],
)
def test_more_begin_while_those_in_hand_are_in_time(late: float, in_hand: int) -> None:
    visits = make(places(100))
    visits.begin(200)
    visits.passes(late)
    assert 100 + visits.begin(200) == in_hand


@pytest.mark.parametrize(
    ("idle_s", "late", "growth"),
    [
        (FULL_PACE_S, 0.0, QUICK_GROWTH),
        (FULL_PACE_S, IDLE_S, QUICK_GROWTH),
        (FULL_PACE_S, IN_TIME_S, GROWTH),
        (FULL_PACE_S - ADJUST_S, 0.0, GROWTH),
    ],
)
def test_they_are_far_more_where_there_was_time_to_spare_for_long(idle_s: float, late: float, growth: float) -> None:
    visits = make(places(100))
    visits.late = NEITHER
    visits.now += ADJUST_S
    visits.begin(200)
    visits.now += idle_s
    visits.late = late
    visits.begin(1)
    assert visits.intake.in_hand == (100, int(100 * growth + 1))


def test_what_is_added_begins_little_by_little() -> None:
    visits = make(places(100))
    visits.begin(200)
    visits.now += ADJUST_S
    assert not visits.begin(1), "the look that adds them"
    visits.late, begun = NEITHER, []
    for _ in range(4):
        visits.now += ADJUST_S / 4
        begun.append(visits.begin(200))
    assert sum(begun) == SOME_MORE - 100
    assert max(begun) == 2


@pytest.mark.parametrize(("looks", "left", "most"), [(1, 95, 76), (10, 95, 76), (1, 76, 60), (10, 76, 60)])
def test_fewer_begin_when_those_in_hand_are_late_but_fewer_still_only_when_so_few_are_left(
    looks: int, left: int, most: int
) -> None:
    visits = make(places(1_000))
    visits.begin(95)
    visits.passes(LATE)  # 76 from now on
    for _ in range(95 - left):
        visits.intake.ended()
    for _ in range(looks):
        visits.passes(LATE)
        assert not visits.begin(1)
    assert visits.intake.in_hand == (left, most)


def test_few_that_are_left_of_many_late_ones_were_not_too_many() -> None:
    """How late they are is a mean of all that were in hand since the last look, which may be long ago."""
    visits = make(places(200))
    visits.begin(100)
    for _ in range(95):
        visits.intake.ended()
    visits.passes(LATE)
    assert 5 + visits.begin(200) == 80


def test_only_those_count_that_were_in_hand_since_the_last_look() -> None:
    visits = make(places(200))
    visits.begin(100)
    for _ in range(95):
        visits.intake.ended()
    visits.passes(NEITHER)
    visits.begin(5)
    visits.passes(LATE)
    assert visits.begin(200) == 0, "ten were too many, and not the hundred of before"


def test_their_number_does_not_grow_while_fewer_are_in_hand_than_may_be() -> None:
    visits = make(places(100))
    visits.begin(50)
    for _ in range(10):
        visits.passes(0.0)
        visits.intake.wait()
        visits.intake.ended()
    assert visits.begin(200) == 50


def test_it_is_judged_now_and_then_and_not_at_each_visit() -> None:
    visits = make(places(100))
    visits.begin(200)
    visits.late = LATE
    visits.begin(200)
    for _ in range(100):
        visits.intake.ended()
    assert visits.begin(200) == 100


@pytest.mark.parametrize(("late", "bound"), [(LATE, 90), (0.0, 110)])
def test_there_are_bounds(late: float, bound: int) -> None:
    visits = make(places(100, least=90, most=110))
    in_hand = visits.begin(200)
    for _ in range(20):
        visits.passes(late)
        in_hand += visits.begin(200)
    for _ in range(in_hand):
        visits.intake.ended()
    assert visits.begin(200) == bound


def test_an_offer_that_waits_too_long_is_not_taken_up() -> None:
    visits = make(places(1), looks=3)
    assert [visits.intake.wait() for _ in range(2)] == [True, False]
    assert visits.looks == 3


def test_an_offer_waits_for_a_place() -> None:
    visits = make(places(1), looks=5)
    visits.begin(1)
    visits.looked = lambda look: visits.intake.ended() if look == 2 else None
    assert visits.intake.wait()
    assert visits.looks == 2


def test_a_stop_ends_the_wait() -> None:
    visits = make(places(1), looks=1_000)
    visits.begin(1)
    visits.looked = lambda look: visits.stopping.set() if look == 2 else None
    assert not visits.intake.wait()
    assert visits.looks == 2


@pytest.fixture
def waiting() -> Iterator[tuple[Visits, threading.Thread, threading.Event]]:
    """An intake with one place to wait in, the thread that has it, and the event for which it goes on."""
    at_work, go_on = threading.Event(), threading.Event()
    visits = make(places(1), threads=3, looks=5)
    visits.begin(1)
    visits.looked = lambda look: (at_work.set(), go_on.wait())
    thread = threading.Thread(target=visits.intake.wait)
    thread.start()
    assert at_work.wait(60)
    yield visits, thread, go_on
    go_on.set()
    thread.join()


def test_two_threads_of_the_pool_stay_free_but_for_a_moment(
    waiting: tuple[Visits, threading.Thread, threading.Event],
) -> None:
    visits, thread, _ = waiting
    assert not visits.intake.wait()
    assert thread.is_alive()


@pytest.mark.parametrize(("threads", "looks"), [(1, MOMENT_LOOKS), (2, 2 * MOMENT_LOOKS)])
def test_of_two_threads_one_stays_free_and_of_one_itself(threads: int, looks: int) -> None:
    visits = make(places(1), threads=threads, looks=2 * MOMENT_LOOKS)
    visits.begin(1)
    visits.late = NEITHER
    assert not visits.intake.wait()
    assert visits.looks == looks


def test_an_offer_for_which_there_is_no_room_to_wait_gets_a_place_that_is_free_within_a_moment() -> None:
    visits = make(places(1), threads=1, looks=1_000)
    visits.begin(1)
    visits.looked = lambda look: visits.intake.ended() if look == 2 else None
    assert visits.intake.wait()


def test_who_waits_behind_another_gets_no_more_time_for_it() -> None:
    visits = make(places(1), threads=4, looks=4)
    visits.begin(1)
    visits.late = NEITHER
    at_work, both_wait, begun, reads = threading.Event(), threading.Event(), list[bool](), list[str]()

    def read() -> None:
        reads.append(threading.current_thread().name)
        if reads.count("second") == 2:  # it has looked once, and knows until when it waits
            both_wait.set()

    visits.looked = lambda look: (at_work.set(), both_wait.wait(60))
    visits.read = read
    threads = [threading.Thread(target=lambda: begun.append(visits.intake.wait()), name=n) for n in ("first", "second")]
    threads[0].start()
    assert at_work.wait(60)
    threads[1].start()
    for thread in threads:
        thread.join()
    assert begun == [False, False]
    assert visits.looks == 5, "its four began when the first had looked once"
