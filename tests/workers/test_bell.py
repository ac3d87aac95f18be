"""Who rings when a process has nothing under way any more."""

import threading
from collections.abc import Iterable

import pytest

from app.errors import ServiceError
from workers.visit import Bell


class Ended(threading.Event):
    """Says at each wait what it is told to, then that no visit has ended; keeps the waits."""

    def __init__(self, says: Iterable[bool] = ()) -> None:
        super().__init__()
        self.says, self.waits = list(says), list[float | None]()

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        return self.says.pop(0) if self.says else False


def always() -> bool:
    return True


def never() -> bool:
    return False


def test_it_rings_ever_more_seldom_and_then_leaves_it_to_beat() -> None:
    ended, rung = Ended(), list[int]()
    Bell(lambda: rung.append(1), always, tick_s=0.25, ended=ended).ring_again()
    assert ended.waits == [0.25, 0.5, 1, 2, 4, 8, 16]
    assert len(rung) == 7


def test_a_visit_that_ends_or_runs_is_as_good() -> None:
    rung: list[int] = []
    Bell(lambda: rung.append(1), always, tick_s=0.25, ended=Ended([False, False, True])).ring_again()
    assert len(rung) == 2
    Bell(lambda: rung.append(1), never, tick_s=0.25, ended=Ended()).ring_again()
    assert len(rung) == 2


def test_who_cannot_send_claims_nothing_more() -> None:
    tries: list[str] = []

    def fail() -> None:
        tries.append("rung")
        raise ServiceError("the broker", "is away")

    Bell(fail, always, tick_s=0.25, ended=Ended()).ring_again()
    assert len(tries) == 1


@pytest.mark.parametrize(("tick_s", "times"), [(0.0, 2), (10.0, 1)])
def test_it_rings_when_a_visit_ends_and_at_most_once_a_tick(tick_s: float, times: int) -> None:
    ends, rung = Ended([True, False, True, False]), list[int]()
    Bell(lambda: rung.append(1), never, tick_s=tick_s, ended=ends).listen()
    assert ends.waits == [None, tick_s, None, tick_s, None]
    assert len(rung) == times


@pytest.mark.parametrize("error", [ServiceError("the broker", "is away"), ZeroDivisionError()])
def test_after_a_failure_it_waits_for_the_next_end(error: Exception) -> None:
    def fail() -> None:
        raise error

    ends = Ended([True, True])
    Bell(fail, always, tick_s=0.0, ended=ends).listen()
    assert ends.waits == [None, None, None]


def test_a_visit_that_ends_does_not_wait_for_a_broker_that_is_silent() -> None:
    asked, answers, me, askers = threading.Event(), threading.Event(), threading.get_ident(), list[int]()

    def hang() -> None:
        askers.append(threading.get_ident())
        asked.set()
        if me not in askers:
            answers.wait()

    ended = threading.Event()
    bell = Bell(hang, never, tick_s=60.0, ended=ended).start()
    bell.ring()
    assert asked.wait(60.0)
    bell.ring()
    assert me not in askers
    assert ended.is_set(), "the thread will find it"
    answers.set()
