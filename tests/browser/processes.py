"""Processes as the kernel tells of them: who runs below us, and what passed through their network."""

import os
from pathlib import Path

from app.browser.process import measure

PROC = Path("/proc")


def below(pid: int | None = None) -> frozenset[int]:
    """Processes that this one, or another, has started, and theirs."""
    return measure(pid or os.getpid()).pids


def named(pids: frozenset[int], word: str) -> list[int]:
    """Those that have this in their command lines."""
    found = []
    for pid in pids:
        try:
            line = (PROC / str(pid) / "cmdline").read_bytes()
        except OSError:
            continue
        if word.encode() in line:
            found.append(pid)
    return found


def interfaces(pid: int) -> dict[str, int] | None:
    """The interfaces that a process has, with the bytes that passed through each, both ways. None: it has ended."""
    try:
        lines = (PROC / str(pid) / "net" / "dev").read_text().splitlines()[2:]
    except OSError:
        return None
    return {
        name.strip(): int(rest.split()[0]) + int(rest.split()[8])
        for name, _, rest in (line.partition(":") for line in lines)
    }


def status(pid: int) -> dict[str, str]:
    lines = (PROC / str(pid) / "status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def is_running(pid: int) -> bool:
    """Whether it is there. One that ended, and that nobody asked about yet, is not."""
    try:
        return "Z" not in status(pid)["State"]
    except OSError:
        return False
