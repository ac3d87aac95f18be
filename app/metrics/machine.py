"""The memory that a process may use, and what is left of it: its container's (cgroup v2, v1), or else the machine's."""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class _Files(NamedTuple):
    """Where a version of cgroups has the figures of a container. idle: the name of a line in memory.stat."""

    folder: str
    limit: str
    used: str
    idle: str


class Memory(NamedTuple):
    """Bytes."""

    limit: int
    available: int


def memory(cgroup: Path = Path("/sys/fs/cgroup"), proc: Path = Path("/proc")) -> Memory | None:
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
    # https://docs.kernel.org/admin-guide/cgroup-v2.html, …/cgroup-v1/memory.html
    for files in (
        _Files("", "memory.max", "memory.current", "inactive_file"),
        _Files("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        with suppress(OSError, KeyError, ValueError):
            group = cgroup / files.folder
            limit = int((group / files.limit).read_text())  # v2 says "max" where there is none, v1 a large number
            used = int((group / files.used).read_text())
            stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            return Memory(limit, max(limit - used + int(stat[files.idle]), 0))
    return None
