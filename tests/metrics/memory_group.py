"""A group of processes whose memory has a limit of the test's own, and which sees itself as a container does.

    with MemoryGroup(640 << 20) as group:
        subprocess.Popen([*group.within, "celery", …])     # under the process id that it was started with

This needs Linux, root and util-linux; `NotAllowed` says what is missing.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.faults.waiting import until

ROOT = Path("/sys/fs/cgroup")
V1 = ROOT / "memory"
# $0: the group; $1: what its processes see of groups, and the command, which follows.
ENTER = 'echo $$ > "$0/cgroup.procs" && exec unshare --mount sh -c "$@"'


class NotAllowed(Exception):
    """This system does not let us limit memory. `str(error)` says why."""


class MemoryGroup:
    """Context manager. Gone after, once its processes are.   limit: bytes"""

    def __init__(self, limit: int) -> None:
        is_v1 = (V1 / "memory.limit_in_bytes").exists()
        root = V1 if is_v1 else ROOT
        self.limit = limit
        self._group = root / f"tiptoe-test-{os.getpid()}"
        self._limit = self._group / ("memory.limit_in_bytes" if is_v1 else "memory.max")
        self.used = root / ("memory.usage_in_bytes" if is_v1 else "memory.current")  # as its processes see it
        self.within = ("sh", "-c", ENTER, str(self._group), f'mount --bind {self._group} {root} && exec "$0" "$@"')

    def __enter__(self) -> Self:
        if os.geteuid() or shutil.which("unshare") is None:
            raise NotAllowed("it takes root and unshare")
        try:
            self._group.mkdir(exist_ok=True)
            self._limit.write_text(str(self.limit))
        except OSError as error:
            with suppress(OSError):
                self._group.rmdir()
            raise NotAllowed(f"{self._group}: {error.strerror}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        until(lambda: not (self._group / "cgroup.procs").read_text(), "its processes have ended")
        self._group.rmdir()
