"""Runs one crawl on this machine in a thread of its own, so that a script can read its pages meanwhile.

    with open_services(settings, log) as (settings, services), serving(engine, settings, services, name, log):
        with BackgroundCrawl(settings, services, engine, crawl) as running:
            while not running.wait(0.25): …

As `tiptoe crawl`, without a terminal: no signal handler is set, and nothing is printed. Linux ends child processes with
the thread that started them (`app.local.children`), so it is this thread that starts and stops them.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Self

from sqlalchemy import Engine

from app.admin.crawls import find, pause, resume
from app.beat import sweep
from app.config import Settings
from app.errors import InputError, ServiceError, TiptoeError
from app.local import serving as serves
from app.local.home import Log, open_home
from app.local.services import LocalServices, Services
from app.local.stack import Stack
from app.store import crawls, db
from app.store.crawls import Crawl


class BackgroundCrawl:
    """Context manager: the crawl runs within it, until it ends by itself.   error: why it cannot run on"""

    def __init__(self, settings: Settings, services: Services, engine: Engine, crawl: Crawl) -> None:
        self._stop = threading.Event()
        self.error: BaseException | None = None
        arguments = (settings, services, engine, crawl)
        self._thread = threading.Thread(target=self._run, args=arguments, name=f"tiptoe {crawl.name}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop warmly: visits settle their batches and leave."""
        self._stop.set()
        self._thread.join()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the crawl, for so long at most. Raises what ended its thread."""
        self._thread.join(seconds)
        if self.error is not None:
            raise self.error
        return not self._thread.is_alive()

    def _run(self, settings: Settings, services: Services, engine: Engine, crawl: Crawl) -> None:
        try:
            with Stack(settings, services) as stack:
                _tend(stack, engine, crawl, self._stop)
        except (TiptoeError, OSError) as error:
            self.error = error


@contextmanager
def open_services(settings: Settings, log: Log) -> Iterator[tuple[Settings, Services]]:
    """Postgres and a broker, the configured ones or our own; the settings name them."""
    given = {"database_url": settings.database_url, "broker_url": settings.broker_url}
    with LocalServices(settings.home, **given, log=log, stay_s=settings.services_stay_s) as services:
        where = {"database_url": services.database_url, "broker_url": services.broker_url}
        yield settings.model_copy(update=where), services


def _tend(stack: Stack, engine: Engine, crawl: Crawl, stop: threading.Event) -> None:
    """Look after the processes until the crawl has ended, or is to stop. While Postgres is away they wait, as we do."""
    bury_at = 0.0
    while not stop.wait(0.25):
        stack.tend()
        with suppress(ServiceError):
            if find(engine, crawl.name).state != "active":
                return
            if time.monotonic() >= bury_at:
                sweep.end_leases_of_the_dead(engine)
                bury_at = time.monotonic() + 1.0


@contextmanager
def serving(engine: Engine, settings: Settings, services: Services, name: str, log: Log) -> Iterator[None]:
    """Context in which this process serves the crawl of this name: it is paused at the end, unless it has ended.

    Crawls that killed scripts left active are paused, too, and other active ones are set aside meanwhile. All of this
    only where the database is ours.
    """
    if services.password_file is None:
        yield
        return
    home = open_home(services.home)
    ends, resumes = partial(pause_if_active, engine, name), partial(restore, engine)
    with serves.serving(home, name, settings, log, at_end=ends, restore=resumes):
        serves.leave_aside(home, log, pause=partial(pause_if_active, engine), active=partial(active_names, engine))
        yield


def active_names(engine: Engine) -> list[str]:
    with db.transaction(engine) as tx:
        return [crawl.name for crawl in crawls.every(tx) if crawl.state == "active"]


def restore(engine: Engine, name: str) -> None:
    """Resume a crawl that was set aside, unless it was deleted or finished meanwhile."""
    with suppress(InputError):
        resume(engine, name)


def pause_if_active(engine: Engine, name: str) -> None:
    """Pause a crawl, unless there is none, or it is not active."""
    with suppress(InputError):
        pause(engine, name)
