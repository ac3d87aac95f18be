"""Recognises that this process or machine has run out of file descriptors, buffers or memory.

No host is at fault then, and none was contacted.
"""

import errno
import socket

from app.errors import NotSent

REMEDY = "raise `ulimit -n` of the process or lower its --concurrency"
_OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


def is_ours(error: OSError) -> bool:
    return error.errno in _OURS


def is_exhausted() -> bool:
    """Whether the system gives us no socket just now. A resolver that got none reports only that it failed."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    except OSError as error:
        return is_ours(error)
    return False


def exhausted(why: str) -> NotSent:
    return NotSent("no connection can be opened here", f"{why}; {REMEDY}")
