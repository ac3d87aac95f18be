"""A TCP proxy in a process of its own (`tests.faults.valve_server`), in front of a service. Shut, it is a black hole:
connections stay and are accepted, nothing is refused or reset, and not one byte comes through until it is opened.

    valve = rig.also(Valve(rig.folder, rig.database_url))
    rig.fleet.worker(env={"TIPTOE_DATABASE_URL": valve.url})
    valve.shut()
    valve.open()

Removed, it is a service that refuses its clients.
"""

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

from app.local.children import spawn
from tests.faults.fleet import is_stopped
from tests.faults.waiting import until
from tests.faults.web import ROOT

_valves = itertools.count()


class Valve:
    """Context manager. url: the service's, by way of the valve, which listens on `address`."""

    def __init__(self, folder: Path, url: str, address: str = "127.0.0.1") -> None:
        self._place, self._address, self._log = urlsplit(url), address, folder / f"valve-{next(_valves)}.log"
        self._process = self._start(0)
        self.port = int(self._log.read_text())
        netloc = f"{self._place.netloc.rpartition('@')[0]}@{address}:{self.port}"
        self.url = urlunsplit(self._place._replace(netloc=netloc))

    def _start(self, port: int) -> subprocess.Popen[bytes]:
        """Listening. port 0: one that is free."""
        target = (str(self._place.hostname), str(self._place.port))
        self._log.write_text("")
        process = spawn(
            [sys.executable, "-m", "tests.faults.valve_server", self._address, str(port), *target],
            env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
            log_path=self._log,
            death_signal=signal.SIGKILL,
        )
        until(lambda: self._log.read_text().endswith("\n") or process.poll() is not None, "the valve listens")
        assert process.poll() is None, self._log.read_text()
        return process

    def shut(self) -> None:
        """SIGSTOP; returns when the kernel says that it is stopped."""
        self._process.send_signal(signal.SIGSTOP)
        until(lambda: is_stopped(self._process.pid), "the valve is shut")

    def open(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def remove(self) -> None:
        """Connections are torn off, and new ones refused."""
        self._process.kill()
        self._process.wait()

    def replace(self) -> None:
        """Where it was."""
        self._process = self._start(self.port)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()
