"""Frames between a worker and a handler's process: a JSON document and the octets after it, over one socket."""

import socket
import struct
import time
from typing import Any

import orjson

from app.features.extract.clean import encoded

_LENGTHS = struct.Struct(">IQ")  # of the document, of the octets
DOCUMENT_MOST = 256 * 1024 * 1024


class WireBroken(Exception):
    """The other side closed the socket, died, or wrote something that is no frame."""


class Wire:
    """One end of the socket. One thread uses it at a time."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def send(self, document: dict[str, Any], octets: bytes = b"", *, within_s: float | None = None) -> None:
        """Raises WireBroken, TimeoutError."""
        text = encoded(document)
        self._end.settimeout(within_s)
        try:
            self._end.sendall(_LENGTHS.pack(len(text), len(octets)) + text)
            if octets:
                self._end.sendall(octets)
        except TimeoutError:
            raise
        except OSError as error:
            raise WireBroken from error

    def receive(self, *, within_s: float | None = None) -> tuple[dict[str, Any], bytes]:
        """The next frame. Raises WireBroken, TimeoutError when it has not arrived by then."""
        until = None if within_s is None else time.monotonic() + within_s
        document_bytes, octets_bytes = _LENGTHS.unpack(self._exactly(_LENGTHS.size, until))
        if document_bytes > DOCUMENT_MOST:
            raise WireBroken
        try:
            document = orjson.loads(self._exactly(document_bytes, until))
        except orjson.JSONDecodeError as error:
            raise WireBroken from error
        if not isinstance(document, dict):
            raise WireBroken
        return document, bytes(self._exactly(octets_bytes, until))

    def close(self) -> None:
        self._end.close()

    def _exactly(self, n: int, until: float | None) -> bytearray:
        found = bytearray(n)
        view, at = memoryview(found), 0
        while at < n:
            if until is not None and (left_s := until - time.monotonic()) <= 0:
                raise TimeoutError
            self._end.settimeout(None if until is None else left_s)
            try:
                got = self._end.recv_into(view[at:])
            except TimeoutError:
                raise
            except OSError as error:
                raise WireBroken from error
            if got == 0:
                raise WireBroken
            at += got
        return found
