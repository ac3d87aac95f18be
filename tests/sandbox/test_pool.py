"""The pool that readers, handlers and browsers share: how many it lends, which it keeps, and for how long."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from app.sandbox.child import ProcessPool
from tests.faults.waiting import until


@dataclass(eq=False)
class Process:
    """A process that does nothing.   is_worn: it is not to be lent again"""

    is_alive: bool = True
    is_worn: bool = False
    ended: threading.Event = field(default_factory=threading.Event)

    def end(self) -> None:
        self.is_alive = False
        self.ended.set()


def pool(start: Callable[[], Process] = Process, *, idle_s: float = 600.0, most: int = 2) -> ProcessPool[Process]:
    return ProcessPool(start, idle_s=idle_s, most=most)


def borrowed(found: ProcessPool[Process]) -> Process:
    member = found.borrow(0.0)
    assert member is not None
    return member


def test_no_more_than_that_are_lent_at_once() -> None:
    found = pool(most=2)
    first, second = borrowed(found), borrowed(found)
    assert first is not second
    assert found.borrow(0.0) is None
    found.give_back(first)
    assert found.borrow(0.0) is first
    found.close()


def test_a_start_that_fails_takes_no_place() -> None:
    def fails() -> Process:
        raise OSError("no more processes")

    found = pool(fails, most=1)
    for _ in range(3):
        with pytest.raises(OSError, match="no more processes"):
            found.borrow(0.0)


@pytest.mark.parametrize("change", [{"is_worn": True}, {"is_alive": False}])
def test_one_that_is_worn_or_dead_is_ended_when_it_is_given_back(change: dict[str, bool]) -> None:
    found = pool(most=1)
    member = borrowed(found)
    for name, value in change.items():
        setattr(member, name, value)
    found.give_back(member)
    assert member.ended.is_set()
    assert borrowed(found) is not member
    found.close()


def test_one_that_died_while_it_was_idle_is_not_lent() -> None:
    found = pool()
    member = borrowed(found)
    found.give_back(member)
    member.is_alive = False
    assert borrowed(found) is not member
    assert member.ended.is_set()
    found.close()


def test_an_exception_of_its_borrower_ends_it() -> None:
    found = pool(most=1)
    with pytest.raises(KeyError), found.lent() as member:
        raise KeyError
    assert member is not None
    assert member.ended.is_set()
    assert found.borrow(0.0) is not None, "its place is free"


def test_idle_ones_are_ended_each_after_its_time() -> None:
    found = pool(idle_s=0.05)
    members = [borrowed(found), borrowed(found)]
    for member in members:
        found.give_back(member)
    until(lambda: all(member.ended.is_set() for member in members), "both are retired")
    assert borrowed(found) not in members


def test_a_close_ends_the_idle_ones_at_once_and_the_others_when_they_are_given_back() -> None:
    found = pool()
    idle, lent = borrowed(found), borrowed(found)
    found.give_back(idle)
    found.close()
    assert (idle.ended.is_set(), lent.ended.is_set()) == (True, False)
    found.give_back(lent)
    assert lent.ended.is_set()
