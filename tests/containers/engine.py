"""Finds a container engine, Docker Compose and the images that docker-compose.yml is built on, or says what is missing.

    engine = find_engine()                  # raises NotHere
    engine.docker("kill", container)        # what it printed
    with Network(engine) as network:        # a bridge on which this machine has addresses for a web
        network.web(8)

It pulls nothing and starts no daemon. CONTRIBUTING.md says how to get both.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parents[2]
IMAGE = "tiptoe-test"
OF_FLEET = ("--target", "fleet", "-t", IMAGE)
NAME = "tiptoe-test"  # of the Compose project, the network and its bridge
OFFICIAL = {"python": "python:3.12-slim", "postgres": "postgres:17", "redis": "redis:7"}
STAND_IN = "tiptoe-base-{}"  # tests/containers/base_images.sh
COMMAND_S, BUILD_S = 300.0, 900.0
HOSTS_MOST = 30


class NotHere(Exception):
    """Containers cannot be tried on this machine, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """compose: the command line that Compose answers to.   bases: the image of each name in OFFICIAL."""

    compose: tuple[str, ...]
    bases: dict[str, str]

    def docker(self, *arguments: str) -> str:
        return run("docker", *arguments)

    def build(self) -> str:
        """The image of this checkout. Returns its name."""
        base = f"BASE={self.bases['python']}"
        run("docker", "build", "--network=host", "--build-arg", base, *OF_FLEET, str(ROOT), timeout_s=BUILD_S)
        return IMAGE

    def image_bytes(self, image: str) -> int:
        return int(self.docker("image", "inspect", "--format", "{{.Size}}", image))


def find_engine() -> Engine:
    """Raises NotHere."""
    if os.geteuid() != 0:
        raise NotHere("only root may give the engine's bridge the addresses of a web")
    if not os.environ.get("DOCKER_HOST", "unix://").startswith("unix://"):
        raise NotHere("the engine runs on another machine")
    try:
        run("docker", "version", "--format", "{{.Server.Version}}", timeout_s=30.0)
    except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
        raise NotHere(f"no container engine answers: {error}") from error
    return Engine(compose=_compose(), bases={name: _base(name, image) for name, image in OFFICIAL.items()})


class Network:
    """Context manager: a bridge of the engine, on which this machine has a /27 of addresses for a web."""

    net = "10.232.0"
    subnet = f"{net}.0/24"

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def web(self, hosts: int) -> list[str]:
        assert hosts <= HOSTS_MOST, "one /27"
        return [f"{self.net}.{161 + host}" for host in range(hosts)]

    def __enter__(self) -> Self:
        self._remove()
        containers = ["--subnet", self.subnet, "--ip-range", f"{self.net}.0/25", "--gateway", f"{self.net}.1"]
        self._engine.docker("network", "create", "-o", f"com.docker.network.bridge.name={NAME}", *containers, NAME)
        if not Path(f"/sys/class/net/{NAME}").exists():
            self._remove()
            raise NotHere("the engine's networks are not this machine's")
        run("ip", "route", "add", "local", f"{self.net}.160/27", "dev", NAME)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _remove(self) -> None:
        if self._engine.docker("network", "ls", "--quiet", "--filter", f"name=^{NAME}$"):
            self._engine.docker("network", "rm", NAME)


def run(*argv: str, cwd: Path | None = None, timeout_s: float = COMMAND_S) -> str:
    """A command to its good end. Returns what it printed."""
    done = subprocess.run(
        argv, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s, check=False
    )
    assert done.returncode == 0, f"{' '.join(argv)}: {done.stderr.strip()}"
    return done.stdout.strip()


def find_program(name: str) -> str | None:
    """Beside this Python, where the extra `containers` puts it, or on the PATH."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name)


def _compose() -> tuple[str, ...]:
    program = find_program("docker-compose")
    candidates: list[tuple[str, ...]] = [("docker", "compose"), *([(program,)] if program else [])]
    for candidate in candidates:
        try:
            major = int(run(*candidate, "version", "--short").lstrip("v").partition(".")[0])
        except (AssertionError, ValueError):
            continue
        if major >= 2:
            return candidate
    raise NotHere("no Docker Compose 2 or newer: pip install -e '.[containers]'")


def _base(name: str, official: str) -> str:
    """The registry's image if it has been pulled, else the stand-in."""
    for image in (official, STAND_IN.format(name)):
        if run("docker", "image", "ls", "--quiet", image):
            return image
    raise NotHere(f"the image {official} is not there: pull it, or run tests/containers/base_images.sh")
