"""What a crawler on the road holds at most, and what the machine and the bench itself use meanwhile: from /proc."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench import cpu

LOOK_S = 5.0


@dataclass(slots=True)
class Sizes:
    """Call it now and then: the most that processes of these words held. mib: of one, resident; threads, sockets: of
    one."""

    words: Sequence[bytes]
    mib: dict[int, float] = field(default_factory=dict)
    threads: int = 0
    sockets: int = 0
    busy: list[tuple[float, float]] = field(default_factory=list)  # Unix seconds, CPU seconds of the whole machine
    own: list[tuple[float, float]] = field(default_factory=list)  # the same of this process: name server and counters
    looked: float = 0.0

    def cores(self, begin: float, end: float) -> tuple[float, float]:
        """Cores that the whole machine used between two moments (Unix seconds), and of these this process."""
        machine, own = ((cpu.between(marks, end) - cpu.between(marks, begin)) for marks in (self.busy, self.own))
        return machine / (end - begin), own / (end - begin)

    def __call__(self) -> None:
        """Look if it is time."""
        if time.monotonic() - self.looked < LOOK_S:
            return
        self.looked = time.monotonic()
        self.busy.append((time.time(), _machine_s()))
        self.own.append((time.time(), time.process_time()))
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, StopIteration):
                if all(word in (folder / "cmdline").read_bytes() for word in self.words):
                    self._look_at(folder)

    def _look_at(self, folder: Path) -> None:
        fields = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        pid, mib = int(folder.name), int(fields["VmRSS"].split()[0]) / 1024
        self.mib[pid] = max(self.mib.get(pid, 0.0), mib)
        self.threads = max(self.threads, int(fields["Threads"]))
        links = [os.readlink(each) for each in (folder / "fd").iterdir()]
        self.sockets = max(self.sockets, sum(link.startswith("socket:") for link in links))


def _machine_s() -> float:
    """CPU seconds that all processes of this machine have used: proc(5), the first line of /proc/stat."""
    user, nice, system, _, _, irq, softirq, *_ = map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:])
    return (user + nice + system + irq + softirq) / cpu.TICKS
