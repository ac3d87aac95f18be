"""Names a process so that no other one has its name, and tells whether one of this machine lives."""

import os
import socket
import uuid
from functools import lru_cache
from hashlib import sha256

from app.clock import BOOT


@lru_cache(maxsize=1)
def machine() -> str:
    """The host's name, and a mark of the kernel and its process table.

    Two machines, or two containers, may have one host name; a process id means something only within one table.
    """
    return f"{socket.gethostname()}:{_mark()}"


def process_name() -> str:
    """The name of this process: host name, mark, process id."""
    return f"{machine()}:{os.getpid()}"


def is_alive(name: str) -> bool:
    """Whether the process of this machine that has this name lives, or another that got its id since."""
    try:
        os.kill(int(name.rpartition(":")[2]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _mark() -> str:
    """Eight letters for what a process id depends on: the kernel's boot and the process table, or the network card."""
    try:
        known = BOOT.read_text() + os.readlink("/proc/self/ns/pid")
    except OSError:  # not Linux: there all processes of a machine are in one table
        known = f"{uuid.getnode():x}"
    return sha256(known.encode()).hexdigest()[:8]
