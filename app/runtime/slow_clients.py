"""Chooses the connections that a server closes while it waits for clients: late ones, and the oldest beyond a number.

A client that sends half a request, or reads no answer, costs a descriptor and sometimes a thread, and nobody knows it
yet. So at most `most` are waited for, of each kind of wait. Beyond that the address with the most of them loses its
oldest: a single address that opens hundreds takes no place from others. A server that refuses beyond a number would
refuse everybody.

A request that has arrived and was not read yet is never lost to such a choice: the server has not looked at it.

Python's own HTTP servers have a thread for each client and no bound in time, and take 100 lines of 64 KiB for a head:
20 MB for as long as a client likes. Ours read no body, and log nothing of their clients:

    class Server(BoundedServer, HTTPServer): ...
    class Handler(BoundedHandler, BaseHTTPRequestHandler): ...
"""

import select
import socket
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from heapq import heapify, heapreplace
from io import BufferedIOBase
from operator import itemgetter
from socketserver import ThreadingMixIn
from typing import Any, Final, Generic, TypeVar

WAITING_MOST: Final = 64
CROWD_TIMES: Final = 4
YOUNG_S: Final = 0.5  # what a client sent at once may not have been read before
HEAD_S: Final = 10.0
HEAD_BYTES: Final = 65_536

_Connection = TypeVar("_Connection", bound=Hashable)


class WaitsFor(StrEnum):
    """The act of its client that a server waits for."""

    HEAD = "head"
    BODY = "body"
    ANSWER = "answer"  # to be read
    NEXT = "next"  # request, of a connection that is kept alive


@dataclass(slots=True)
class _Wait:
    peer: str
    since: float
    until: float
    is_begun: bool


class SlowClients(Generic[_Connection]):
    """The connections of one server that wait for their clients. Times are monotonic seconds.

    Each method takes one step on a dict, so threads may share it.

    body_s  of a form of 1 MB, over a slow line; and of an answer that nobody reads
    """

    def __init__(self, *, most: int = WAITING_MOST, head_s: float = HEAD_S, body_s: float = 30.0) -> None:
        self._most = most
        self._seconds = {kind: body_s if kind in {WaitsFor.BODY, WaitsFor.ANSWER} else head_s for kind in WaitsFor}
        self._waits: dict[WaitsFor, dict[_Connection, _Wait]] = {kind: {} for kind in WaitsFor}  # the oldest first

    @property
    def is_crowded(self) -> bool:
        """Whether they are so many that not even the young may stay, nor should the server's next look be awaited."""
        return any(len(waits) > CROWD_TIMES * self._most for waits in self._waits.values())

    def wait(self, connection: _Connection, peer: str, now: float, waits_for: WaitsFor = WaitsFor.HEAD) -> None:
        """Wait for this one from now on, for so long at most."""
        self.forget(connection)
        self._waits[waits_for][connection] = _Wait(peer, now, now + self._seconds[waits_for], is_begun=False)

    def begin(self, connection: _Connection) -> None:
        """Note that a part of what is waited for was read, which does not begin the time anew."""
        for waits in self._waits.values():
            if connection in waits:
                waits[connection].is_begun = True

    def forget(self, connection: _Connection) -> bool:
        """Wait for it no longer: its request is whole, or it is closed. Returns whether it was waited for."""
        return sum(waits.pop(connection, None) is not None for waits in self._waits.values()) > 0

    def due(self, now: float, has_unread: Callable[[_Connection], bool] = lambda _: False) -> list[_Connection]:
        """Those to close, which are forgotten: those that had their time, and those beyond the number.

        has_unread: whether octets of a connection have arrived and were not read. Such a one stays for this time.
        """
        found: list[_Connection] = []
        for kind, waits in self._waits.items():
            crowd = CROWD_TIMES * self._most
            found += _close(waits, [each for each, wait in list(waits.items()) if wait.until <= now])
            beyond = _beyond(waits, crowd if kind is WaitsFor.NEXT else self._most)
            beyond = [each for each in beyond if each[1].since <= now - YOUNG_S]
            if len(waits) - len(beyond) > crowd:  # to a step below it, so that not each that arrives makes this choice
                beyond = _beyond(waits, crowd - self._most, begun_first=True)
            found += _close(waits, [each for each, wait in beyond if wait.is_begun or not has_unread(each)])
        return found


