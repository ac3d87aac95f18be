"""Bounds that a process of the sandbox sets for itself. They are the kernel's, so that they hold within C too.

An address space; for each document some seconds by the clock, after which SIGALRM ends the process, in case its
parent is gone, and some of processor time, after which SIGPROF does. Both print where it was before they end it.
"""

import faulthandler
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path


def confine(memory_bytes: int, file_bytes: int | None = None) -> None:
    """Set the bounds of this process, for good. Memory is bounded on Linux only: other systems refuse or ignore it.

    file_bytes: how long a file may grow that it writes, standard error too; None: as long as ours
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    faulthandler.enable()  # it writes the place of a crash to standard error
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
        faulthandler.register(number, all_threads=False, chain=True)  # chain: then the default, which ends it
    if sys.platform == "linux":
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = memory_bytes if most == resource.RLIM_INFINITY else min(memory_bytes, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        with suppress(OSError):  # where the machine runs out of memory, the kernel kills this before a worker
            Path("/proc/self/oom_score_adj").write_text("1000")


def set_timers(wall_s: float, cpu_s: float = 0.0) -> None:
    """Set the timers of both clocks; 0 turns one off."""
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    signal.setitimer(signal.ITIMER_REAL, wall_s)


def memory_bytes() -> int:
    """The bound of this process's address space."""
    return resource.getrlimit(resource.RLIMIT_AS)[0]
