"""Waiting for what is bound to happen. Nothing here sleeps to let something happen: it looks until it has."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 180.0  # a hang is found after it
LOOK_S = 0.02


def until(condition: Callable[[], T | None], what: str, timeout_s: float = PATIENCE_S) -> T:
    """What the condition returned once it was true. Fails, naming it, after the timeout."""
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {timeout_s:.0f} s: {what}"
        time.sleep(LOOK_S)
    return found


def last(seconds: float, meanwhile: Callable[[], object] = lambda: None) -> None:
    """A fault lasts so long; meanwhile is called at every look."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        meanwhile()
        time.sleep(min(LOOK_S, left))
