"""Frames between a worker and a process of the sandbox: a text and the octets after it, over one socket."""

import os
import socket
import struct
import time
from collections.abc import Iterator
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
