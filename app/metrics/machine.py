"""The memory that a process may use, and what is left of it: its container's (cgroup v2), or else the machine's."""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

CGROUP = Path("/sys/fs/cgroup")
PROC = Path("/proc")


class Memory(NamedTuple):
    """Bytes."""

    limit: int
    available: int


def memory(cgroup: Path = CGROUP, proc: Path = PROC) -> Memory | None:
    """The memory of the container where it is less than the machine's, else of the machine. None: neither tells."""
    machine = _machine(proc)
    container = _container(cgroup)
    if container is None or (machine is not None and container.limit >= machine.limit):
        return machine
    return container


def _machine(proc: Path) -> Memory | None:
    with suppress(OSError, KeyError, ValueError):
        lines = (line.partition(":") for line in (proc / "meminfo").read_text().splitlines())
        kib = {name: int(rest.split()[0]) for name, _, rest in lines}
        return Memory(kib["MemTotal"] * 1024, kib["MemAvailable"] * 1024)
    return None


def _container(cgroup: Path) -> Memory | None:
    """A container sees its own group as the root. Its page cache is counted as used; what is idle can be had again."""
    with suppress(OSError, KeyError, ValueError):
        limit = int((cgroup / "memory.max").read_text())  # "max": there is none
        used = int((cgroup / "memory.current").read_text())
        stat = dict(line.split() for line in (cgroup / "memory.stat").read_text().splitlines())
        return Memory(limit, max(limit - used + int(stat["inactive_file"]), 0))
    return None
