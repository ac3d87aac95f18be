"""The crawler's own processes as a fleet runs them: `celery -A app beat` and `celery -A app worker`, each in its own
process group, to be started, killed, stopped and ended one by one. None outlives the test process.

A worker tells the web its name (TIPTOE_PURPOSE), so that the access log says who sent what.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from app.local.children import spawn
from app.local.stack import MALLOC
from tests.faults.waiting import until
from tests.faults.web import ROOT

COMMAND_S = 180.0
MENDED_MOST = 20
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(eq=False, slots=True, kw_only=True)
class Child:
    """A process of the fleet. started: monotonic seconds. slots: visits at once; 0 for beat. is_dismissed: a test ends
    it.

    queue         the only one that a worker serves; "": those of the crawl
    within, env   the command it runs under, such as one that enters a namespace; and what it alone finds in its
                  environment
    """

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    slots: int
    queue: str = ""
    within: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    is_dismissed: bool = False
    rss_before: int | None = None

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        """kill -9 of its whole group. Of one that ended by itself the number may be somebody else's by now."""
        self.is_dismissed = True
        assert self.is_alive, f"{self.name} has ended: see {self.log}"
        os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()

    def freeze(self) -> None:
        """SIGSTOP; returns when the kernel says it is stopped."""
        os.killpg(self.pid, signal.SIGSTOP)
        until(lambda: is_stopped(self.pid), f"{self.name} is stopped")

    def thaw(self) -> None:
        os.killpg(self.pid, signal.SIGCONT)

    def terminate(self) -> None:
        """SIGTERM, as a supervisor does: a warm shutdown. Does not wait."""
        self.is_dismissed = True
        self.process.send_signal(signal.SIGTERM)

    def ended_after_s(self, timeout_s: float) -> float:
        """Wait for its end. Returns the seconds it took."""
        began = time.monotonic()
        self.process.wait(timeout_s)
        return time.monotonic() - began

    def cpu_s(self) -> float:
        """Processor time that it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_kib(self) -> int:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") // 1024


class Fleet:
    """Beats and workers in one environment, and their supervisor: tend() starts another for one that ended by itself,
    as a watchdog may have it. close() kills them all.

    mended   names of those that ended by themselves
    """

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._folder = folder
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TIPTOE_")},
            "PYTHONPATH": str(ROOT),
            **MALLOC,
            **env,
        }
        self.children: list[Child] = []
        self.mended: list[str] = []

    def worker(
        self, slots: int = 4, *, queue: str = "", within: tuple[str, ...] = (), env: Mapping[str, str] = NOTHING
    ) -> Child:
        """Start one more."""
        name = f"w{1 + sum(child.slots > 0 for child in self.children)}"
        options = ["--hostname", f"{name}@faults", "--concurrency", str(slots), "--without-gossip", "--without-mingle"]
        options += ["--queues", queue] if queue else []
        child = self._start(name, slots, within, env, "worker", *options)
        child.queue = queue
        return child

    def beat(self, *, within: tuple[str, ...] = (), env: Mapping[str, str] = NOTHING) -> Child:
        name = f"beat{1 + sum(not child.slots for child in self.children)}"
        return self._start(name, 0, within, env, "beat", "--pidfile=")

    def tend(self) -> None:
        """Start another for each that ended by itself."""
        for child in [each for each in self.children if not each.is_alive and not each.is_dismissed]:
            child.is_dismissed = True
            self.mended.append(child.name)
            assert len(self.mended) < MENDED_MOST, f"a crash loop: {self.mended}"
            place: Any = {"within": child.within, "env": child.env}
            self.worker(child.slots, queue=child.queue, **place) if child.slots else self.beat(**place)

    @property
    def workers(self) -> list[Child]:
        """Those that live, stopped ones too."""
        return [child for child in self.children if child.slots and child.is_alive]

    @property
    def beats(self) -> list[Child]:
        return [child for child in self.children if not child.slots and child.is_alive]

    def named(self, name: str) -> Child:
        return next(child for child in self.children if child.name == name)

    def tiptoe(self, *arguments: str) -> str:
        """A command to its end. Returns what it printed."""
        done = subprocess.run(
            [str(Path(sys.executable).parent / "tiptoe"), *arguments],
            env=self.env,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def events(self, *names: str) -> Iterator[dict[str, object]]:
        """Lines of all logs with one of these event names."""
        for child in self.children:
            for line in child.log.read_text(errors="replace").splitlines():
                if line.startswith("{") and any(f'"{name}"' in line for name in names):
                    event = json.loads(line)
                    if event.get("event") in names:
                        yield {**event, "child": child.name}

    def count(self, word: str) -> int:
        """How often it stands in the logs."""
        return sum(child.log.read_text(errors="replace").count(word) for child in self.children)

    def close(self) -> None:
        for child in self.children:
            if child.is_alive:
                child.kill()

    def _start(self, name: str, slots: int, within: tuple[str, ...], env: Mapping[str, str], *arguments: str) -> Child:
        log = self._folder / f"{name}.log"
        process = spawn(
            [*within, sys.executable, "-m", "celery", "-A", "app", *arguments],
            env={**self.env, "TIPTOE_PURPOSE": name, **env},
            log_path=log,
            death_signal=signal.SIGKILL,
            cwd=self._folder,
        )
        child = Child(name=name, process=process, log=log, slots=slots, within=within, env=env)
        self.children.append(child)
        return child


def is_stopped(pid: int) -> bool:
    """By SIGSTOP."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
