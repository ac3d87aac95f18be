"""This process or machine has no more to give: file descriptors, buffers, memory. No host is to blame, and none was asked."""

import errno
import socket

from app.errors import NotSent

_OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


def is_ours(error: OSError) -> bool:
    return error.errno in _OURS


def is_exhausted() -> bool:
    """Whether there is no socket to be had just now: a resolver that got none says only that it failed."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    except OSError as error:
        return is_ours(error)
    return False


def exhausted(why: str) -> NotSent:
    return NotSent(
        "no connection to be had here", f"{why}; raise `ulimit -n` of the process or lower its --concurrency"
    )
