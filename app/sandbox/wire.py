"""Holds what a worker and a process of the sandbox agree on: frames over one socket, and that process's bounds.

A frame is a text and the octets after it. The process sets its bounds for itself; they are the kernel's, so that they
hold within C too: an address space; for each document some seconds by the clock, after which SIGALRM ends the process,
in case its parent is gone, and some of processor time, after which SIGPROF does. Both print where it was before they
end it.
"""

import faulthandler
import os
import resource
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_LENGTHS = struct.Struct(">IQ")  # of the text, of the octets
_PIECE_BYTES = 1024 * 1024


class WireBroken(Exception):
    """The other side closed the socket, died, or wrote something that is no frame."""


class Garbled(WireBroken):
    """The other side wrote something that is no frame, or a longer one than it may."""


class Wire:
    """One end of the socket. One thread uses it at a time.

    most_bytes  that a frame from the other side may have; None: any number
    """

    def __init__(self, end: socket.socket, most_bytes: int | None = None) -> None:
        self._end = end
        self._most_bytes = most_bytes

    def send(self, text: bytes, body: bytes | BinaryIO = b"", *, until: float | None = None) -> None:
        """Send a frame; a stream's octets from its start to its end.   until: by the monotonic clock

        Raises WireBroken, TimeoutError.
        """
        n = len(body) if isinstance(body, bytes) else body.seek(0, os.SEEK_END)
        self._all(_LENGTHS.pack(len(text), n) + text, until)
        for piece in _pieces(body):
            self._all(piece, until)

    def receive(self, *, until: float | None = None) -> tuple[bytes, bytes]:
        """Receive the next frame. Raises WireBroken, TimeoutError when it has not arrived by then."""
        text_bytes, body_bytes = _LENGTHS.unpack(self._exactly(_LENGTHS.size, until))
        if self._most_bytes is not None and text_bytes + body_bytes > self._most_bytes:
            raise Garbled
        return self._exactly(text_bytes, until), self._exactly(body_bytes, until)

    def close(self) -> None:
        self._end.close()

    def _all(self, octets: bytes, until: float | None) -> None:
        self._wait(until)
        try:
            self._end.sendall(octets)
        except TimeoutError:
            raise
        except OSError as error:
            raise WireBroken from error

    def _exactly(self, n: int, until: float | None) -> bytes:
        """So many octets. Memory is taken as they arrive: the number is the other side's."""
        first = self._some(n, until)
        if len(first) == n:
            return first
        found = bytearray(first)
        while len(found) < n:
            found += self._some(n - len(found), until)
        return bytes(found)

    def _some(self, n: int, until: float | None) -> bytes:
        if n == 0:
            return b""
        self._wait(until)
        try:
            found = self._end.recv(min(n, _PIECE_BYTES), socket.MSG_WAITALL)  # at once where there is no deadline
        except TimeoutError:
            raise
        except OSError as error:
            raise WireBroken from error
        if not found:
            raise WireBroken
        return found

    def _wait(self, until: float | None) -> None:
        """Bound the next call of the socket."""
        left_s = None if until is None else until - time.monotonic()
        if left_s is not None and left_s <= 0:
            raise TimeoutError
        self._end.settimeout(left_s)


def _pieces(body: bytes | BinaryIO) -> Iterator[bytes]:
    if isinstance(body, bytes):
        if body:
            yield body
        return
    body.seek(0)
    while piece := body.read(_PIECE_BYTES):
        yield piece


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
