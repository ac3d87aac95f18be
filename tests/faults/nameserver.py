"""A name server of the tests' own, on UDP, that is as ill as a test wants it, name by name, and remembers who asked for
what.

    with NameServer({"a.test": "127.8.0.1"}) as names:
        names.ill["a.test"] = "silent"
        names.asked("a.test")       # monotonic seconds of every question for its address

Ills: "NXDOMAIN", "SERVFAIL", "silent", "flapping" (one of these or well, by a throw of the dice for each question),
"slow" (a good answer, after SLOW_S). RFC 1035 as far as a stub resolver's questions go; AAAA is answered with nothing.
"""

import contextlib
import random
import socket
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from types import TracebackType
from typing import Self

PORT = 53
A = 1
SLOW_S = 2.0
_HEADER = struct.Struct(">HHHHHH")
_RESPONSE, _RECURSION = 0x8400, 0x0180  # QR and AA; RD and RA
_RCODES = {"SERVFAIL": 2, "NXDOMAIN": 3}
_ILLS = ("NXDOMAIN", "SERVFAIL", "silent", "well")


class NameServer:
    """Context manager. ill: names that are, and how. Port 53 of its address, unless another is given (0: one that is
    free).

    Raises PermissionError where that port is not ours to take.
    """

    def __init__(self, addresses: Mapping[str, str], rng: random.Random, *, address: str, port: int = PORT) -> None:
        self.ill: dict[str, str] = {}
        self._addresses = dict(addresses)
        self._rng = rng
        self._asked: dict[str, list[float]] = defaultdict(list)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, port))
        self.place: tuple[str, int] = self._socket.getsockname()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def asked(self, name: str) -> list[float]:
        return list(self._asked[name])

    def close(self) -> None:
        self._socket.close()

    def _serve(self) -> None:
        while True:
            question, client = self._socket.recvfrom(4096)
            if not question:
                return
            answer = self._answer(question)
            if answer is not None and self.ill.get(_name(question)[0]) == "slow":
                later = threading.Timer(SLOW_S, self._send, (answer, client))
                later.daemon = True
                later.start()
            elif answer is not None:
                self._send(answer, client)

    def _send(self, answer: bytes, client: tuple[str, int]) -> None:
        with contextlib.suppress(OSError):  # closed meanwhile
            self._socket.sendto(answer, client)

    def _answer(self, question: bytes) -> bytes | None:
        """None: silence."""
        number, flags, *_ = _HEADER.unpack_from(question)
        name, end = _name(question)
        kind = struct.unpack_from(">H", question, end)[0]
        if kind == A:
            self._asked[name].append(time.monotonic())
        ill = self.ill.get(name, "well" if name in self._addresses else "NXDOMAIN")
        if ill == "flapping":
            ill = self._rng.choice(_ILLS)
        if ill == "silent":
            return None
        record = b""
        if ill in {"well", "slow"} and kind == A:
            packed = socket.inet_aton(self._addresses[name])
            record = struct.pack(">HHHIH", 0xC00C, A, 1, 1, len(packed)) + packed
        flags = _RESPONSE | (flags & 0x0100) | (_RECURSION & 0x0080) | _RCODES.get(ill, 0)
        return _HEADER.pack(number, flags, 1, bool(record), 0, 0) + question[_HEADER.size : end + 4] + record

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.sendto(b"", self.place)  # an empty datagram ends it
        self._thread.join(5)
        self.close()


def _name(question: bytes) -> tuple[str, int]:
    """The name asked for, and where it ends."""
    labels, at = [], _HEADER.size
    while length := question[at]:
        labels.append(question[at + 1 : at + 1 + length].decode("ascii"))
        at += 1 + length
    return ".".join(labels).lower(), at + 1
