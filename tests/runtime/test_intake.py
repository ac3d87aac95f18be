"""How many visits a process has in hand: as many as it serves in time."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from app.runtime.intake import ADJUST_S, GROWTH, IN_TIME_S, LATE_S, LOOK_S, Intake, Places

LATE = LATE_S + 1
NEITHER = (LATE_S + IN_TIME_S) / 2


@dataclass(slots=True)
class Visits:
    """How late the visits of a process are, and the time: it passes by a look at it, or when a test says so."""

    late: float = 0.0
    now: float = 0.0
    intake: Intake = field(init=False)

    def begin(self, count: int) -> int:
        """So many want to begin, without waiting. Returns how many did."""
        return sum(self.intake.wait() for _ in range(count))

    def passes(self, late: float) -> None:
        self.late = late
        self.now += ADJUST_S


def make(places: Places, *, threads: int = 8, looks: int = 0, stopping: threading.Event | None = None) -> Visits:
    visits = Visits()
    visits.intake = Intake(
        lambda: visits.late,
        places=places,
        threads=threads,
        patience_s=looks * LOOK_S,
        stopping=stopping or threading.Event(),
        clock=lambda: visits.now,
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
    [(0.0, int(100 * GROWTH) + 1), (IN_TIME_S, int(100 * GROWTH) + 1), (NEITHER, 100), (LATE_S, 100), (LATE, 100)],
)
def test_more_begin_while_those_in_hand_are_in_time(late: float, in_hand: int) -> None:
    visits = make(places(100))
    visits.begin(200)
    visits.passes(late)
    assert 100 + visits.begin(200) == in_hand


@pytest.mark.parametrize("looks", [1, 2])
def test_fewer_begin_while_those_in_hand_are_late(looks: int) -> None:
    visits = make(places(1_000))
    visits.begin(100)
    for _ in range(looks):
        visits.passes(LATE)
        assert not visits.begin(1)
    for _ in range(100):
        visits.intake.ended()
    assert visits.begin(200) == {1: 90, 2: 81}[looks]


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


def test_an_offer_waits_for_a_place() -> None:
    visits = make(places(1), looks=1_000)
    visits.begin(1)
    begun = list[bool]()
    waiting = threading.Thread(target=lambda: begun.append(visits.intake.wait()))
    waiting.start()
    visits.intake.ended()
    waiting.join()
    assert begun == [True]


def test_a_stop_ends_the_wait() -> None:
    stopping = threading.Event()
    visits = make(places(1), looks=1_000_000, stopping=stopping)
    visits.begin(1)
    stopping.set()
    assert not visits.intake.wait()


@dataclass(slots=True)
class _StopSeen(threading.Event):
    """An event whose `wait` says that somebody waits."""

    looked: Callable[[], None]

    def __post_init__(self) -> None:
        threading.Event.__init__(self)

    def wait(self, timeout: float | None = None) -> bool:
        self.looked()
        return threading.Event.wait(self, timeout)


@pytest.fixture
def waiting() -> Iterator[tuple[Intake, threading.Thread]]:
    """An intake with one place to wait in, and the thread that has it."""
    at_work = threading.Event()
    stopping = _StopSeen(at_work.set)
    visits = make(places(1), threads=3, looks=1_000_000, stopping=stopping)
    visits.begin(1)
    thread = threading.Thread(target=visits.intake.wait)
    thread.start()
    assert at_work.wait(60)
    yield visits.intake, thread
    stopping.set()
    thread.join()


def test_two_threads_of_the_pool_stay_free(waiting: tuple[Intake, threading.Thread]) -> None:
    intake, thread = waiting
    assert not intake.wait()
    assert thread.is_alive()
