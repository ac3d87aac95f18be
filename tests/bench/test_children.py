"""Children of a measurement are ended with their groups, and nobody else is."""

import os
import signal
import sys
from pathlib import Path

import pytest

from bench.children import group, is_running, wait


def test_what_a_child_leaves_in_its_group_is_killed(tmp_path: Path) -> None:
    code = "import os, signal\nif os.fork():\n    print('over', flush=True)\nelse:\n    signal.pause()"
    with group([sys.executable, "-c", code], log=tmp_path / "log") as child:
        wait([child], 60)
        assert child.returncode == 0
        assert child.stdout is not None
        assert child.stdout.read() == "over\n", "what is left would hold the pipe open"


def test_a_group_is_signalled_only_while_its_number_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that ended early is waited for long before the last: its number may be somebody else's then."""
    waited_for: list[bool] = []
    killpg = os.killpg

    def watched(number: int, sent: int) -> None:
        waited_for.append(any(child.returncode is not None for child in (early, late) if child.pid == number))
        killpg(number, sent)

    monkeypatch.setattr(os, "killpg", watched)
    with (
        group(["true"], log=tmp_path / "early") as early,
        group(["sleep", "600"], log=tmp_path / "late") as late,
    ):
        while is_running(early):
            signal.sigtimedwait([], 0.01)
        late.terminate()
        wait([early, late], 60)
    assert (early.returncode, late.returncode) == (0, -signal.SIGTERM)
    assert waited_for == [False, False]
