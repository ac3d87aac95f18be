"""A RabbitMQ of the tests' own: on loopback, with a node name, ports and a folder that no other uses. Debian:
rabbitmq-server."""

import os
import random
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest

from app.local.children import spawn, stop
from tests.faults.waiting import until

# Debian's command in PATH is a wrapper that changes the user; the script of the package does not.
SCRIPTS = Path("/usr/lib/rabbitmq")
LOG = "rabbitmq.log"
STARTED = b"Server startup complete"
START_S, STOP_S = 90.0, 60.0


def script() -> Path | None:
    """RabbitMQ's start script, None where it is not installed."""
    packaged = sorted(SCRIPTS.glob("lib/rabbitmq_server-*/sbin/rabbitmq-server"))
    found = shutil.which("rabbitmq-server")
    return packaged[-1] if packaged else Path(found) if found else None


class Node:
    """A RabbitMQ that can die and come back, at the same URL. What it knows is in `data`."""

    def __init__(self, server: Path, folder: Path, *, names_port: int) -> None:
        port, nodes_port = _free_ports(2)
        self.url = f"amqp://guest:guest@127.0.0.1:{port}//"
        self.data = folder / "data"
        self.env = _environment(folder, port=port, names_port=names_port, nodes_port=nodes_port)
        self._server, self._folder = server, folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when it answers."""
        log = self._folder / LOG
        log.touch()
        starts = log.read_bytes().count(STARTED)
        self._process = node = _spawned(self._server, self.env, log)
        until(lambda: log.read_bytes().count(STARTED) > starts or node.poll() is not None, "RabbitMQ starts", START_S)
        said = log.read_bytes()
        assert said.count(STARTED) > starts, f"RabbitMQ did not start:\n{said[-2000:].decode(errors='replace')}"

    def stop(self) -> None:
        """In good order, if it runs."""
        if self._process is not None:
            stop(self._process, signal=signal.SIGTERM, timeout_s=STOP_S)

    def kill(self) -> None:
        """As a machine that loses its power."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(10)


@contextmanager
def run(folder: Path) -> Iterator[Node]:
    """While it runs. Skips the test where RabbitMQ, or Erlang's name server, is not installed."""
    server, names = script(), shutil.which("epmd")
    if server is None or names is None:
        pytest.skip("RabbitMQ is not installed (Debian and Ubuntu: the package rabbitmq-server)")
    (names_port,) = _free_ports(1)
    node = Node(server, folder, names_port=names_port)
    # The server would start a name server that outlives it.
    name_server = _spawned(names, node.env, folder / "names.log", "-port", str(names_port), "-address", "127.0.0.1")
    try:
        try:
            node.start()
            yield node
        finally:
            node.stop()
    finally:
        stop(name_server, signal=signal.SIGTERM, timeout_s=STOP_S)


def _environment(folder: Path, *, port: int, names_port: int, nodes_port: int) -> dict[str, str]:
    return {
        **os.environ,
        "HOME": str(folder),  # where Erlang keeps its cookie
        "ERL_EPMD_PORT": str(names_port),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_CRASH_DUMP_SECONDS": "0",
        "RABBITMQ_NODENAME": f"tiptoe-test-{os.getpid()}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(nodes_port),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1} +sbwt none +S 1:1",
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_CONFIG_FILE": str(folder / "none"),
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RUNNING_UNDER_SYSTEMD": "true",  # the script becomes the node: our death would not be passed on by it
    }


def _spawned(program: str | Path, env: dict[str, str], log: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """A process that is killed when we are."""
    return spawn([str(program), *arguments], env=env, log_path=log, death_signal=signal.SIGKILL, cwd=log.parent)


def _free_ports(n: int) -> list[int]:
    """Below those that connections get by themselves: a node that comes back finds its own free."""
    given = Path("/proc/sys/net/ipv4/ip_local_port_range")
    least = max(20_000, int(given.read_text().split()[0]) if given.exists() else 32_768)
    return list(islice(filter(_is_free, random.sample(range(10_000, least), 1_000)), n))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
