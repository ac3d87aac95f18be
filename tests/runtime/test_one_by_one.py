"""Documents are read one after another, and nobody waits for long."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from app.runtime.one_by_one import OneByOne

AMPLE_S = 60.0


@contextmanager
def inside(reading: OneByOne) -> Iterator[threading.Event]:
    """Another thread is in it, until the event is set or the context ends."""
    entered, over = threading.Event(), threading.Event()

    def read() -> None:
        with reading.turn():
            entered.set()
            over.wait(AMPLE_S)

    thread = threading.Thread(target=read)
    thread.start()
    assert entered.wait(AMPLE_S)
    try:
        yield over
    finally:
        over.set()
        thread.join()


def test_the_next_reads_when_the_one_before_has_read() -> None:
    reading, alone = OneByOne(AMPLE_S), list[bool]()

    def read_next() -> None:
        with reading.turn() as is_alone:
            alone.append(is_alone and over.is_set())

    with inside(reading) as over:
        waiting = threading.Thread(target=read_next)
        waiting.start()
        over.set()
    waiting.join()
    assert alone == [True]


def test_who_waited_long_enough_reads_all_the_same_and_gives_no_turn_back() -> None:
    reading = OneByOne(0.0)
    with inside(reading):
        for _ in range(2):
            with reading.turn() as is_alone:
                assert not is_alone
    with reading.turn() as is_alone:
        assert is_alone


def test_it_is_free_again_after_an_error() -> None:
    reading = OneByOne(0.0)
    with suppress(ValueError), reading.turn():
        raise ValueError
    with reading.turn() as is_alone:
        assert is_alone
