"""A PgBouncer of our own before a Postgres, in transaction mode. Debian: pgbouncer."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from app.local.running import free_port

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
PATIENCE_S = 30.0


@contextmanager
def pgbouncer(folder: Path, server: str, **settings: str) -> Iterator[int]:
    """One before this Postgres, two server connections for all unless said. As root it runs as nobody. Its port."""
    assert PGBOUNCER is not None
    where, port = urlsplit(server), free_port(None)
    lines = {
        "listen_addr": "127.0.0.1",
        "listen_port": str(port),
        "unix_socket_dir": "",
        "auth_type": "any",
        "pool_mode": "transaction",
        "default_pool_size": "2",
        "max_client_conn": "200",
        **settings,
    }
    folder.mkdir(exist_ok=True)
    ini = folder / f"pgbouncer-{port}.ini"
    ini.write_text(
        f"[databases]\n* = host={where.hostname} port={where.port} user={where.username} password={where.password}\n"
        "[pgbouncer]\n" + "".join(f"{name} = {value}\n" for name, value in lines.items())
    )
    ini.chmod(0o644)
    with (folder / f"pgbouncer-{port}.log").open("wb") as log:
        process = subprocess.Popen(
            [PGBOUNCER, str(ini)], stdout=log, stderr=log, user="nobody" if os.geteuid() == 0 else None
        )
    try:
        _await_port(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def _await_port(port: int, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise AssertionError(f"pgbouncer does not listen (ended: {process.poll()})")


def through(port: int, url: str, parameters: str = "", address: str = "127.0.0.1") -> str:
    """The URL of a database by way of the pooler, which listens on `address`."""
    where = urlsplit(url)
    return urlunsplit(where._replace(netloc=f"{where.username}:x@{address}:{port}", query=parameters))
