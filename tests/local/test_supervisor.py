"""What a server is told of our environment, what the recipe may not say, and whom a start that fails ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.errors import ServiceError
from app.local import running
from app.local.home import is_held, open_home
from app.local.supervisor import Recipe, server_environment

RECIPE = Recipe(
    argv=("/bin/true", "-D", "/a b"),
    cwd="/",
    user=None,
    group=None,
    stop_signal=2,
    stop_s=1.0,
    log="/l",
    users="/u",
    keeper="/k",
)


def test_environment_that_would_change_the_server_is_dropped() -> None:
    given = {
        "PGDATA": "/elsewhere",
        "PGPORT": "1",
        "LC_MESSAGES": "de_DE",
        "LANG": "x",
        "PATH": "/bin",
        "TIPTOE_DATABASE_URL": "postgresql://user:secret@db/x",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "TZ": "Asia/Tokyo",
        "PYTHONPATH": "y",
    }
    assert server_environment(given) == {"PATH": "/bin", "LC_ALL": "C"}


def test_recipe_survives_the_command_line() -> None:
    again = Recipe(**json.loads(RECIPE.to_json()))
    assert (list(again.argv), again.stop_s) == (["/bin/true", "-D", "/a b"], 1.0)


# A keeper that has the lock of its file, and has yet to write its number into it.
SLOW = "import fcntl, sys; file = open(sys.argv[1], 'r+'); fcntl.flock(file, fcntl.LOCK_EX); sys.stdin.read()"


def test_a_start_that_fails_does_not_end_who_has_the_number_of_the_last_keeper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = open_home(tmp_path / "home")
    keeper_path = home.run / "fails.keeper"

    keepers: list[subprocess.Popen[bytes]] = []
    ended: list[int] = []

    class Fails:
        name = "fails"

        def prepare(self, log: object) -> Recipe:
            return RECIPE

        def version(self) -> str:
            return ""

        def is_ready(self) -> bool:
            while not is_held(keeper_path):
                assert keepers[0].poll() is None
            raise ServiceError("fails", "it never can")

    def launch(_: object) -> subprocess.Popen[bytes]:
        keepers.append(subprocess.Popen([sys.executable, "-c", SLOW, str(keeper_path)], stdin=subprocess.PIPE))
        return keepers[0]

    def kill(number: int, _: int) -> None:
        ended.append(number)
        keepers[0].communicate()  # it ends with its input

    keeper_path.write_text("4194305")  # no process can have it, but somebody could
    monkeypatch.setattr(running, "_launch", launch)
    monkeypatch.setattr(os, "kill", kill)
    with pytest.raises(ServiceError, match="it never can"):
        running.join_or_start(Fails(), home, print)  # type: ignore[arg-type]
    monkeypatch.undo()
    with keepers[0] as keeper:
        keeper.kill()
    assert ended == []
