"""The embedded servers run on for the next command, and end by themselves."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.local.home import is_held
from app.local.services import data_dir
from app.local.supervisor import keeper_id
from tests.faults.waiting import until
from tests.local.served import SOURCE, Commands, ask, end, first_line, kill, processes_in

LONG_S = 3_600.0
NAMES = ("postgres", "valkey")


@pytest.fixture
def home(reachable_tmp: Path) -> Iterator[Path]:
    """The same for all tests here; nothing runs in it before or after a test."""
    folder = reachable_tmp / "stays"
    yield folder
    shutil.rmtree(folder / "run", ignore_errors=True)  # ends what stays
    until(lambda: not processes_in(folder), "no process is left in the folder")


@pytest.fixture
def commands() -> Iterator[Commands]:
    others = Commands()
    yield others
    others.kill_all()


def keepers(home: Path) -> list[int | None]:
    return [keeper_id(home / "run" / f"{name}.keeper") for name in NAMES]


def test_commands_in_a_row_start_the_servers_once(home: Path, commands: Commands) -> None:
    first = commands.start(home, stay_s=LONG_S)
    assert first_line(first).startswith("('postgres', 'valkey')")
    end(first)
    running = keepers(home)
    assert None not in running
    for ending in (end, kill, end):  # a command that is killed leaves them for the next one too
        later = commands.start(home, stay_s=LONG_S)
        told = first_line(later)
        assert told.startswith("() ")
        assert ask(told.split()[-1], "SELECT 1") == 1
        ending(later)
        assert keepers(home) == running


def test_commands_that_end_at_once_leave_one_server_each(home: Path, commands: Commands) -> None:
    children = [commands.start(home, stay_s=LONG_S) for _ in range(3)]
    urls = {first_line(child).split()[-1] for child in children}
    for child in children:
        end(child)
    assert len(urls) == 1
    assert None not in keepers(home)
    assert sum("app.local.supervisor" in line for line in processes_in(home)) == len(NAMES)


@pytest.mark.parametrize("is_killed", [False, True])
def test_they_end_by_themselves_once_nobody_used_them_for_a_while(
    home: Path, commands: Commands, *, is_killed: bool
) -> None:
    child = commands.start(home, stay_s=0.2)
    first_line(child)
    if is_killed:
        commands.kill_all()
    else:
        end(child)
    until(lambda: not processes_in(home), "no process is left in the folder")
    locks = [home / "run" / f"{name}.keeper" for name in NAMES]  # one that ends has no command line before it lets go
    until(lambda: not any(map(is_held, locks)), "no keeper holds its lock")


def test_a_command_that_lets_none_stay_ends_them(home: Path, commands: Commands) -> None:
    for stay_s in (LONG_S, 0.0):
        child = commands.start(home, stay_s=stay_s)
        first_line(child)
        end(child)
    assert keepers(home) == [None, None]


def test_a_home_that_is_moved_or_removed_ends_them(home: Path, commands: Commands) -> None:
    child = commands.start(home, stay_s=LONG_S)
    first_line(child)
    end(child)
    moved = home.rename(home.with_name("stays-moved"))
    until(lambda: not processes_in(moved), "no process is left in the folder")
    moved.rename(home)
    child = commands.start(home, stay_s=LONG_S)
    assert first_line(child).startswith("('postgres', 'valkey')")
    end(child)
    shutil.rmtree(home / "run")
    until(lambda: not processes_in(home), "no process is left in the folder")


def test_a_signal_ends_them_at_once(home: Path, commands: Commands) -> None:
    """As docs/operating.md says: kill $(head -n1 .tiptoe/run/postgres.keeper). Afterwards no number stands there."""
    child = commands.start(home, stay_s=LONG_S)
    first_line(child)
    end(child)
    for number in keepers(home):
        assert number is not None
        os.kill(number, signal.SIGTERM)
    until(lambda: not processes_in(home), "no process is left in the folder")
    assert [(home / "run" / f"{name}.keeper").read_text() for name in NAMES] == ["", ""]


def test_what_differs_from_what_would_be_started_now_is_started_anew_once_nobody_uses_it(
    home: Path, commands: Commands
) -> None:
    used = commands.start(home, stay_s=LONG_S)
    first_line(used)
    postgres, valkey = keepers(home)
    (data_dir(home) / "yours.conf").write_text("max_connections = 123\n")
    joins = commands.start(home, stay_s=LONG_S)
    first_line(joins)
    assert keepers(home) == [postgres, valkey], "another command uses it"
    for child in (joins, used):
        end(child)
    later = commands.start(home, stay_s=LONG_S)
    told = first_line(later)
    assert told.startswith("('postgres',) ")
    assert ask(told.split()[-1], "SHOW max_connections") == "123"
    assert keepers(home)[1] == valkey
    end(later)


def test_keepers_of_another_version_of_the_programs_are_ended(home: Path, commands: Commands) -> None:
    """The version that a keeper signed with is another's."""
    child = commands.start(home, stay_s=LONG_S)
    first_line(child)
    end(child)
    before = keepers(home)
    for name in NAMES:
        signed = home / "run" / f"{name}.keeper"
        signed.write_text(f"{signed.read_text().splitlines()[0]}\nolder\n")
    later = commands.start(home, stay_s=LONG_S)
    assert first_line(later).startswith("('postgres', 'valkey') ")
    assert not set(before) & set(keepers(home))
    end(later)


def test_a_command_of_ours_leaves_postgres_for_the_next(home: Path, commands: Commands) -> None:
    """`tiptoe status` as a person types it, whose constant is a minute; and one that is told to leave nothing."""
    child = commands.start(home, stay_s=LONG_S)
    first_line(child)
    end(child)
    running = keepers(home)
    env = {name: value for name, value in os.environ.items() if not name.startswith("TIPTOE_")}
    argv = [sys.executable, "-P", "-m", "tiptoe", "--home", str(home), "status"]
    for constant, stays in ({}, running), ({"TIPTOE_CONSTANT_SERVICES_STAY_S": "0"}, [None, running[1]]):
        env |= {**constant, "PYTHONPATH": str(SOURCE)}
        ran = subprocess.run(argv, env=env, cwd=home.parent, capture_output=True, text=True, check=False)
        assert "it has no schema yet" in ran.stderr
        assert keepers(home) == stays
