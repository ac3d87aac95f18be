"""One connection of a client to a hostile host, with verbs for good and bad manners, and the line of the access log.

A Peer lives in the origin's only thread: its verbs are coroutines. Each ends as soon as the client has hung up, by
raising Gone, so that no behaviour outlives the client it torments.
"""

import asyncio
import socket
import struct
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from tests.hostile.host import Host

SEND_BUFFER_BYTES = 32 * 1024  # small, so that bytes sent are close to bytes that the client took
HEAD_BYTES_MAX = 64 * 1024
PIECE_BYTES = 16 * 1024  # `sent` is exact to one of these
DRIP_S = 0.02
FLOOD_S = 0.001  # per block: about 16 MB/s, so that the system's buffers stay near empty
LAST_ACK_AT = 56  # tcpi_last_ack_recv within struct tcp_info, in ms: linux/tcp.h


class Gone(Exception):
    """The client hung up, or we did."""


@dataclass(slots=True, kw_only=True)
class Line:
    """One request in the access log. Times are monotonic seconds of this machine.

    start        its head had been read
    end          the last byte was handed to the system, or the client was gone; None: still under way
    sent         bytes handed to the system
    connection   number of the connection, from 1, of this host;  nth: of the request on it, from 1
    hung_up      the client closed the connection before the answer was over
    """

    host: str
    target: str
    headers: dict[str, str]
    connection: int
    nth: int
    start: float
    end: float | None = None
    sent: int = 0
    hung_up: bool = False

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def took_s(self) -> float:
        """Seconds from start to end. Raises AssertionError while it is under way."""
        assert self.end is not None, f"still under way: {self}"
        return self.end - self.start


@dataclass(eq=False)
class Peer(asyncio.Protocol):
    """number: of the connection, from 1.   buffer: received and not yet read.   closing: it is us who hung up."""

    host: "Host"
    number: int
    requests: int = 0
    buffer: bytearray = field(default_factory=bytearray)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    gone_at: float | None = None
    closing: bool = False

    # --- what the loop calls ------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(0)
        self._arrived, self._writable = asyncio.Event(), asyncio.Event()
        self._writable.set()
        self._last_sent = time.monotonic()
        self._line: Line | None = None
        self._lost = False
        self.host.peers.add(self)
        self.task = asyncio.create_task(self._converse())

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        self._arrived.set()

    def eof_received(self) -> None:
        self._is_gone()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._is_gone()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _is_gone(self) -> None:
        self.gone_at = self.gone_at or time.monotonic() - self._unnoticed_s()
        for event in (self.gone, self._arrived, self._writable):
            event.set()

    def _unnoticed_s(self) -> float:
        """Seconds since the client's last segment: a busy machine lets us notice late that it hung up."""
        if self.closing or not hasattr(socket, "TCP_INFO"):
            return 0.0
        sock = self._transport.get_extra_info("socket")
        try:
            info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, LAST_ACK_AT + 4)
        except OSError:
            return 0.0  # closed
        return float(struct.unpack_from("I", info, LAST_ACK_AT)[0]) / 1000

    # --- verbs --------------------------------------------------------------------------------------------------

    async def send(self, *parts: bytes) -> bool:
        """Hands the bytes to the system. True, so that a behaviour that ends with it keeps the connection."""
        octets = b"".join(parts)
        for at in range(0, len(octets), PIECE_BYTES):
            if self.gone.is_set():
                raise Gone
            await self._send_piece(octets[at : at + PIECE_BYTES])
        return True

    async def _send_piece(self, octets: bytes) -> None:
        self._transport.write(octets)
        await self._writable.wait()
        if self._transport.is_closing():
            self._is_gone()
            raise Gone
        if self._line is not None:
            self._line.sent += len(octets)
        self._last_sent = time.monotonic()
        await asyncio.sleep(0)  # the loop sees to the others, and to whether this client hung up

    async def pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self.gone.wait(), seconds)
        except TimeoutError:
            return
        raise Gone

    async def hang(self) -> None:
        """Until the client has had enough."""
        await self.gone.wait()
        raise Gone

    async def drip(self, octets: Iterable[int], every_s: float = DRIP_S) -> None:
        for octet in octets:
            await self.send(bytes([octet]))
            await self.pause(every_s)

    async def flood(self, blocks: Iterable[bytes]) -> None:
        for block in blocks:
            await self.send(block)
            await self.pause(FLOOD_S)

    async def reset(self) -> None:
        """RST instead of FIN."""
        sock = self._transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.abort()

    def abort(self) -> None:
        """At once, whatever is under way."""
        self.closing = True
        if not self._lost:
            self._transport.abort()

    # --- the conversation ---------------------------------------------------------------------------------------

    async def _converse(self) -> None:
        try:
            while await self._answer_one():
                pass
        except Gone:
            pass
        except Exception as error:  # noqa: BLE001  # told to whoever ends the origin
            self.host.errors.append(error)
        finally:
            self.closing = True
            self._transport.close()
            self.host.peers.discard(self)

    async def _answer_one(self) -> bool:
        """False: no more requests come, or the behaviour is done with the connection."""
        head = await self._head()
        if head is None:
            return False
        self.requests += 1
        line = self._line = _line(self.host.name, self.number, self.requests, head)
        self.host.log.append(line)
        try:
            return bool(await self.host.answer(self, line))
        except Gone:
            line.hung_up = not self.closing
            raise
        finally:
            line.end = max(self.gone_at or 0.0 if line.hung_up else self._last_sent, line.start)

    async def _head(self) -> bytes | None:
        while (end := self.buffer.find(b"\r\n\r\n")) < 0:
            if self.gone.is_set() or len(self.buffer) > HEAD_BYTES_MAX:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        head = bytes(self.buffer[:end])
        del self.buffer[: end + 4]
        return head


def _line(host: str, connection: int, nth: int, head: bytes) -> Line:
    request, *fields = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (each.partition(":") for each in fields)}
    return Line(
        host=host,
        target=request.split(" ")[1],
        headers=headers,
        connection=connection,
        nth=nth,
        start=time.monotonic(),
    )


# True: keep the connection and wait for the next request; else it is closed when all is sent.
Answer = Callable[[Peer, Line], Awaitable[bool | None]]
