"""The embedded Valkey, our broker. It keeps nothing on disk, for Postgres is the truth.

It listens on 127.0.0.1 alone behind a random password that lies in its configuration file (0600), never on a
command line. We recognise our server by its working directory, which it reports over the connection.
"""

import os
import secrets
import signal
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from app.local.binaries import fingerprint, valkey_program
from app.local.home import Home, Log
from app.local.running import clear_orphans, free_port
from app.local.supervisor import Recipe

CONF = """\
# Written by tiptoe at each start.
bind 127.0.0.1
port {port}
requirepass {password}
dir "{folder}"
logfile ""
loglevel warning
databases 64
save ""
appendonly no
maxmemory-policy noeviction
tcp-backlog 128
tcp-keepalive 60
"""


class Valkey:
    """The Valkey of a home, a `Server` for `app.local.running`."""

    name = "valkey"

    def __init__(self, home: Home) -> None:
        self._home = home
        self._folder = home.root / "valkey"

    def url(self) -> str:
        facts = self._home.recall(self.name)
        return f"redis://:{facts['password']}@127.0.0.1:{facts['port']}/0"

    def prepare(self, log: Log) -> Recipe:
        program = valkey_program()
        self._folder.mkdir(mode=0o700, exist_ok=True)
        clear_orphans(self._folder, None, signal.SIGTERM, log)
        port, password = free_port(self._home.recall(self.name).get("port")), secrets.token_urlsafe(24)
        self._home.remember(self.name, {"port": port, "password": password})
        return Recipe(
            argv=(str(program), str(self._configure(port, password))),
            cwd=str(self._folder),
            user=None,
            group=None,
            stop_signal=signal.SIGTERM,
            stop_s=10.0,
            log=str(self._home.logs / "valkey.log"),
            users=str(self._home.run / "valkey.users"),
            keeper=str(self._home.run / "valkey.keeper"),
        )

    def is_ready(self) -> bool:
        facts = self._home.recall(self.name)
        client = redis.Redis(
            port=facts["port"],
            password=facts["password"],
            socket_timeout=5,
            retry=Retry(NoBackoff(), 0),  # our caller retries; the default waits seconds between tries
            decode_responses=True,
        )
        try:
            return bool(client.config_get("dir") == {"dir": str(self._folder)})
        except redis.RedisError:
            return False
        finally:
            client.close()

    def furnish(self) -> None:
        """Do nothing: it needs no contents."""

    def version(self) -> str:
        return fingerprint(CONF, valkey_program())

    def _configure(self, port: int, password: str) -> Path:
        path = self._folder / "valkey.conf"
        path.unlink(missing_ok=True)
        folder = str(self._folder).replace("\\", "\\\\").replace('"', '\\"')
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(CONF.format(port=port, password=password, folder=folder))
        return path