def has_unread(fileno: int) -> bool:
    """Whether octets have arrived at a socket that nobody has read. Not of one that is closed (-1)."""
    if fileno < 0:
        return False
    poll = select.poll()
    poll.register(fileno, select.POLLIN)
    return any(event & select.POLLIN for _, event in poll.poll(0))


def _close(waits: dict[_Connection, _Wait], chosen: list[_Connection]) -> list[_Connection]:
    return [each for each in chosen if waits.pop(each, None) is not None]


def _beyond(
    waits: dict[_Connection, _Wait], most: int, *, begun_first: bool = False
) -> list[tuple[_Connection, _Wait]]:
    """The oldest of the address that has most of these, again and again until the rest of all is few enough.

    begun_first: those of which a part was read are before the others of their address
    """
    if len(waits) <= most:
        return []
    of_peer: dict[str, list[tuple[tuple[bool, int], _Connection, _Wait]]] = defaultdict(list)
    for age, (each, wait) in enumerate(list(waits.items())):
        of_peer[wait.peer].append(((begun_first and not wait.is_begun, age), each, wait))
    for of in of_peer.values():
        of.sort(key=itemgetter(0), reverse=True)
    busiest = [(-len(of), of[-1][0], peer) for peer, of in of_peer.items()]
    heapify(busiest)
    found = []
    for _ in range(len(waits) - most):
        of = of_peer[busiest[0][2]]
        found.append(of.pop()[1:])
        heapreplace(busiest, (-len(of), of[-1][0] if of else (False, 0), busiest[0][2]))
    return found


class BoundedServer(ThreadingMixIn):
    """Closes clients that are late with a head, and the oldest beyond a number: `SlowClients`."""

    daemon_threads = True

    def __init__(self, *given: Any) -> None:
        self.clients: SlowClients[socket.socket] = SlowClients()
        super().__init__(*given)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.clients.wait(request, client_address[0], time.monotonic())
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Close slow clients, after each connection and twice a second."""
        for each in self.clients.due(time.monotonic(), lambda each: has_unread(each.fileno())):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)  # its thread reads the end, and closes it

    def shutdown_request(self, request: Any) -> None:
        self.clients.forget(request)
        super().shutdown_request(request)  # type: ignore[misc]  # the server's, which this is mixed into

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went, was too slow, or sent too much."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[misc]  # as above


class _Head:
    """The octets of a head, line by line. Beyond HEAD_BYTES it raises ConnectionAbortedError, which ends it all."""

    def __init__(self, octets: BufferedIOBase) -> None:
        self._octets, self._left = octets, HEAD_BYTES
        self.close = octets.close

    def readline(self, most: int) -> bytes:
        line = self._octets.readline(min(most, self._left + 1))
        self._left -= len(line)
        if self._left < 0:
            raise ConnectionAbortedError("the head is too large")
        return line


class BoundedHandler:
    """Reads a head of at most HEAD_BYTES, which the server no longer waits for once it is whole."""

    timeout: float | None = 10.0  # a client that takes nothing of its answer is not waited for
    server: Any
    connection: socket.socket

    def setup(self) -> None:
        super().setup()  # type: ignore[misc]  # the handler's, which this is mixed into
        self.rfile: Any = _Head(self.rfile)

    def parse_request(self) -> bool:
        """Whether a head has come. One that was cut ends like one, and is none."""
        is_head: bool = super().parse_request()  # type: ignore[misc]  # as above
        return self.server.clients.forget(self.connection) and is_head

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a request is no event."""
