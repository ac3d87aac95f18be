"""A connection to one origin: urllib3's, dialled by `Dialler`, with heads read by `app.net.head`.

It speaks HTTP in two ways, over the same guarded socket:

- `ask` sends an Exchange and reads the head, as the crawler's sender wants it. The request target goes out as given,
  where urlopen would quote `[` and change the case of `%7e`; the header goes out as given and in one piece.
- `request` and `getresponse` are urllib3's, for a Session that `app.net.adapter` is mounted on. A timeout bounds a
  whole phase: connecting and sending, then the response to its last byte.

`Dialler` connects to addresses that the guard allows, and to no others: it resolves once, has the guard check every
address, and connects to one that it allows, so that no name can point elsewhere in between. The others are dropped
before: no failed connection leads to them. Errors are those of `app.net.exchange`.
"""

import http.client
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from sys import maxsize
from typing import Any

import urllib3
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError, ProtocolError, SSLError

from app.clock import monotonic
from app.errors import NotSent
from app.model.fetch import Failure, Gate
from app.net.address import NO_CONTACT, Guard
from app.net.dns import DnsFailed, Resolver
from app.net.exchange import Broken, Exchange, Origin, TooLate
from app.net.head import Head, MessageHead
from app.net.sockets import PlainSocket, exhausted, handshake, is_ours

_UNFIT_TARGET = re.compile("[^!-~]")  # as in http.client: it would end the request line, or take more than one byte
# A SYN is sent again after 1, 3 and 7 s (RFC 6298): a server that has not answered by then is down.
CONNECT_S_MAX = 10.0
ADDRESSES_TRIED_MAX = 4
OnMixed = Callable[[str, Sequence[str]], object]


def _ignore(host: str, blocked: Sequence[str]) -> None:
    """Stands in for somebody who wants to know."""


class Dialler:
    """Opens sockets to addresses that the guard allows, and to no others.

    require_contact   no contact is configured: public addresses are refused (promise I1)
    on_mixed          called before connecting to a name of which some addresses are not allowed, with these
    """

    def __init__(self, resolver: Resolver, guard: Guard, *, require_contact: bool, on_mixed: OnMixed = _ignore) -> None:
        self.resolver = resolver
        self._guard = guard
        self._require_contact = require_contact
        self._on_mixed = on_mixed

    def dial(self, host: str, port: int, exchange: Exchange) -> PlainSocket:
        """Connect, and return the socket. Raises Broken: DNS, ADDRESS, REFUSED or CONNECT_TIMEOUT."""
        found = [exchange.pinned] if exchange.pinned else self._resolve(host, port, exchange)
        allowed, blocked = self._guard.sort_out(found, require_contact=self._require_contact)
        if blocked and not allowed:
            address, why = blocked[0]
            raise Broken(
                Failure.ADDRESS, f"{host} ({address}) {why}" if why == NO_CONTACT else f"{host} is {address}: {why}"
            )
        if blocked:
            self._on_mixed(host, [address for address, _ in blocked])
        return self._connect_first(allowed[:ADDRESSES_TRIED_MAX], port, exchange)

    def where(self, host: str, port: int, timeout_s: float) -> tuple[str, ...]:
        """The addresses that `dial` would try, in order; none when it would raise DNS, ADDRESS or NotSent."""
        try:
            found = self.resolver.resolve(host, port, timeout_s)
        except (DnsFailed, NotSent):
            return ()
        return tuple(self._guard.sort_out(found, require_contact=self._require_contact).allowed[:ADDRESSES_TRIED_MAX])

    def _resolve(self, host: str, port: int, exchange: Exchange) -> list[str]:
        begin_s = monotonic()
        try:
            return self.resolver.resolve(host, port, max(exchange.until_s - begin_s, 0.001))
        except DnsFailed as error:
            raise Broken(Failure.DNS, str(error)) from error
        finally:
            exchange.dns_ms = (monotonic() - begin_s) * 1000

    def _connect_first(self, addresses: list[str], port: int, exchange: Exchange) -> PlainSocket:
        begin_s = monotonic()
        until_s = min(exchange.until_s, begin_s + CONNECT_S_MAX)
        broken = Broken(Failure.CONNECT_TIMEOUT, "no time was left to connect")
        try:
            for tries_left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
                share_s = (until_s - monotonic()) / tries_left
                if share_s <= 0:
                    break
                exchange.address = address
                try:
                    return _connect(address, port, share_s, exchange)
                except TimeoutError:
                    broken = Broken(Failure.CONNECT_TIMEOUT, f"{address}:{port} did not answer within {share_s:.1f} s")
                except OSError as error:
                    if is_ours(error):
                        raise exhausted(error.strerror or str(error)) from error
                    broken = Broken(Failure.REFUSED, f"{address}:{port}: {error.strerror or error}")
        finally:
            exchange.connect_ms = (monotonic() - begin_s) * 1000
        exchange.address = None
        raise broken


