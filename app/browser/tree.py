"""Reads what a process and all that it started hold and have used: `/proc` (proc(5)), which anybody may read."""

import os
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

_TICKS_S: Final = 1 / os.sysconf("SC_CLK_TCK")
_HELD: Final = (b"RssAnon:", b"RssShmem:")  # not RssFile: all of them share the program's own pages


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeUse:
    """Use of a tree of processes.

    memory_bytes  resident, the program's own pages aside; memory that two share counts for both
    cpu_s         of user and system, of ended processes too
    """

    pids: frozenset[int]
    memory_bytes: int
    cpu_s: float


def measure(root: int) -> TreeUse:
    """Measure the tree below a process. Processes that end meanwhile are left out."""
    children: dict[int, list[int]] = defaultdict(list)
    cpu: dict[int, float] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            fields = _stat(int(name))
            children[int(fields[1])].append(int(name))
            cpu[int(name)] = sum(map(int, fields[11:15])) * _TICKS_S
    found, ahead = set[int](), list(children[root])
    while ahead:
        pid = ahead.pop()
        found.add(pid)
        ahead += children[pid]
    return TreeUse(
        pids=frozenset(found),
        memory_bytes=held_bytes(frozenset(found)),
        cpu_s=sum(cpu[pid] for pid in found),
    )


def held_bytes(pids: frozenset[int]) -> int:
    """Memory of these processes, as in `TreeUse`. Those that ended meanwhile hold nothing."""
    return sum(map(_held_bytes, pids))


def command_lines(pids: frozenset[int]) -> list[list[bytes]]:
    """The words of each process's command. Chromium writes its own anew, with blanks between them instead of NULs."""
    found = []
    for pid in pids:
        with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            found.append(file.read().replace(b"\0", b" ").split())
    return found


def _stat(pid: int) -> list[str]:
    """The fields after the name, which may hold spaces and parentheses: state, parent and so on."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()


def _held_bytes(pid: int) -> int:
    with suppress(OSError), open(f"/proc/{pid}/status", "rb") as file:
        return sum(int(line.split()[1]) * 1024 for line in file if line.startswith(_HELD))
    return 0
