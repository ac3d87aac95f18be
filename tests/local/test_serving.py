"""A command that serves a crawl is told from one that was killed, and nobody pauses what somebody serves."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from app.local import serving
from app.local.home import Home, open_home

COMMAND = """
import sys
from pathlib import Path
from app.local import serving
from app.local.home import open_home
with serving.serving(open_home(Path(sys.argv[1])), sys.argv[2], print, at_end=lambda: print("paused")):
    print("serves", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return open_home(tmp_path / "home")


def command(home: Home, crawl: str) -> "subprocess.Popen[str]":
    """A process that serves a crawl until it reads a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(home.root), crawl],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "serves\n"
    return process


def left_behind(home: Home) -> list[str]:
    found: list[str] = []
    serving.leave_aside(home, print, pause=found.append)
    return found


def test_a_clean_end_pauses_its_own_crawl_and_leaves_nothing_behind(home: Home) -> None:
    running = command(home, "docs")
    assert left_behind(home) == []
    assert running.communicate("\n")[0] == "paused\n"
    assert left_behind(home) == []


def test_what_a_killed_command_served_is_paused_once(home: Home) -> None:
    for name in ("docs", "a name / with\ttext"):
        running = command(home, name)
        running.kill()
        running.communicate()
    assert sorted(left_behind(home)) == ["a name / with\ttext", "docs"]
    assert left_behind(home) == []


def test_the_same_command_again_takes_its_crawl_over(home: Home) -> None:
    killed = command(home, "docs")
    killed.kill()
    killed.communicate()
    again = command(home, "docs")
    assert left_behind(home) == []
    again.communicate("\n")


def test_a_pause_that_fails_is_done_by_the_next_command(home: Home) -> None:
    killed = command(home, "docs")
    killed.kill()
    killed.communicate()

    def fails(name: str) -> None:
        raise RuntimeError(name)

    with pytest.raises(RuntimeError, match="docs"):
        serving.leave_aside(home, print, pause=fails)
    assert left_behind(home) == ["docs"]


def test_the_last_of_two_commands_of_one_crawl_pauses_it(home: Home) -> None:
    first, second = command(home, "docs"), command(home, "docs")
    assert first.communicate("\n")[0] == ""
    assert left_behind(home) == []
    assert second.communicate("\n")[0] == "paused\n"


@pytest.mark.parametrize("end", [lambda running: running.communicate("\n")[0], lambda running: running.kill()])
def test_nothing_is_paused_while_up_serves_every_crawl(
    home: Home, end: "Callable[[subprocess.Popen[str]], str | None]"
) -> None:
    with ExitStack() as stack:
        stack.enter_context(serving.up(home, print))
        stack.enter_context(serving.up(home, print))
        running = command(home, "docs")
        assert not end(running)
        running.communicate()
        assert left_behind(home) == []
    assert not serving.is_up(home)
