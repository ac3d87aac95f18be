"""One hostile host: a loopback address and port of its own, a behaviour, its connections, its access log."""

import asyncio
import itertools
import os
import socket
from dataclasses import dataclass, field
from typing import Optional

from tests.hostile.behaviour import Behaviour, no_such_page
from tests.hostile.peer import SEND_BUFFER_BYTES, Answer, Line, Peer

NETWORK = "127.192.0.0/10"  # nothing else of the tests lives here, and 127.0.0.1 does not
BACKLOG = 256

_numbers = itertools.count(os.getpid() % 200 * 64)


@dataclass(eq=False)
class Host:
    """name: of the instance.   beside: another host that this one leans on, where its behaviour says so."""

    name: str
    behaviour: Behaviour
    page: Answer
    errors: list[Exception]
    beside: Optional["Host"] = None
    address: str = ""
    port: int = 0
    log: list[Line] = field(default_factory=list)
    peers: set[Peer] = field(default_factory=set)
    connections: int = 0

    def __post_init__(self) -> None:
        number = next(_numbers)
        self.address = f"127.{192 + number // 62500 % 63}.{number // 250 % 250}.{number % 250 + 2}"

    def url(self, target: str = "/") -> str:
        return f"http://{self.address}:{self.port}{target}"

    @property
    def targets(self) -> list[str]:
        """What was asked for, in order."""
        return [line.target for line in list(self.log)]

    @property
    def pages_asked(self) -> list[str]:
        """The same without robots.txt."""
        return [target for target in self.targets if target != "/robots.txt"]

    async def answer(self, peer: Peer, line: Line) -> bool | None:
        """Hosts that are not about robots.txt have none."""
        if line.target == "/robots.txt" and not self.behaviour.robots:
            return await peer.send(no_such_page())
        return await self.page(peer, line)

    async def listen(self) -> None:
        """At the same port as before, if there was one."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)  # inherited by what it accepts
        listener.bind((self.address, self.port))
        self.port = listener.getsockname()[1]
        self._server = await asyncio.get_running_loop().create_server(self._peer, sock=listener, backlog=BACKLOG)

    async def close(self) -> None:
        """Connections end now, and new ones are refused."""
        self._server.close()
        peers = list(self.peers)
        for peer in peers:
            peer.abort()
        await asyncio.gather(*(peer.task for peer in peers))

    def _peer(self) -> Peer:
        self.connections += 1
        return Peer(self, self.connections)
