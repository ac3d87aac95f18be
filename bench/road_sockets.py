"""Sockets and the priority of the origin of a road."""

import os
import resource
import socket
import ssl
from contextlib import suppress

BACKLOG = 512


def note_name(tls: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
    tls.name_asked = name  # type: ignore[attr-defined]  # an attribute of ours


def listening(address: str, port: int) -> socket.socket:
    sock = socket.socket()
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((address, port))
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise
    sock.setblocking(False)
    return sock


def go_ahead() -> None:
    """Before everything that shares the cores: what is late here would count as the crawler's fault."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, -10)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
