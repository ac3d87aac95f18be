"""Commands that use the embedded servers, and what they leave behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from app.local.services import LocalServices

SOURCE = Path(__file__).parents[2]
GONE_S = 90.0  # that the end of servers may take: a hang is found after it
NO_RETRY = Retry(NoBackoff(), 0)

USER_OF_SERVICES = """
import sys, time
from pathlib import Path
from app.local.services import LocalServices
given = {"database_url": None, "broker_url": None, "stay_s": float(sys.argv[2])}
with LocalServices(Path(sys.argv[1]), log=print, **given) as services:
    print(services.started, services.database_url, flush=True)
    sys.stdin.readline()
"""


def both(home: Path, log: Callable[[str], None] = print) -> LocalServices:
    return LocalServices(home, database_url=None, broker_url=None, log=log)


def ask(url: str, query: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(query).fetchone()
        return row[0] if row else None


def answers(broker: redis.Redis) -> bool:
    try:
        return bool(broker.ping())
    except redis.ConnectionError:
        return False


def keep_something(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS kept")
        connection.execute("CREATE TABLE kept AS SELECT 1 AS x")


def processes_in(folder: Path) -> list[str]:
    """Command lines of living processes that name the folder or work in it."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                line = (entry / "cmdline").read_text().replace("\0", " ")
                if f"{folder}/" in line or (entry / "cwd").readlink().is_relative_to(folder):
                    found.append(f"{entry.name} {line}")
        except OSError:
            continue
    return found


def first_line(child: "subprocess.Popen[str]") -> str:
    """What it tells once it has the services: names of what it started, the database's URL. On a busy machine it says
    before what it waits for."""
    assert child.stdout is not None
    return next((line for line in child.stdout if not line.startswith("waiting for ")), "")


def end(child: "subprocess.Popen[str]") -> None:
    child.communicate("\n", timeout=GONE_S)
    assert child.returncode == 0


def kill(child: "subprocess.Popen[str]") -> None:
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()


class Commands:
    """Other commands that use a home's services until they are ended. No failing test leaves one behind."""

    def __init__(self) -> None:
        self._all: list[subprocess.Popen[str]] = []

    def start(self, home: Path, *, stay_s: float = 0.0) -> "subprocess.Popen[str]":
        child = subprocess.Popen(
            [sys.executable, "-c", USER_OF_SERVICES, str(home), str(stay_s)],
            cwd=SOURCE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._all.append(child)
        return child

    def kill_all(self) -> None:
        for child in self._all:
            if child.poll() is None:
                kill(child)
