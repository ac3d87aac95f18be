"""When a visit may begin: while those that have begun are served in time, and there is room for it."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from app.runtime.intake import LATE_MOST_S, LOOK_S, Intake

LATE = LATE_MOST_S + 1


@dataclass(slots=True)
class Visits:
    """Parked visits, and how late the first of them was at each look; the last value stays."""

    late: list[float] = field(default_factory=lambda: [0.0])
    parked: int = 0
    looks: int = 0
    looked: Callable[[int], None] = lambda look: None

    def __len__(self) -> int:
        return self.parked

    def late_s(self) -> float:
        self.looks += 1
        self.looked(self.looks)
        return self.late[min(self.looks, len(self.late)) - 1]


def make(visits: Visits, *, threads: int = 8, looks: int = 5, stopping: threading.Event | None = None) -> Intake:
    return Intake(visits, most=10, threads=threads, patience_s=looks * LOOK_S, stopping=stopping or threading.Event())


@pytest.mark.parametrize(
    ("late", "parked", "begins"),
    [
        ([0.0], 0, True),
        ([LATE_MOST_S], 9, True),
        ([LATE, LATE, 0.0], 0, True),
        ([LATE], 0, False),
        ([0.0], 10, False),
    ],
)
def test_a_visit_begins_when_the_others_are_served_in_time_and_there_is_room(
    late: list[float], parked: int, begins: bool
) -> None:
    assert make(Visits(late, parked)).wait() is begins


def test_an_offer_that_waits_too_long_is_not_taken_up() -> None:
    visits = Visits([LATE])
    assert not make(visits, looks=3).wait()
    assert visits.looks == 4


def test_a_stop_ends_the_wait() -> None:
    stopping = threading.Event()
    visits = Visits([LATE], looked=lambda look: stopping.set() if look == 2 else None)
    assert not make(visits, looks=1_000, stopping=stopping).wait()
    assert visits.looks == 2


@pytest.fixture
def waiting() -> Iterator[tuple[Intake, threading.Thread]]:
    """An intake with one place to wait in, and the thread that has it."""
    at_work, go_on = threading.Event(), threading.Event()

    def looked(look: int) -> None:
        if look == 2:
            at_work.set()
            go_on.wait()

    intake = make(Visits([LATE, LATE, LATE, 0.0], looked=looked), threads=3)
    thread = threading.Thread(target=intake.wait)
    thread.start()
    assert at_work.wait(60)
    yield intake, thread
    go_on.set()
    thread.join()


def test_two_threads_of_the_pool_stay_free(waiting: tuple[Intake, threading.Thread]) -> None:
    intake, thread = waiting
    assert not intake.wait()
    assert thread.is_alive()
