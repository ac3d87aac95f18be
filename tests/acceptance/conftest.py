"""The whole stack as a user runs it: the commands in processes of their own, against a small web."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.local.services import LocalServices
from tests.crawl.web import Site, Web, html

BIN = Path(sys.executable).parent
PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that has ended. summary: the JSON object on the last line of standard output."""

    code: int
    out: str
    err: str

    @property
    def summary(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.out.strip().splitlines()[-1])
        return found


class Tiptoe:
    """`tiptoe` with a home of its own."""

    def __init__(self, home: Path, **env: str) -> None:
        self.home = home
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TIPTOE_")},
            "TIPTOE_HOME": str(home),
            "TIPTOE_ALLOW_NETWORKS": "127.0.0.0/8",
            "TIPTOE_DEFAULT_DELAY_S": "0.05",
            "TIPTOE_ADDRESS_GAP_S": "0.05",  # each site has an address: half a second for each page, else
            "TIPTOE_PROCESSES": "1",
            "TIPTOE_CONSTANT_SERVICES_STAY_S": "0",
            **env,
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """In a process group of its own, as a shell's job is."""
        return subprocess.Popen(
            [str(BIN / "tiptoe"), *arguments],
            env=self.env,
            cwd=self.home.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str) -> Ran:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=PATIENCE_S)
        return Ran(process.returncode, out, err)

    def sql(self, query: str) -> list[dict[str, object]]:
        ran = self.run("sql", query, "--json")
        assert ran.code == 0, ran.err
        rows: list[dict[str, object]] = json.loads(ran.out)
        return rows

    def processes(self) -> list[int]:
        """Whatever runs with this home in its environment."""
        mark = f"TIPTOE_HOME={self.home}".encode()
        found = []
        for environ in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in environ.read_bytes().split(b"\0"):
                    found.append(int(environ.parent.name))
            except OSError:
                continue  # it ended while we looked
        return found


@contextmanager
def serving(tiptoe: Tiptoe) -> Iterator[None]:
    """Its services run on from one command to the next, where their start is not the point."""
    with LocalServices(tiptoe.home, database_url=None, broker_url=None, log=print):
        yield


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that is bound to happen."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.02)


def kill_group(process: subprocess.Popen[str]) -> None:
    assert process.poll() is None, "of one that has ended the number may be somebody else's by now"
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.fixture
def tiptoe(reachable_tmp: Path, request: pytest.FixtureRequest) -> Iterator[Tiptoe]:
    folder = reachable_tmp / f"acceptance-{os.getpid()}-{abs(hash(request.node.nodeid))}"
    folder.mkdir(mode=0o711)
    runner = Tiptoe(folder / "home")
    yield runner
    for pid in runner.processes():
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as small:
        yield small


def manual(site: Site, pages: int) -> set[str]:
    """A site of so many pages, each with validators and links to the next three and home. Returns the paths."""
    paths = ["/", *(f"/page-{number}.html" for number in range(1, pages))]
    for number, path in enumerate(paths):
        links = [paths[(number + step) % pages] for step in (1, 2, 3)]
        site.pages[path] = html(
            "/",
            *links,
            "/private/no.html",
            title=f"Page {number}",
            text=f"Words of page {number}. " * 20,
            headers={"ETag": f'"{number}"'},
        )
    site.robots = "User-agent: *\nDisallow: /private/\n"
    return set(paths)


@contextmanager
def celery(
    env: dict[str, str], folder: Path, *arguments: str, within: tuple[str, ...] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """Run it.   within: the command that it runs under, by exec"""
    with (folder / f"{arguments[0]}.log").open("ab") as log:
        command = [*within, str(BIN / "celery"), "-A", "app", *arguments]
        process = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE_S)
            finally:
                process.kill()
