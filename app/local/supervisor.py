"""`python -m app.local.supervisor`: one small process per embedded server that runs it while any command uses it.

Every command that uses the server holds `run/<name>.users` shared. When the keeper can take it exclusively, no
command is left, whether they ended or were killed: it stops the server and ends. So commands may start and end in
any order, and no terminal's Ctrl-C or hangup reaches the server (the keeper has a session of its own). If the keeper
itself is killed, Linux signals the server (`app.local.children`).

A server that crashes while in use is started again on its old port, unless it crashed within LIVED_S: then it cannot
start, and the command that waits for it reports why. Standard library only: it starts in 50 ms and stays small.
"""

import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from subprocess import Popen
from types import FrameType

from app import owned
from app.local.children import spawn, stop
from app.local.home import is_held, take, try_exclusive
from app.runtime.environment import allowed

LOOK_S = 0.1
LIVED_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The instructions to run one server. No secrets: they are passed on a command line.

    argv, cwd: as for exec.   user, group: ids to become, None to stay.   stop_signal: asks it to end.
    stop_s: how long that may take.   log, users, keeper: paths, see `app.local.home`.
    """

    argv: tuple[str, ...]
    cwd: str
    user: int | None
    group: int | None
    stop_signal: int
    stop_s: float
    log: str
    users: str
    keeper: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def keep(recipe: Recipe) -> int:
    """Run the server until no command uses it or a signal ends us. Returns an exit code."""
    _sign_in(Path(recipe.keeper))
    users = owned.open_file(Path(recipe.users), os.O_RDWR | os.O_CREAT)
    told = _on_terminate()
    server, born = _start(recipe), time.monotonic()
    while not told and not try_exclusive(users):
        if server.poll() is not None:
            print(f"keeper: {recipe.argv[0]} ended with {server.returncode}", flush=True)
            if time.monotonic() - born < LIVED_S:
                return 1
            server, born = _start(recipe), time.monotonic()
        time.sleep(LOOK_S)
    stop(server, signal=recipe.stop_signal, timeout_s=recipe.stop_s)
    return 0


def _sign_in(path: Path) -> None:
    lock = take(path, fcntl.LOCK_EX, waiting_for="an older keeper", log=print)  # kept until the process ends
    os.ftruncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())


def _on_terminate() -> list[int]:
    told: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        told.append(number)

    signal.signal(signal.SIGTERM, note)
    return told


def _start(recipe: Recipe) -> Popen[bytes]:
    return spawn(
        recipe.argv,
        env=server_environment(os.environ),
        log_path=Path(recipe.log),
        death_signal=recipe.stop_signal,
        user=recipe.user,
        group=recipe.group,
        cwd=Path(recipe.cwd),
    )


def server_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of our environment that a server gets: no passwords, and nothing that changes how it runs (locales)."""
    unwanted = ("LC_", "LANG", "PYTHON", "TZ")
    return {k: v for k, v in allowed(environment).items() if not k.startswith(unwanted)} | {"LC_ALL": "C"}


def keeper_id(path: Path) -> int | None:
    """Process id of the living keeper that holds this lock, or None."""
    text = path.read_text() if is_held(path) else ""
    return int(text) if text else None


if __name__ == "__main__":
    sys.exit(keep(Recipe(**json.loads(sys.argv[1]))))
