"""Two threads compute at once, the others sleep, and nobody waits for ever."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from app.runtime.seats import SEATS, Seats

AMPLE_S = 60.0


@contextmanager
def computing(seats: Seats, *, waits: bool = False) -> Iterator[threading.Event]:
    """Another thread computes, or has left its seat to wait, until the event is set or the context ends."""
    begun, over, away = threading.Event(), threading.Event(), threading.Event()

    def compute() -> None:
        with seats.taken():
            begun.set()
            if waits:
                with seats.left():
                    away.set()
                    over.wait(AMPLE_S)
            over.wait(AMPLE_S)

    thread = threading.Thread(target=compute)
    thread.start()
    assert (away if waits else begun).wait(AMPLE_S)
    try:
        yield over
    finally:
        over.set()
        thread.join()


def test_a_free_seat_is_taken_at_once_and_free_again_afterwards() -> None:
    seats = Seats(patience_s=0.0)
    for _ in range(SEATS + 1):
        with suppress(ValueError), seats.taken():
            assert seats.has_one
            raise ValueError
    assert not seats.has_one
    assert seats.take_wait_s() == 0.0


def test_the_next_computes_when_one_before_has_computed() -> None:
    seats, seen = Seats(1, AMPLE_S), list[bool]()

    def next_one() -> None:
        with seats.taken():
            seen.append(over.is_set() and seats.has_one)

    with computing(seats) as over:
        waiting = threading.Thread(target=next_one)
        waiting.start()
        over.set()
    waiting.join()
    assert seen == [True]


def test_who_waits_for_the_network_leaves_its_seat_to_another() -> None:
    seats = Seats(1, 0.0)
    with computing(seats, waits=True), seats.taken():
        assert seats.has_one


def test_who_waited_long_enough_goes_on_without_a_seat_and_frees_none() -> None:
    seats = Seats(1, 0.0)
    with computing(seats):
        for _ in range(2):
            with seats.taken():
                assert not seats.has_one
                with seats.left():
                    pass
    with seats.taken():
        assert seats.has_one


def test_it_says_how_long_threads_waited_on_average_since_it_was_asked_last() -> None:
    seats = Seats(1, 0.01)
    with computing(seats), seats.taken():
        pass
    assert seats.take_wait_s() >= 0.005
    assert seats.take_wait_s() == 0.0


def test_who_must_act_at_a_moment_leaves_its_seat_and_takes_none_before_its_next_wait_is_over() -> None:
    seats = Seats(1, 0.0)
    with seats.taken():
        seats.leave()
        assert not seats.has_one
        with computing(seats), seats.left():
            pass
        with seats.left():
            pass
        assert seats.has_one


def test_who_went_on_without_a_seat_gets_one_after_its_next_wait() -> None:
    seats = Seats(1, 0.0)
    with ExitStack() as other:
        over = other.enter_context(computing(seats))
        with seats.taken():
            assert not seats.has_one
            with seats.left():
                over.set()
                other.close()
            assert seats.has_one
    with seats.taken():
        assert seats.has_one


@pytest.mark.parametrize("waits", [False, True])
def test_a_thread_without_a_seat_leaves_none(waits: bool) -> None:
    seats = Seats(1, 0.0)
    with computing(seats, waits=waits), seats.left():
        assert not seats.has_one
