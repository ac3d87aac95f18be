"""A RabbitMQ of the tests' own: on loopback, with a node name, ports and a folder that no other uses. Debian:
rabbitmq-server."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

# Debian's command in PATH is a wrapper that changes the user; the script of the package does not.
SCRIPTS = Path("/usr/lib/rabbitmq")
LOG = "rabbitmq.log"
STARTED = b"Server startup complete"
START_S = 90.0


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
        self._process = subprocess.Popen(
            [self._server],
            env=self.env,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        _wait_until_started(self._process, self._folder / LOG)

    def stop(self) -> None:
        """In good order, if it runs: the script ends the node, and then itself."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)

    def kill(self) -> None:
        """Script and node at once, as a machine that loses its power."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
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
    name_server = subprocess.Popen([names, "-port", str(names_port), "-address", "127.0.0.1"], env=node.env)
    try:
        try:
            node.start()
            yield node
        finally:
            node.stop()
    finally:
        name_server.terminate()
        name_server.wait(10)


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
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_CONFIG_FILE": str(folder / "none"),
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
    }


def _wait_until_started(broker: "subprocess.Popen[bytes]", log: Path) -> None:
    """Until it says so, or ends. What it says goes on into the file: it would wait where nobody read it."""
    started = Event()

    def read() -> None:
        assert broker.stdout is not None
        with log.open("wb", buffering=0) as file:
            for line in broker.stdout:
                file.write(line)
                if STARTED in line:
                    started.set()
        started.set()

    Thread(target=read, name="rabbitmq log", daemon=True).start()
    started.wait(START_S)
    said = log.read_bytes()
    assert STARTED in said, f"RabbitMQ did not start:\n{said[-2000:].decode(errors='replace')}"


def _free_ports(n: int) -> list[int]:
    probes = [socket.socket() for _ in range(n)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()
