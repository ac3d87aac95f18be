"""A Postgres and a Valkey of the tests' own that may be hurt: the embedded ones of `app.local`, run without their
keepers, so that nobody starts them again but the test. They keep their ports, passwords and (Postgres alone) data."""

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

import psycopg
import redis
from psycopg import sql

from app.local.children import spawn, stop
from app.local.home import open_home
from app.local.postgres import Postgres
from app.local.running import Server
from app.local.services import Valkey
from app.local.supervisor import Recipe, server_environment
from app.store.migrate import upgrade
from tests.faults.waiting import until

TEMPLATE = "faults_template"
NOTHING: Mapping[str, str] = MappingProxyType({})


class OwnServer:
    """One server. Context manager: it runs within, unless a test says otherwise, and is gone after.

    env: what it finds in its environment besides
    """

    def __init__(self, server: Server, env: Mapping[str, str] = NOTHING) -> None:
        self._server, self._env = server, env
        self._recipe = server.prepare(print)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return self._server.url()

    def start(self) -> None:
        """Returns when it answers. Nothing happens if it runs."""
        if not self.is_up():
            recipe = self._recipe
            self._process = spawn(
                recipe.argv,
                env={**server_environment(os.environ), **self._env},
                log_path=Path(recipe.log),
                death_signal=recipe.stop_signal,
                user=recipe.user,
                group=recipe.group,
                cwd=Path(recipe.cwd),
            )
        until(lambda: self._server.is_ready() or not self.is_up(), f"{self._server.name} answers")
        assert self.is_up(), f"{self._server.name} does not start: see {self._recipe.log}"

    def is_up(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def strike(self, number: signal.Signals) -> None:
        """A signal to its leader that ends it; returns when all its processes are gone."""
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait()
        until(lambda: not self.processes(), f"{self._server.name} is gone")

    def kill(self) -> None:
        """kill -9, and nothing is kept that was not."""
        self.strike(signal.SIGKILL)

    def freeze(self) -> None:
        """SIGSTOP to all its processes: it holds its connections and says nothing."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal_all(signal.SIGCONT)

    def processes(self) -> list[int]:
        """Whatever works in its folder."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (entry / "cwd").readlink() == Path(self._recipe.cwd):
                    found.append(int(entry.name))
        return found

    def _signal_all(self, number: signal.Signals) -> None:
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def __enter__(self) -> Self:
        self.start()
        self._server.furnish()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self.thaw()
            stop(self._process, signal=self._recipe.stop_signal, timeout_s=self._recipe.stop_s)


def conf(**settings: str) -> str:
    """A yours.conf: these, on a server that may have standbys."""
    lines = {"wal_level": "replica", "max_wal_senders": "4", **settings}
    return "".join(f"{name} = '{value}'\n" for name, value in lines.items())


class OwnPostgres(OwnServer):
    """crash(): `pg_ctl stop -m immediate`. It may have standbys (tests.faults.standby)."""

    def __init__(self, home: Path, env: Mapping[str, str] = NOTHING) -> None:
        self._home = open_home(home)
        super().__init__(Postgres(self._home), env)
        self._databases = 0
        self.configure()

    @property
    def recipe(self) -> Recipe:
        return self._recipe

    def program(self, name: str) -> Path | None:
        """pg_dump and the like, of the server's own version; None: there is none beside it."""
        found = Path(self._recipe.argv[0]).with_name(name)
        return found if found.exists() else None

    def configure(self, **settings: str) -> None:
        """Nothing but these, from now on, beyond what Tiptoe sets. What only a start can change is changed by the next
        one."""
        (Path(self._recipe.cwd) / "yours.conf").write_text(conf(**settings))
        if self.is_up():
            assert self._process is not None
            self._process.send_signal(signal.SIGHUP)

    def admin(self) -> Mapping[str, str]:
        """How its superuser connects: libpq's parameters."""
        facts = self._home.recall("postgres")
        return {
            "host": "127.0.0.1",
            "port": str(facts["port"]),
            "user": "postgres",
            "password": facts["admin_password"],
            "dbname": "postgres",
        }

    def crash(self) -> None:
        """Every backend is torn off at once, whatever it is at; the next start recovers from the log."""
        self.strike(signal.SIGQUIT)  # server-shutdown.html: immediate shutdown

    def make_database(self) -> str:
        """URL of a new, migrated, empty database."""
        if not self._databases:
            upgrade(self.create_database(TEMPLATE, None))
        self._databases += 1
        return self.create_database(f"faults_{self._databases}", TEMPLATE)

    def drop_database(self, url: str) -> None:
        """Whoever is connected to it is torn off."""
        drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(url.rpartition("/")[2]))
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(drop)

    def create_database(self, name: str, template: str | None) -> str:
        """Its URL. template None: without any table."""
        create = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name))
        if template:
            create += sql.SQL(" TEMPLATE {} STRATEGY file_copy").format(sql.Identifier(template))
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(create)
        return self.url.rpartition("/")[0] + f"/{name}"


class OwnValkey(OwnServer):
    def __init__(self, home: Path) -> None:
        super().__init__(Valkey(open_home(home)))

    def client(self) -> "redis.Redis":
        return redis.Redis.from_url(self.url)
