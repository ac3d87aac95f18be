"""`python -m app.local.supervisor`: one small process per embedded server that runs it while any command uses it.

Every command that uses the server holds `run/<name>.users` shared. While the keeper can take it exclusively, no
command is left, whether they ended or were killed: after `stay_s` of that it stops the server and ends, and at once
where the home was moved or removed. So commands may start and end in any order, and no terminal's Ctrl-C or hangup
reaches the server (the keeper has a session of its own). If the keeper itself is killed, Linux signals the server
(`app.local.children`).

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
from app.sandbox.child import allowed

LIVED_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The instructions to run one server. No secrets: they are passed on a command line.

    argv, cwd: as for exec.   user, group: ids to become, None to stay.   stop_signal: asks it to end.
    stop_s: how long that may take.   log, users, keeper: paths, see `app.local.home`.
    stay_s: how long it runs on without a user.   version: of program and configuration, see `app.local.running`.
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
    stay_s: float = 0.0
    version: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def keep(recipe: Recipe) -> int:
    """Run the server until no command has used it for `stay_s`, or a signal ends us. Returns an exit code."""
    signed = _sign_in(recipe)
    users = owned.open_file(Path(recipe.users), os.O_RDWR | os.O_CREAT)
    told = _on_terminate()
    server, born = _start(recipe), time.monotonic()
    used_at = born
    while not told:
        if not try_exclusive(users):
            used_at = time.monotonic()
        elif time.monotonic() - used_at >= recipe.stay_s or _is_gone(users, recipe):
            break  # with the lock: newcomers queue until the server has stopped
        else:
            fcntl.flock(users, fcntl.LOCK_UN)
        if server.poll() is not None:
            print(f"keeper: {recipe.argv[0]} ended with {server.returncode}", flush=True)
            if time.monotonic() - born < LIVED_S:
                return 1
            server, born = _start(recipe), time.monotonic()
        time.sleep(0.1)
    stop(server, signal=recipe.stop_signal, timeout_s=recipe.stop_s)
    os.ftruncate(signed, 0)  # our number may soon be somebody else's
    return 0


def _sign_in(recipe: Recipe) -> int:
    """Write who we are and what we run into the keeper's file. Returns its lock, which we keep to the end."""
    path = Path(recipe.keeper)
    lock = take(path, fcntl.LOCK_EX, waiting_for="an older keeper", log=print)
    os.ftruncate(lock, 0)
    os.write(lock, f"{os.getpid()}\n{recipe.version}\n".encode())
    return lock


def _is_gone(users: int, recipe: Recipe) -> bool:
    """Whether the home was moved or removed: no command will find this server."""
    try:
        return not os.path.samestat(os.stat(recipe.users), os.fstat(users))
    except OSError:
        return True


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
    signed = _signed(path)
    return int(signed[0]) if signed else None


def keeper_version(path: Path) -> str | None:
    """Version of what the living keeper that holds this lock runs, or None."""
    signed = _signed(path)
    return signed[1] if signed else None


def _signed(path: Path) -> tuple[str, str] | None:
    number, _, version = (path.read_text() if is_held(path) else "").partition("\n")
    return (number, version.strip()) if number else None


if __name__ == "__main__":
    sys.exit(keep(Recipe(**json.loads(sys.argv[1]))))
