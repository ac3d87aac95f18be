"""docker-compose.yml as a user runs it: copied into a folder of its own beside a .env, and `docker compose` called
there.

A docker-compose.override.yml, which Compose reads by itself, changes only what a test needs: the images' names, the
published ports, the network, and that each worker process tells the web a name of its own.
"""

import json
import shutil
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg
import yaml
from psycopg.rows import dict_row

from app.config.constants import variable
from tests.containers.engine import NAME, ROOT, Engine, run
from tests.faults.log_judge import Fault

OURS = ("migrate", "beat", "worker", "flower", "web")
STARTED = ("beat", "worker", "flower", "web")  # with what they need; Prometheus' and Grafana's images may not be here
PASSWORD = "onlyfortests"
NAMED_WORKER = "TIPTOE_PURPOSE=$$(cat /proc/sys/kernel/random/uuid) exec celery -A app worker"
WAITING = "SELECT DISTINCT h.name FROM hosts h JOIN urls u ON u.host_id = h.id WHERE u.state = 'queued'"


class Stack:
    """Context manager: removes what an earlier run left, and at the end everything, volumes included."""

    def __init__(self, folder: Path, engine: Engine, image: str, settings: Mapping[str, object], workers: int) -> None:
        self._folder, self._engine, self._workers = folder, engine, workers
        self.flower_port, self.web_port, self._postgres_port = _free_ports(3)
        self.faults: list[Fault] = []
        passwords = {f"{name}_PASSWORD": PASSWORD for name in ("POSTGRES", "REDIS", "FLOWER", "GRAFANA")}
        lines = {**passwords, **{variable(name): value for name, value in settings.items()}}
        (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        shutil.copy(ROOT / "docker-compose.yml", folder)
        (folder / "docker-compose.override.yml").write_text(self._override(image))

    def compose(self, *arguments: str) -> str:
        return run(*self._engine.compose, "--project-name", NAME, *arguments, cwd=self._folder)

    def up(self, *options: str) -> None:
        """`docker compose up` with its workers. Returns when all are started, with --wait when all are healthy."""
        self.compose("up", "--detach", "--no-build", "--scale", f"worker={self._workers}", *options, *STARTED)

    def down(self, *options: str) -> None:
        self.compose("down", "--timeout", "60", *options)

    def containers(self, service: str) -> list[str]:
        """IDs of the service's containers that run."""
        return self.compose("ps", "--quiet", "--status", "running", service).split()

    def inspect(self, container: str) -> dict[str, Any]:
        found: list[dict[str, Any]] = json.loads(self._engine.docker("inspect", container))
        return found[0]

    def health(self) -> dict[str, str]:
        """The state of each container that has a health check, by its name."""
        listed = [json.loads(line) for line in self.compose("ps", "--format", "json").splitlines()]
        return {each["Name"]: each["Health"] for each in listed if each["Service"] != "migrate"}

    def tiptoe(self, *arguments: str) -> str:
        """A command in a container of its own, as the head of docker-compose.yml says. Returns what it printed."""
        return self.compose("run", "--rm", "-T", "worker", "tiptoe", *arguments)

    def sql(self, query: str, *values: object) -> list[dict[str, Any]]:
        """Raises psycopg.OperationalError while Postgres is away."""
        url = f"postgresql://tiptoe:{PASSWORD}@127.0.0.1:{self._postgres_port}/tiptoe"
        with psycopg.connect(url, autocommit=True, row_factory=dict_row, connect_timeout=5) as connection:
            return connection.execute(query, values or None).fetchall()

    def is_finished(self) -> bool:
        return not self.sql("SELECT name FROM crawls WHERE state <> 'finished'")

    @contextmanager
    def fault(self, name: str, *, total: bool = False) -> Iterator[None]:
        """It lasts as long as the block. total: nobody can crawl meanwhile."""
        waiting, begin = frozenset(row["name"] for row in self.sql(WAITING)), time.monotonic()
        yield
        self.faults.append(Fault(name=name, begin=begin, end=time.monotonic(), waiting=waiting, is_total=total))

    def __enter__(self) -> Self:
        self._remove()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            print(self.compose("ps", "--all"), self.compose("logs", "--no-color", "--tail", "40"), sep="\n")
        self._remove()

    def _remove(self) -> None:
        self.down("--volumes", "--remove-orphans")

    def _override(self, image: str) -> str:
        bases = self._engine.bases
        services: dict[str, dict[str, Any]] = {name: {"image": image} for name in OURS}
        services["postgres"] = {"image": bases["postgres"], "ports": _Instead([f"{self._postgres_port}:5432"])}
        services["redis"] = {"image": bases["redis"]}
        services["worker"]["command"] = ["sh", "-c", NAMED_WORKER]
        services["flower"]["ports"] = _Instead([f"{self.flower_port}:5555"])
        services["web"]["ports"] = _Instead([f"{self.web_port}:8800"])
        network = {"default": {"name": NAME, "external": True}}
        return str(yaml.dump({"services": services, "networks": network}, Dumper=_Dumper))


class _Instead(list[str]):
    """Ports on loopback, instead of those that the file publishes."""


class _Dumper(yaml.SafeDumper):
    """Writes Compose's tag !override."""


_Dumper.add_representer(
    _Instead,
    lambda dumper, ports: dumper.represent_sequence("!override", [f"127.0.0.1:{port}" for port in ports]),
)


def _free_ports(n: int) -> list[int]:
    with ExitStack() as probes:
        found = [probes.enter_context(socket.socket()) for _ in range(n)]
        for probe in found:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in found]
