"""CPU seconds of everything a run started, by role, from /proc: children that have ended are counted with who waited
for them.

Roles: the workers, processes that read for them, beat, the command, Postgres, the broker, the keepers of those two,
and the origin, which is no part of a crawler. A process that no row of ROLES names has the role of its parent.
"""

import itertools
import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

TICKS = os.sysconf("SC_CLK_TCK")
ORIGIN, COMMAND, DASHBOARD = "origin", "command", "dashboard"
ENDED = "ended"  # children of ours that are no more
# Words of the command line, without folders (all of them), and the role. The first that fits.
ROLES = (
    (("app.local.supervisor",), "keepers"),
    (("app.sandbox.reader",), "readers"),
    (("celery", "beat"), "beat"),
    (("celery", "worker"), "workers"),
    (("tiptoe", "crawl"), COMMAND),
    (("app.web",), DASHBOARD),
    (("nginx",), ORIGIN),
    (("bench.road_origin",), ORIGIN),
    (("valkey-server",), "broker"),
    (("redis-server",), "broker"),
    (("beam.smp",), "broker"),
    (("postgres",), "postgres"),
    (("pgbouncer",), "pooler"),
)


def seconds() -> dict[str, float]:
    """{role: CPU seconds so far} of all descendants of this process, which is not counted itself."""
    total: dict[str, float] = defaultdict(float)
    children: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent, used = read_stat((folder / "stat").read_text())
            children[parent].append((int(folder.name), used))
    own = os.times()
    total[ENDED] = own.children_user + own.children_system
    todo = [(child, "others") for child in children[os.getpid()]]
    while todo:
        (pid, used), above = todo.pop()
        role = _role(pid) or above
        total[role] += used
        todo += [(child, role) for child in children[pid]]
    return dict(total)


def used_by_role(first: Mapping[str, float], last: Mapping[str, float]) -> dict[str, float]:
    """{role: CPU seconds between two looks}. What a process that ended meanwhile used counts with the command, which
    waited for it, but for what it had used before."""
    used = {role: last.get(role, 0.0) - first.get(role, 0.0) for role in {**first, **last}}
    ended_s = sum(min(each, 0.0) for each in used.values())
    found = {role: max(each, 0.0) for role, each in used.items()}
    return found | {COMMAND: found.get(COMMAND, 0.0) + ended_s} if ended_s else found


def read_stat(line: str) -> tuple[int, float]:
    """(parent's id, CPU seconds with those of children waited for) of a line of /proc/<pid>/stat, proc(5)."""
    fields = line[line.rindex(")") + 2 :].split()  # the name may hold anything; what follows begins with field 3
    return int(fields[1]), sum(map(int, fields[11:15])) / TICKS


class Watch:
    """Context manager: looks at the CPU seconds of everything but the origin now and then, in a thread."""

    EVERY_S = 0.25

    def __init__(self) -> None:
        self._marks: list[tuple[float, dict[str, float]]] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def used(self, begin: float, end: float) -> float:
        """CPU seconds between two moments (Unix seconds), in proportion between two looks."""
        return sum(self._by(end).values()) - sum(self._by(begin).values())

    def by_role(self, begin: float, end: float) -> dict[str, float]:
        """{role: CPU seconds between two moments}."""
        return used_by_role(self._by(begin), self._by(end))

    def _look(self) -> None:
        is_last = False
        while True:
            self._marks.append((time.time(), {role: used for role, used in seconds().items() if role != ORIGIN}))
            if is_last:
                return
            is_last = self._done.wait(self.EVERY_S)

    def _by(self, moment: float) -> dict[str, float]:
        roles = {role for _, used in self._marks for role in used}
        return {role: between([(at, used.get(role, 0.0)) for at, used in self._marks], moment) for role in roles}


def between(marks: Sequence[tuple[float, float]], moment: float) -> float:
    """The value at a moment, in proportion between two of the marks (moment, value), which are in order."""
    for (earlier, low), (later, high) in itertools.pairwise(marks):
        if moment <= later and earlier < later:
            share = min(max((moment - earlier) / (later - earlier), 0.0), 1.0)
            return low + share * (high - low)
    return marks[-1][1]


def _role(pid: int) -> str | None:
    """None: of no row, or gone."""
    with suppress(OSError):
        line = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
        words = {word.rpartition("/")[2].removesuffix(":") for word in re.split("[\0 ]", line)}
        return next((role for wanted, role in ROLES if words.issuperset(wanted)), None)
    return None
