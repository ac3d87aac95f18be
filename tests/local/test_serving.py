"""A command that serves a crawl is told from one that was killed, and nobody pauses what somebody serves."""

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from app.config import load
from app.errors import InputError, ServiceError
from app.local import serving
from app.local.home import Home, open_home

COMMAND = """
import json, sys
from pathlib import Path
from app.config import load
from app.local import serving
from app.local.home import open_home
settings = load(**json.loads(sys.argv[3]))
with serving.serving(open_home(Path(sys.argv[1])), sys.argv[2], settings, print, at_end=lambda: print("paused")):
    print("serves", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return open_home(tmp_path / "home")


def command(home: Home, crawl: str, **values: Any) -> "subprocess.Popen[str]":
    """A process that serves a crawl until it reads a line.   values: of its settings"""
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(home.root), crawl, json.dumps(values)],
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
        stack.enter_context(serving.up(home, load(), print))
        stack.enter_context(serving.up(home, load(), print))
        running = command(home, "docs")
        assert not end(running)
        running.communicate()
        assert left_behind(home) == []
    assert not serving.is_up(home)


@pytest.mark.parametrize(
    ("values", "option"),
    [
        ({"default_delay_s": 0.1}, "--delay 0.1"),
        ({"allow_networks": ["127.0.0.0/8"]}, "--allow-network 127.0.0.0/8"),
        ({"contact": "me@example.org"}, "--contact me@example.org"),
    ],
)
def test_a_command_that_treats_sites_otherwise_is_refused(home: Home, values: dict[str, Any], option: str) -> None:
    """Its workers would visit the other's hosts, with its own delay, networks and contact."""
    running = command(home, "docs")
    ours = serving.serving(home, "other", load(**values), print, at_end=lambda: None)
    with pytest.raises(InputError, match=f"^{option}: crawl docs runs in this home with "), ours:
        pass
    with pytest.raises(InputError, match=option), serving.up(home, load(**values), print):
        pass
    running.communicate("\n")
    again = serving.serving(home, "docs", load(), print, at_end=lambda: None)
    with serving.up(home, load(**values), print), pytest.raises(InputError, match="tiptoe up runs in this home"), again:
        pass


def test_a_killed_command_is_no_reason_to_refuse_another(home: Home) -> None:
    killed = command(home, "docs", default_delay_s=4)
    killed.kill()
    killed.communicate()
    again = command(home, "docs", default_delay_s=2)
    again.communicate("\n")
    assert left_behind(home) == []


@pytest.mark.parametrize("held", ["", "[1", "1", "[[]]", "[" * 50_000])
def test_a_list_of_paused_crawls_that_is_damaged_is_told(home: Home, held: str) -> None:
    """Such as an empty one, after a loss of power: its crawls stay paused until somebody resumes them."""
    (home.run / "aside").write_text(held)
    with pytest.raises(ServiceError, match="run/aside: is damaged; remove it, and run `tiptoe crawl resume NAME`"):
        left_behind(home)
