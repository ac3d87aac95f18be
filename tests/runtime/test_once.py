"""Makes values once for all threads that ask: one at a time, kept for a while, and again after a failure."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.runtime.once import Once


class Maker:
    """Makes a value, or fails, when it is let."""

    def __init__(self) -> None:
        self.let, self.made = threading.Semaphore(0), list[str]()
        self._making = threading.Semaphore(1)

    def __call__(self, name: str) -> str:
        assert self._making.acquire(blocking=False), "two are made at once"
        try:
            assert self.let.acquire(timeout=30)
            self.made.append(name)
            if name == "bad":
                raise TimeoutError("no answer")
            return name.upper()
        finally:
            self._making.release()


def test_however_many_threads_ask_each_name_is_made_once_and_one_at_a_time() -> None:
    maker = Maker()
    once = Once(maker, kept_s=lambda _: 600.0)
    assert [once.of(name, wait_s=0) for name in ("a", "b", "a")] == [None] * 3
    with ThreadPoolExecutor(6) as threads:
        asked = [threads.submit(once.of, name, wait_s=None) for name in "aabbcc"]
        maker.let.release(3)
        found = [each.result(timeout=30) for each in asked]
    assert [made and made.value for made in found] == list("AABBCC")
    assert sorted(maker.made) == ["a", "b", "c"]
    assert maker.made[:2] == ["a", "b"], "in the order in which they were asked for"


def test_a_value_is_kept_as_long_as_it_is_said_to_be_by_what_it_took() -> None:
    now, maker = [0.0], Maker()

    def slow(name: str) -> str:
        now[0] += 2.0
        return maker(name)

    once = Once(slow, kept_s=lambda took_s: took_s * 10, monotonic=lambda: now[0])
    maker.let.release(2)
    first = once.of("a", wait_s=30)
    assert first is not None
    assert (first.took_s, first.until) == (2.0, 22.0)
    now[0] = 21.9
    assert once.of("a", wait_s=30) is first
    now[0] = 22.0
    assert once.of("a", wait_s=30) is not first
    assert maker.made == ["a", "a"]


def test_what_fails_is_raised_to_who_waits_and_tried_again_by_the_next() -> None:
    """A timeout of the maker's own is not that of who waits."""
    maker = Maker()
    once = Once(maker, kept_s=lambda _: 600.0)
    maker.let.release(2)
    for _ in range(2):
        with pytest.raises(TimeoutError, match="no answer"):
            once.of("bad", wait_s=30)
    assert maker.made == ["bad", "bad"]


def test_a_failure_that_nobody_waited_for_is_raised_to_the_next_who_asks_and_not_for_ever() -> None:
    """Who looks again and again for a moment would else never learn of it, and have it tried without end."""
    maker, now = Maker(), [0.0]
    once = Once(maker, kept_s=lambda _: 60.0, monotonic=lambda: now[0])
    assert once.of("bad", wait_s=0) is None
    maker.let.release()
    once.join()
    with pytest.raises(TimeoutError, match="no answer"):
        once.of("bad", wait_s=0)
    assert once.of("bad", wait_s=0) is None, "it was told, and is tried again"
    maker.let.release()
    once.join()
    now[0] += 60.0
    assert once.of("bad", wait_s=0) is None, "that is long ago"
    maker.let.release()
    once.join()
    assert maker.made == ["bad"] * 3
