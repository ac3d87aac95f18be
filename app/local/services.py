"""The services that a command on one machine needs: those that are configured, and our own for the rest.

    with LocalServices(settings.home, database_url=None, broker_url=None, log=print) as services:
        services.database_url, services.broker_url

Several commands may do so at once in the same home: the first starts the servers, the last one out stops
them, killed commands count as gone (`app.local.running`). What lies where on disk: `app.local.home`. Nothing
is said here about a configured service; whoever connects checks that.
"""

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from app.local.home import Log, open_home
from app.local.postgres import Postgres
from app.local.running import Running, join_or_start
from app.local.valkey import Valkey


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Where to connect.

    database_url: postgresql://…, password included.   broker_url: redis://… or what was configured.
    home: absolute.   data_dir: the embedded Postgres' files; home if it is not ours.
    started: names of what we started, as opposed to joined.
    """

    database_url: str = field(repr=False)
    broker_url: str = field(repr=False)
    home: Path
    data_dir: Path
    started: tuple[str, ...]


class LocalServices:
    """Context manager: `Services` within, our shares given up after. Raises ServiceError, SettingError."""

    def __init__(self, home: Path, *, database_url: str | None, broker_url: str | None, log: Log) -> None:
        self._home = home
        self._database_url = database_url
        self._broker_url = broker_url
        self._log = log
        self._shares = ExitStack()

    def __enter__(self) -> Services:
        with ExitStack() as shares:
            database = None if self._database_url else shares.enter_context(start_postgres(self._home, self._log))
            broker = None if self._broker_url else shares.enter_context(start_valkey(self._home, self._log))
            home = self._home.resolve()
            services = Services(
                database_url=self._database_url or _url(database),
                broker_url=self._broker_url or _url(broker),
                home=home,
                data_dir=data_dir(home) if database else home,
                started=_started(postgres=database, valkey=broker),
            )
            self._shares = shares.pop_all()
        return services

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shares.close()


def start_postgres(home: Path, log: Log) -> Running:
    """A share in the home's Postgres alone, started if need be: a context manager, or call `release()`."""
    opened = open_home(home)
    return join_or_start(Postgres(opened), opened, log)


def start_valkey(home: Path, log: Log) -> Running:
    """The same for Valkey."""
    opened = open_home(home)
    return join_or_start(Valkey(opened), opened, log)


def data_dir(home: Path) -> Path:
    """Where the home's embedded Postgres keeps its files. It must have been started once."""
    return Postgres(open_home(home)).data


def _url(running: Running | None) -> str:
    assert running is not None
    return running.url


def _started(**shares: Running | None) -> tuple[str, ...]:
    return tuple(name for name, share in shares.items() if share is not None and share.started)
