"""Who rings when a process has nothing under way any more."""

import threading
from collections.abc import Iterable
from types import SimpleNamespace

import pytest

from app.errors import ServiceError
from workers import bell


class Ended(threading.Event):
    """Says at each wait what it is told to, then that no visit has ended; keeps the waits."""

    def __init__(self, says: Iterable[bool] = ()) -> None:
        super().__init__()
        self.says, self.waits = list(says), list[float | None]()

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        return self.says.pop(0) if self.says else False


@pytest.fixture
def rung(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(bell, "dispatch", SimpleNamespace(run=lambda: found.append("rung")))
    return found


def test_it_rings_ever_more_seldom_and_then_leaves_it_to_beat(rung: list[str]) -> None:
    ended = Ended()
    bell.ring_again(ended, lambda: True, first_s=0.25)
    assert ended.waits == [0.25, 0.5, 1, 2, 4, 8, 16]
    assert len(rung) == 7


def test_a_visit_that_ends_or_runs_is_as_good(rung: list[str]) -> None:
    bell.ring_again(Ended([False, False, True]), lambda: True, first_s=0.25)
    assert len(rung) == 2
    bell.ring_again(Ended(), lambda: False, first_s=0.25)
    assert len(rung) == 2


def test_who_cannot_send_claims_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[str] = []

    def fail() -> None:
        tries.append("rung")
        raise ServiceError("the broker", "is away")

    monkeypatch.setattr(bell, "dispatch", SimpleNamespace(run=fail))
    bell.ring_again(Ended(), lambda: True, first_s=0.25)
    assert len(tries) == 1