def _connect(address: str, port: int, timeout_s: float, exchange: Exchange) -> PlainSocket:
    sock = PlainSocket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout_s)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.connect((address, port))
    except BaseException:
        sock.close()
        raise
    sock.exchange = exchange
    return sock


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The destination of a pool's connections.   tls: None for plain HTTP"""

    origin: Origin
    dialler: Dialler
    tls: ssl.SSLContext | None


class GuardedConnection(urllib3.connection.HTTPConnection):
    """An http connection, or an https one where the endpoint has `tls`. Serves one exchange at a time."""

    response_class = MessageHead
    exchange: Exchange
    sock: Any  # a socket of app.net.sockets, None when closed

    def __init__(self, host: str, port: int | None = None, *, endpoint: Endpoint, **given: Any) -> None:
        super().__init__(host, port, **given)
        self.endpoint = endpoint
        self.connected_to: str | None = None
        self.idle_since_s = 0.0
        self._begun_s: float | None = None  # when connecting began, until a request is sent over it
        self._connect_ms: float | None = None  # the milliseconds it took, kept as long as `_begun_s`

    def connect(self) -> None:
        """Dial for the current exchange. Raises Broken."""
        begun_s = monotonic()
        _, host, port = self.endpoint.origin
        dialler, tls = self.endpoint.dialler, self.endpoint.tls
        try:
            sock = dialler.dial(host, port, self.exchange)
            self.sock = sock if tls is None else handshake(tls, sock, self.host, self.exchange)
        except Broken as broken:
            if broken.failure is not Failure.DNS:
                dialler.resolver.forget(host)
            raise
        self.is_verified = tls is not None
        self.sock.serve(self.exchange)
        self.connected_to = self.exchange.address
        self._begun_s, self._connect_ms = begun_s, self.exchange.connect_ms

    @property
    def is_connected(self) -> bool:
        """Whether the server has kept the connection open and sent nothing. urllib3 takes any byte for the end; over
        TLS 1.3 the first bytes are session tickets."""
        if self.sock is None:
            return False
        if self.endpoint.tls is None:
            return not urllib3.util.wait_for_read(self.sock, timeout=0.0)
        return not self.sock.has_ended()

    def ask(self, exchange: Exchange) -> Head:
        """Send the request and read the head of the response; its body is unread.

        Raises Broken, TooLate, NotSent, OSError, http.client.HTTPException; ValueError for a header field with a line
        break.
        """
        octets = _request_octets(exchange)
        self._serve(exchange)
        exchange.check_not_late()
        if exchange.gate is not None:
            self._pass(exchange.gate)
        if self._begun_s is not None:
            self.tell_of_connecting()
        # A server may answer and close before it has read everything: the answer counts, as in urllib3.
        with suppress(BrokenPipeError, ConnectionResetError):
            self.sock.sendall(octets)
            exchange.sent, exchange.sent_s = True, monotonic()
            if exchange.gate is not None:
                exchange.gate.sent(exchange.sent_s)
        head = Head(self.sock, method=exchange.method)
        head.begin()
        if head.will_close:
            self.close()  # the head holds what is still to be read
        return head

    def tell_of_connecting(self) -> None:
        """Report to the exchange when this connection was begun and how long it took.

        Reports once, to the first exchange.
        """
        self.exchange.contacted_s, self.exchange.connect_ms = self._begun_s, self._connect_ms
        self._begun_s = self._connect_ms = None

    def abandon(self) -> None:
        """Close the connection so that nothing more of its request is sent."""
        if self.sock is not None:
            self.sock.abandon()
        self.close()

    def _serve(self, exchange: Exchange) -> None:
        self.exchange = exchange
        if self.sock is None:
            exchange.check_not_late()
            self.connect()
        else:
            exchange.address = self.connected_to
            self.sock.serve(exchange)

    def _pass(self, gate: Gate) -> None:
        """Wait at the gate.

        The start is lost if the server closes meanwhile, or if this thread was held up: wait for another, over a new
        connection where it was closed.

        Raises TooLate.
        """
        for _ in range(3):  # starts that were missed, or during whose wait the server closed the connection
            waits_from_s = monotonic()
            if not gate.open():
                raise TooLate
            self.exchange.until_s += monotonic() - waits_from_s
            is_connected = self.is_connected
            if is_connected:
                self.sock.serve(self.exchange)
                if not gate.is_late():
                    self.exchange.started_s = monotonic()
                    return
            gate.sent(monotonic())
            if not is_connected:
                self.close()
                self.exchange.reused = False
                self.connect()
        raise TooLate

    def request(self, method: str, url: str, *args: Any, **given: Any) -> None:
        """Send a request: urllib3's method.

        Raises urllib3's errors, and Broken for an address that may not be contacted.
        """
        with self._in_urllib3s_words():
            self._serve(self._exchange(url))
            self.timeout = self.exchange.left_s()  # which urllib3 sets on the socket: never none
            super().request(method, url, *args, **given)

    def getresponse(self) -> urllib3.HTTPResponse:  # type: ignore[override]  # as urllib3 overrides http.client
        """Read a response: urllib3's method. Raises as `request`."""
        with self._in_urllib3s_words():
            self.timeout = _bounded_s(self.timeout)
            self.exchange.until_s = monotonic() + self.timeout
            return super().getresponse()

    def _exchange(self, target: str) -> Exchange:
        now_s = monotonic()
        until_s = now_s + _bounded_s(self.timeout)
        return Exchange(
            origin=self.endpoint.origin, target=target, started_s=now_s, until_s=until_s, bytes_left=maxsize
        )

    @contextmanager
    def _in_urllib3s_words(self) -> Iterator[None]:
        """Translate our failures into urllib3's, so that urlopen and requests handle them; a refused address passes
        through."""
        try:
            yield
        except NotSent as error:
            raise NewConnectionError(self, str(error)) from error
        except Broken as broken:
            match broken.failure:
                case Failure.ADDRESS:
                    raise
                case Failure.DNS:
                    raise NameResolutionError(self.host, self, socket.gaierror(broken.detail)) from broken
                case Failure.CONNECT_TIMEOUT:
                    raise ConnectTimeoutError(self, broken.detail) from broken
                case Failure.TLS:
                    raise SSLError(broken.detail) from broken
                case Failure.REFUSED:
                    raise NewConnectionError(self, broken.detail) from broken
                case _:
                    raise ProtocolError(broken.detail, broken) from broken


class GuardedTlsConnection(GuardedConnection):
    """An https connection: its Host field names no port where that is 443."""

    default_port = 443  # type: ignore[misc]  # as urllib3 has it


def _bounded_s(timeout_s: float | None) -> float:
    return 300.0 if timeout_s is None else timeout_s  # the timeout of a request that gives none


def _request_octets(exchange: Exchange) -> bytes:
    """The request in bytes. http.client joins and searches field by field, which takes three times as long.

    Raises http.client.InvalidURL, and ValueError for a field with a line break.
    """
    if _UNFIT_TARGET.search(exchange.target):
        raise http.client.InvalidURL(f"{exchange.target!r} is no request target")
    fields = "\r\n".join([f"{name}: {value}" for name, value in exchange.headers.items()])
    if not fields.count("\n") == fields.count("\r") == len(exchange.headers) - 1:
        raise ValueError("a header field with a line break")
    return f"{exchange.method} {exchange.target} HTTP/1.1\r\n{fields}\r\n\r\n".encode("latin-1") + exchange.content
