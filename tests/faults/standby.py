"""A streaming replica of the tests' Postgres, made by pg_basebackup: it follows, may be cut off, and takes over.

with Standby(rig.postgres, data, is_sync=False) as standby:
    url = standby.either(rig.database_url)     # both hosts, whichever of them writes
    standby.cut()                              # it hears no more of what the primary does
    rig.postgres.kill()
    standby.promote()                          # returns when it takes writes
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg.conninfo import make_conninfo

from app.local.running import free_port
from app.local.supervisor import Recipe, server_environment
from tests.faults.servers import OwnPostgres, OwnServer, conf
from tests.faults.waiting import until

BACKUP_S = 120.0
NAME = "standby"


class _Replica:
    """A `Server` of app.local.running: the copy of a primary that runs."""

    name = NAME

    def __init__(self, primary: OwnPostgres, data: Path) -> None:
        self._primary, self.data, self.port = primary, data, free_port(None)

    @property
    def admin(self) -> str:
        return make_conninfo("", **{**self._primary.admin(), "port": str(self.port)}, connect_timeout=5)

    def version(self) -> str:
        return ""

    def prepare(self, log: Callable[[str], None]) -> Recipe:
        of = self._primary.recipe
        self.data.mkdir(mode=0o700)
        if of.user is not None and of.group is not None:
            os.chown(self.data, of.user, of.group)
        program = self._primary.program("pg_basebackup")
        assert program is not None
        subprocess.run(
            [program, "-d", make_conninfo("", **self._primary.admin()), "-D", self.data, "-c", "fast", "-X", "stream"],
            user=of.user,
            group=of.group,
            extra_groups=[] if of.user is not None else None,
            env=server_environment(os.environ),
            cwd="/",
            timeout=BACKUP_S,
            check=True,
        )
        (self.data / "standby.signal").touch()
        self.follow(make_conninfo("", **self._primary.admin(), application_name=NAME))
        return Recipe(
            argv=(of.argv[0], "-D", str(self.data), "-p", str(self.port)),
            cwd=str(self.data),
            user=of.user,
            group=of.group,
            stop_signal=of.stop_signal,
            stop_s=of.stop_s,
            log=str(self.data.with_suffix(".log")),
            users="",
            keeper="",
        )

    def follow(self, whom: str) -> None:
        """The address to stream from; empty: nobody."""
        (self.data / "yours.conf").write_text(conf(primary_conninfo=whom))

    def is_ready(self) -> bool:
        try:
            psycopg.connect(self.admin).close()
        except psycopg.OperationalError:
            return False
        return True

    def furnish(self) -> None:
        """The primary is."""

    def url(self) -> str:
        return self.admin


class Standby(OwnServer):
    """data: a new folder for it, gone after.   is_sync: the primary's commits wait for it."""

    def __init__(self, primary: OwnPostgres, data: Path, *, is_sync: bool) -> None:
        self._replica = _Replica(primary, data)
        self._primary, self._is_sync = primary, is_sync
        super().__init__(self._replica)

    def either(self, database_url: str) -> str:
        """The URL of that database on whichever of the two takes writes."""
        parts = urlsplit(database_url)
        hosts = f"host=127.0.0.1,127.0.0.1&port={parts.port},{self._replica.port}&target_session_attrs=read-write"
        return urlunsplit(parts._replace(netloc=f"{parts.username}:{parts.password}@", query=hosts))

    def cut(self) -> None:
        """It does not follow any more; the primary does not wait for it."""
        self._replica.follow("")
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)
        until(lambda: not self._followers(), "the standby is cut off")

    def promote(self) -> None:
        with psycopg.connect(self._replica.admin, autocommit=True) as connection:
            assert connection.execute("SELECT pg_promote()").fetchone() == (True,)

    def __enter__(self) -> Self:
        super().__enter__()
        state = "sync" if self._is_sync else "async"
        if self._is_sync:
            self._primary.configure(synchronous_standby_names=NAME)
        until(lambda: self._followers() == [("streaming", state)], f"the standby follows, {state}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._primary.configure()
        super().__exit__(kind, error, trace)
        shutil.rmtree(self._replica.data)

    def _followers(self) -> list[tuple[str, str]]:
        with psycopg.connect(make_conninfo("", **self._primary.admin())) as connection:
            return connection.execute("SELECT state, sync_state FROM pg_stat_replication").fetchall()
