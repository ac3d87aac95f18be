"""Fixtures for every room: a real Postgres and a real Valkey, one pair per process.

services: both, in a home of their own.   make_database(): URL of a fresh, migrated, empty database.
database_url: one for the test module.   broker_url: an empty Redis database for the test.
rabbitmq_url: a real RabbitMQ without queues; a test that wants it is skipped where none is installed.
No test sees the TIPTOE_ variables of whoever runs it; commands leave no services running.
"""

import atexit
import functools
import gc
import importlib.metadata
import itertools
import os
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import hypothesis
import psycopg
import pytest
import redis
import structlog
from kombu import Connection
from psycopg import sql

from app.config import load
from app.local.home import Home, open_home
from app.local.services import LocalServices, Services
from tests import rabbitmq
from tests.examples import IS_FULL, examples
from tests.quick_disk import quick_folder

if TYPE_CHECKING:
    from tests.databases import Databases

REDIS_DATABASES = 64  # app.local.services
LOOK_FOR_GARBAGE_AFTER = 20_000  # objects; Python's 700 cost the tests a fiftieth of their time

hypothesis.settings.register_profile("tests", max_examples=examples(100), deadline=None, derandomize=IS_FULL)
hypothesis.settings.load_profile("tests")

# What a shell has us ignore, all that a test starts and signals would ignore too: SIGINT of `make test &`, SIGHUP of
# `nohup make test`. A handler is not inherited, and this one still ignores SIGHUP: we outlive the terminal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


def _configure(configure: Callable[..., None], **options: object) -> None:
    configure(**options | {"cache_logger_on_first_use": False})


# No logger keeps the set-up that its first line found, which may be another test's.
structlog.configure = partial(_configure, structlog.configure)
# A traceback with all local variables in colours takes 2 s of CPU where a worker is among them; ours are plain, too.
structlog.dev.ConsoleRenderer.get_active().exception_formatter = structlog.dev.plain_traceback

# A worker says which version it is: a thousand of them would read the file of an installed package as often.
importlib.metadata.version = functools.cache(importlib.metadata.version)

for _name in [name for name in os.environ if name.startswith("TIPTOE_")]:
    del os.environ[_name]
os.environ["TIPTOE_CONSTANT_SERVICES_STAY_S"] = "0"  # what a test starts ends with it


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Ten thousand cases are no garbage: to look among them again and again doubles the time of collecting them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # and for good: to look among them once more at the end of each process takes 2 s of CPU
        atexit.register(gc.freeze)
        gc.set_threshold(LOOK_FOR_GARBAGE_AFTER, *gc.get_threshold()[1:])
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what drives a browser as acceptance, which `make faults-quick` runs: it takes a minute of two cores. Tests
    of `doctor` and of pictures stay."""
    for item in items:
        if item.path.parent.name in {"browser", "render", "web"} and "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.acceptance)


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """No test's log is set up by another: a command that ran in this process would silence lines that it looks for."""
    yield
    structlog.reset_defaults()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, object]:
    """Each process of xdist begins a folder at another module. In a clean tree each compiles a share of them, and finds
    the others' bytecode: in step, they would compile much of the same. To compile all takes 5 s of CPU."""
    report = yield
    modules = [each for each in report.result or () if isinstance(each, pytest.Module)]
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    of = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    begin = len(modules) * number // of
    for module in modules[begin:] + modules[:begin] if of > 1 else ():
        with suppress(Exception, pytest.skip.Exception):  # its own collection says so
            _ = module.obj
    return report


@pytest.fixture(scope="session")
def reachable_tmp() -> Iterator[Path]:
    """A temporary folder for services, which `nobody` can reach."""
    with quick_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def services(reachable_tmp: Path) -> Iterator[Services]:
    with LocalServices(reachable_tmp / "home", database_url=None, broker_url=None, log=print) as running:
        _be_quick(open_home(reachable_tmp / "home"))
        yield running


@pytest.fixture(scope="session")
def databases(services: Services) -> "Databases":
    """Those of this process."""
    from tests.databases import Databases  # with sqlalchemy, which not every room needs

    return Databases(services.database_url)


@pytest.fixture(scope="session")
def make_database(databases: "Databases") -> Callable[[], str]:
    """Call it for the URL of a new database, a copy of one that was migrated once."""
    return databases.make


@pytest.fixture(scope="module")
def database_url(databases: "Databases") -> Iterator[str]:
    yield databases.lend()
    databases.take_back()


@pytest.fixture(scope="session")
def _redis_numbers() -> Iterator[int]:
    return itertools.cycle(range(1, REDIS_DATABASES))


@pytest.fixture
def broker_url(services: Services, _redis_numbers: Iterator[int]) -> str:
    url = urlunsplit(urlsplit(services.broker_url)._replace(path=f"/{next(_redis_numbers)}"))
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url


@pytest.fixture(scope="session")
def _rabbitmq(reachable_tmp: Path) -> Iterator[str]:
    folder = reachable_tmp / "rabbitmq"
    folder.mkdir()
    with rabbitmq.run(folder) as node:
        yield node.url


@pytest.fixture
def rabbitmq_url(_rabbitmq: str) -> Iterator[str]:
    yield _rabbitmq
    with Connection(_rabbitmq) as connection:
        for name in ("maintenance", "extract", *load(broker_url=_rabbitmq).queue_names):
            connection.default_channel.queue_delete(name)


def _be_quick(home: Home) -> None:
    """Postgres need not keep a test's rows through a power cut; nor reuse their room, so that rows stand as they
    came."""
    known = home.recall("postgres")
    admin = {"user": "postgres", "password": known["admin_password"], "dbname": "postgres"}
    with psycopg.connect(host="127.0.0.1", port=known["port"], autocommit=True, **admin) as connection:
        for setting in ("fsync", "full_page_writes", "synchronous_commit", "autovacuum"):
            connection.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(setting)))
        connection.execute("SELECT pg_reload_conf()")
        # 4,096 rounds of a hash are most of a connection's time, and each test has some.
        connection.execute("SET scram_iterations = 1")
        connection.execute(sql.SQL("ALTER ROLE tiptoe PASSWORD {}").format(sql.Literal(known["password"])))
