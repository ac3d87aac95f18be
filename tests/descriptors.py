"""A process that has few file descriptors left, as under `ulimit -n`."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def few_descriptors(left: int) -> Iterator[None]:
    """This process gets so many more than it has now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.dup(0) for _ in range(left + 1)]  # each is the lowest that is free
    for each in taken:
        os.close(each)
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken[-1], hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def open_files(folder: Path) -> list[str]:
    """Files of a folder that this process holds open."""
    held = (os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.is_symlink())
    return sorted(each for each in held if each.startswith(str(folder)))
