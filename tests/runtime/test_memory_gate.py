"""How much is read at once, and what is left of it."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from app.runtime.memory_gate import BYTES_PER_BYTE, BYTES_PER_TAG, MIB, SMALL_BYTES, MemoryGate
from tests.crawl.poisoned import ROOT

AMPLE_S = 60.0
HEAVY = b"x" * MIB
WEIGHT = BYTES_PER_BYTE * MIB
SMALL = b"<" * (SMALL_BYTES - 1)


@contextmanager
def inside(room: MemoryGate, body: bytes) -> Iterator[None]:
    """Another thread reads it meanwhile."""
    entered, over = threading.Event(), threading.Event()

    def read() -> None:
        with room.reading(body, may_wait=yes):
            entered.set()
            over.wait(AMPLE_S)

    thread = threading.Thread(target=read)
    thread.start()
    assert entered.wait(AMPLE_S)
    try:
        yield
    finally:
        over.set()
        thread.join()


def yes() -> bool:
    return True


def no() -> bool:
    return False


def has_room(room: MemoryGate, body: bytes) -> bool:
    """Whether it need not wait: told by the room itself, as who waits goes in at last."""
    with room._changed:
        return room._has_room(BYTES_PER_BYTE * len(body))


# a document, and the least room that holds it
ROOMS = [(HEAVY, WEIGHT), (b"<" * MIB, (BYTES_PER_TAG + BYTES_PER_BYTE) * MIB), (b"<b>x" * MIB, MIB * (330 + 4 * 44))]


@pytest.mark.parametrize(("body", "least"), ROOMS, ids=["letters", "tags", "markup"])
def test_a_document_may_be_too_large_for_the_room(body: bytes, least: int) -> None:
    with MemoryGate(most_bytes=least).reading(body, may_wait=yes) as has_room:
        assert has_room
    with MemoryGate(most_bytes=least - 1).reading(body, may_wait=yes) as has_room:
        assert not has_room


@pytest.mark.parametrize(("most_bytes", "has"), [(2 * WEIGHT, True), (2 * WEIGHT - 1, False)])
def test_only_so_much_is_read_at_once(most_bytes: int, has: bool) -> None:
    room = MemoryGate(most_bytes=most_bytes)
    with inside(room, HEAVY):
        assert has_room(room, HEAVY) is has
    assert has_room(room, HEAVY)


def test_what_is_larger_than_the_room_is_read_alone() -> None:
    room = MemoryGate(most_bytes=1)
    with room.reading(HEAVY, may_wait=yes):
        assert not has_room(room, b"x")


def test_tags_weigh_more_than_text() -> None:
    room = MemoryGate(most_bytes=2 * WEIGHT)
    with inside(room, b"<" * MIB):
        assert not has_room(room, HEAVY)


def test_small_documents_are_let_through() -> None:
    room = MemoryGate(most_bytes=1)
    with inside(room, HEAVY), room.reading(SMALL, may_wait=yes), room.reading(SMALL, may_wait=yes):
        assert len(room._inside) == 1, "the small ones are not even counted"


def test_who_waits_goes_in_when_there_is_room() -> None:
    room, read = MemoryGate(most_bytes=1), threading.Event()

    def wait() -> None:
        with room.reading(HEAVY, may_wait=yes):
            read.set()

    thread = threading.Thread(target=wait)
    with inside(room, HEAVY):
        thread.start()
        assert not read.is_set()
    thread.join(AMPLE_S)
    assert read.is_set()


def test_a_wait_for_room_is_within_the_callers_context_and_no_wait_is_not() -> None:
    room, inside_then = MemoryGate(most_bytes=1), list[int]()

    @contextmanager
    def waits() -> Iterator[None]:
        inside_then.append(len(room._inside))
        yield
        inside_then.append(len(room._inside))

    with room.reading(HEAVY, may_wait=yes, waits=waits):
        assert inside_then == []
        with room.reading(HEAVY, may_wait=no, waits=waits):
            assert inside_then == [1, 2]


def test_nobody_waits_longer_than_they_may() -> None:
    room = MemoryGate(most_bytes=1)
    with inside(room, HEAVY), room.reading(HEAVY, may_wait=no), room.reading(HEAVY, may_wait=no):
        assert len(room._inside) == 3


def test_who_waits_is_asked_again_and_again_and_holds_up_nobody() -> None:
    room, answers = MemoryGate(most_bytes=1, look_s=0.001), [False, True, True]
    was_free = []

    def may_wait() -> bool:
        with ThreadPoolExecutor() as another:
            was_free.append(another.submit(try_to_lock, room).result())
        return answers.pop()

    with inside(room, HEAVY), room.reading(HEAVY, may_wait=may_wait):
        assert was_free == [True, True, True]


def try_to_lock(room: MemoryGate) -> bool:
    is_free = room._changed.acquire(blocking=False)
    if is_free:
        room._changed.release()
    return is_free


def test_who_may_not_even_be_asked_is_not_inside() -> None:
    room = MemoryGate(most_bytes=1)
    with inside(room, HEAVY):
        with pytest.raises(ZeroDivisionError), room.reading(HEAVY, may_wait=lambda: bool(1 // 0)):
            pytest.fail("it was read")
        assert len(room._inside) == 1


def test_what_hangs_takes_no_room() -> None:
    room = MemoryGate(most_bytes=1, hung_s=0.0)
    with inside(room, HEAVY):
        assert has_room(room, HEAVY)


def test_an_error_leaves_the_room_empty() -> None:
    room = MemoryGate(most_bytes=1)
    with pytest.raises(ZeroDivisionError), room.reading(HEAVY, may_wait=yes):
        raise ZeroDivisionError
    assert has_room(room, HEAVY)


THREADS = 4
MEASURE = """
import sys, threading
sys.path.insert(0, {root!r})
from app.runtime.memory_gate import MIB, MemoryGate
from app.parse.html import html

def mib(field):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(field)) // 1024

room, body, done = MemoryGate(), b"<p>x" * (MIB // 4), threading.Event()

def work():
    with room.reading(body, may_wait=lambda: True):
        html.read(body, content_type="text/html")
    finished.release()
    done.wait()  # as a worker's threads do: what it holds is held for as long as it lives

before, finished = mib("VmRSS"), threading.Semaphore(0)
for _ in range({threads}):
    threading.Thread(target=work, daemon=True).start()
for _ in range({threads}):
    finished.acquire()
print(mib("VmHWM") - before, mib("VmRSS") - before)
"""


@pytest.mark.faults
@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc, and /proc")
def test_a_process_stays_small_though_every_thread_has_read_the_worst() -> None:
    """FT23's bound, for a worker without MALLOC_ARENA_MAX: without the room it takes 500 MiB, and most of it for
    good."""
    code = MEASURE.format(root=str(ROOT), threads=THREADS)
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300).stdout
    peak, kept = map(int, told.split())
    assert peak < 256
    assert kept < 128
