"""Runs a crawl's own processes on one machine: beat, workers and the dashboard as children, each replaced when it ends.

They are a fleet's processes (`celery -A app beat`, `celery -A app worker`); only their number and the front of the
import path differ. Environment variables name the services. They end when we do, however we end.

A worker that renders joins them once a page waits for a browser, and one is here. It is looked for beside the start;
where there is one, crawls are told at once, so that one whose last pages are shells does not end before the worker is
up.
"""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import structlog

from app.admin.rendering import announce, here
from app.browser.values import BrowserProblem, Chromium
from app.config import Settings
from app.errors import ServiceError
from app.local import dashboard
from app.local.children import await_end, heed_interrupts, spawn, stop
from app.local.home import open_home
from app.local.services import Services
from app.runtime.once import Once
from app.store import db, renders

RESTART_AFTER_S = 1.0
RAPID_ENDINGS_MOST = 5
RENDERER = "render"  # the worker, and its queue
# glibc gives every thread an arena of its own: parsing in 64 threads then holds 90 MiB for nothing. Little of what is
# freed within them goes back to the system: so large blocks, such as the rows of a settle, are kept out of them. To set
# that alone lets malloc return the end of an arena to the system, and fault it in again, some thirty times a page.
MALLOC = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "262144", "MALLOC_TRIM_THRESHOLD_": "1048576"}
TELL_S = 20.0
_log = structlog.get_logger()


@dataclass(slots=True)
class _Child:
    name: str
    argv: list[str]
    process: subprocess.Popen[bytes]
    started: float
    rapid_endings: int = 0


class Stack:
    """Context manager: beat and workers run within it, and the dashboard if asked. Call `tend` now and then."""

    def __init__(self, settings: Settings, services: Services, *, web: bool = False) -> None:
        self._services = services
        self._stop_s = settings.request_deadline_s + 15.0
        self._logs = open_home(services.home).logs  # services that are configured have made none
        self._env = {
            **MALLOC,
            **os.environ,
            "TIPTOE_HOME": str(services.home),
            "TIPTOE_DATABASE_URL": services.database_url,
            "TIPTOE_BROKER_URL": services.broker_url,
            # Settings that an option of the command may have set.
            "TIPTOE_DEFAULT_DELAY_S": str(settings.default_delay_s),
            "TIPTOE_ALLOW_NETWORKS": ",".join(settings.allow_networks),
            **({"TIPTOE_CONTACT": settings.contact} if settings.contact else {}),
        }
        self._commands = {"beat": _celery("beat")} | {
            f"worker-{number}": _celery(
                "worker", "--hostname", f"{number}@%h", "--concurrency", str(settings.concurrency), *_SOLITARY
            )
            for number in range(1, count_workers(settings) + 1)
        }
        if web:
            self._commands["web"] = dashboard.argv()
        self._rendering = RenderDemand(settings, services.database_url)
        self._children: list[_Child] = []

    def __enter__(self) -> "Stack":
        for name, argv in self._commands.items():
            self._add(name, argv)
        self._rendering.look()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop warmly: beat first, so that nothing more is offered; then visits settle their batches and leave."""
        self._rendering.stop()
        beat, *workers = self._children
        stop(beat.process, signal=signal.SIGTERM, timeout_s=10.0)
        for child in workers:
            if child.process.poll() is None:
                child.process.send_signal(signal.SIGTERM)
        until = time.monotonic() + self._stop_s
        for child in workers:
            await_end(child.process, timeout_s=max(until - time.monotonic(), 0.1))

    def tend(self) -> None:
        """Replace each process that has ended. Raises ServiceError for one that cannot stay up, KeyboardInterrupt."""
        heed_interrupts()
        self._rendering.look()
        if self._rendering.is_wanted and RENDERER not in self._commands:
            self._commands[RENDERER] = _celery("worker", "--hostname", "render@%h", "-Q", RENDERER, *_SOLITARY)
            self._add(RENDERER, self._commands[RENDERER])
        for child in self._children:
            if child.process.poll() is None:
                continue
            lived_s = time.monotonic() - child.started
            if lived_s < RESTART_AFTER_S:
                continue
            child.rapid_endings = child.rapid_endings + 1 if lived_s < 10 else 0
            if child.rapid_endings >= RAPID_ENDINGS_MOST:
                raise ServiceError(f"{child.name} ends right after its start", f"read its log: {self._log(child.name)}")
            child.process, child.started = self._start(child.name, child.argv), time.monotonic()

    def _add(self, name: str, argv: list[str]) -> None:
        self._children.append(_Child(name, argv, self._start(name, argv), time.monotonic()))

    def _start(self, name: str, argv: list[str]) -> subprocess.Popen[bytes]:
        return spawn(argv, env=self._env, log_path=self._log(name), death_signal=signal.SIGTERM)

    def _log(self, name: str) -> Path:
        return self._logs / f"{name}.log"


def count_workers(settings: Settings) -> int:
    """The workers that are started: as many as the settings say, else one per core, 4 at most."""
    return settings.processes or min(os.cpu_count() or 1, 4)


# Celery's heartbeats and greetings between workers are of no use: liveness is progress in Postgres.
_SOLITARY = ("--without-gossip", "--without-mingle")


# As root Celery advises `--uid`, which a child of a command has no use for.
_UNWARNED = ("-W", "ignore:You're running the worker with superuser privileges")


def _celery(*arguments: str) -> list[str]:
    """The command `celery -A app …` without the working folder on its path: the user's own packages may lie there
    (`workers.__main__`). Its banner would open each log with forty queues."""
    return [sys.executable, "-P", *_UNWARNED, "-m", "workers", "celery", "-q", "-A", "app", *arguments]


class RenderDemand:
    """Whether the worker that renders is to be started.   is_wanted: as far as is known"""

    def __init__(self, settings: Settings, database_url: str) -> None:
        self._settings = settings
        self._engine = db.connect(database_url, pool_size=1)
        self._looks = Once(self._look, kept_s=lambda _: 1.0)
        self._browser: Chromium | BrowserProblem | None = None
        self._told_at = -TELL_S
        self._is_away = False  # Postgres: said once
        self.is_wanted = False

    def look(self) -> None:
        """Look again, beside, if the last look was long enough ago. Nothing once the worker is wanted."""
        if not self.is_wanted:
            self._looks.of("", wait_s=0)

    def stop(self) -> None:
        self._looks.join()
        self._engine.dispose()

    def _look(self, _: str) -> None:
        """Announce the worker, until a page wants it: then it speaks for itself, or is gone after a minute.

        Without a browser there is none to come, and why is announced for those who ask what pages wait for.
        """
        if self._browser is None:
            self._browser = here(self._settings)
            if isinstance(self._browser, BrowserProblem):
                _log.info("render.no_browser", problem=self._browser.line)
        try:
            with db.transaction(self._engine) as tx:
                if time.monotonic() - self._told_at >= TELL_S:
                    announce(tx, self._browser)
                    self._told_at = time.monotonic()
                self.is_wanted = isinstance(self._browser, Chromium) and renders.waiting(tx)
            self._is_away = False
        except ServiceError as error:
            if not self._is_away:
                _log.warning("render.not_asked", error=str(error))
            self._is_away = True
