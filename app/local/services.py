"""Provides the services that a command on one machine needs: the configured ones, else our own.

    with LocalServices(settings.home, database_url=None, broker_url=None, log=print) as services:
        services.database_url, services.broker_url

Several commands may do so at once in one home: the first starts the servers, the last one stops them or leaves them
running for `stay_s`, killed commands count as gone (`app.local.running`). `app.local.home` has the layout on disk. A
configured service is not checked here but by the code that connects.
"""

import os
import secrets
import signal
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from urllib.parse import quote, urlsplit

from app.errors import SettingError
from app.local.home import MAKES_IT, Home, Log, find_home, open_home
from app.local.postgres import Postgres
from app.local.running import Running, clear_orphans, fingerprint, free_port, join_or_start, valkey_program
from app.local.supervisor import Recipe
from app.words import without_password


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Addresses and files of the services.

    database_url: postgresql://…, password included.   broker_url: redis://… or what was configured.
    home: absolute.   data_dir: the embedded Postgres' files; home if it is not ours.
    started: names of what we started, as opposed to joined.
    password_file: where libpq finds the embedded Postgres' password (0600); None for a configured one.
    """

    database_url: str = field(repr=False)
    broker_url: str = field(repr=False)
    home: Path
    data_dir: Path
    started: tuple[str, ...]
    password_file: Path | None = None

    @property
    def shown_database_url(self) -> str:
        """URL fit to be printed, and to connect with from this machine: it names the file that holds the password."""
        bare = without_password(self.database_url)
        return f"{bare}?passfile={quote(str(self.password_file), safe='')}" if self.password_file else bare

    @property
    def shown_broker_url(self) -> str:
        """URL fit to be printed. The embedded broker's password is in services.json of home."""
        return without_password(self.broker_url)


class LocalServices:
    """Context manager: `Services` within, our shares given up after. Raises ServiceError, SettingError."""

    def __init__(
        self, home: Path, *, database_url: str | None, broker_url: str | None, log: Log, stay_s: float = 0.0
    ) -> None:
        self._home = home
        self._database_url = database_url
        self._broker_url = broker_url
        self._log = log
        self._stay_s = stay_s
        self._shares = ExitStack()

    def __enter__(self) -> Services:
        with ExitStack() as shares:
            given = (self._home, self._log)
            database = broker = None
            if not self._database_url:
                database = shares.enter_context(start_postgres(*given, stay_s=self._stay_s))
            if not self._broker_url:
                broker = shares.enter_context(start_valkey(*given, stay_s=self._stay_s))
            home = self._home.resolve()
            services = Services(
                database_url=self._database_url or _url(database),
                broker_url=self._broker_url or _url(broker),
                home=home,
                data_dir=data_dir(home) if database else home,
                started=_started(postgres=database, valkey=broker),
                password_file=write_password_file(home, database.url) if database else None,
            )
            self._shares = shares.pop_all()
        return services

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shares.close()


def start_postgres(home: Path, log: Log, *, makes: bool = True, stay_s: float = 0.0) -> Running:
    """Take a share in the home's Postgres alone, started if need be: a context manager, or call `release()`.

    makes: a home, or its database, that is not there. Raises SettingError where it is not, and may not be made.
    stay_s: how long it runs on without a user"""
    opened = open_home(home) if makes else find_home(home)
    if not makes and not has_database(home):
        raise SettingError(f"TIPTOE_HOME={str(home)!r}", f"holds no database yet; {MAKES_IT}")
    return join_or_start(Postgres(opened), opened, log, stay_s=stay_s)


def has_database(home: Path) -> bool:
    """Whether the home's Postgres was started once."""
    return home.is_dir() and bool(Home(root=home.resolve()).recall(Postgres.name))


def start_valkey(home: Path, log: Log, *, stay_s: float = 0.0) -> Running:
    """Take a share in the home's Valkey alone, started if need be."""
    opened = open_home(home)
    return join_or_start(Valkey(opened), opened, log, stay_s=stay_s)


def write_password_file(home: Path, url: str) -> Path:
    """Write `pgpass` in home, for psql and other clients of libpq (libpq-pgpass.html). Returns its path."""
    parts = urlsplit(url)
    line = f"{parts.hostname}:{parts.port}:*:{parts.username}:{parts.password}\n"
    path = home / "pgpass"
    if not path.exists() or path.read_text() != line:
        descriptor, draft = tempfile.mkstemp(dir=home, prefix="pgpass.")  # mode 0600
        with os.fdopen(descriptor, "w") as file:
            file.write(line)
        Path(draft).replace(path)
    return path


def data_dir(home: Path) -> Path:
    """The data folder of the home's embedded Postgres, which must have been started once."""
    return Postgres(open_home(home)).data


def _url(running: Running | None) -> str:
    assert running is not None
    return running.url


def _started(**shares: Running | None) -> tuple[str, ...]:
    return tuple(name for name, share in shares.items() if share is not None and share.started)


# The embedded Valkey, our broker. It keeps nothing on disk, for Postgres is the truth.
#
# It listens on 127.0.0.1 alone behind a random password that lies in its configuration file (0600), never on a
# command line. We recognise our server by its working directory, which it reports over the connection.


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
        password, port = (self._home.fact(self.name, each) for each in ("password", "port"))
        return f"redis://:{password}@127.0.0.1:{port}/0"

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
        import redis  # a tenth of what a question in the terminal takes: most need only Postgres
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        client = redis.Redis(
            port=int(self._home.fact(self.name, "port")),
            password=self._home.fact(self.name, "password"),
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
