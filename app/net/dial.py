"""Sockets to addresses that were judged, bounded by the deadline and the bytes of the exchange they serve.

- Dialling: resolve once, have the guard judge every address, connect to one of them (no rebinding in
  between).
- A deadline for the whole response: the timeouts of requests and urllib3 count from byte to byte, so that a
  dripping server would hold them for ever.
- TLS: always verified, never left out.

What goes wrong is raised as `Broken`, which is no OSError and no urllib3 error and so passes through the
layers of requests and urllib3 untouched; so does NotSent, for what is not the site's doing
(`app.net.exhausted`). Speaks no HTTP: that is `app.net.head` and `app.net.wire`.
"""

import socket
import ssl
import struct
import time
from typing import Any

import certifi
import urllib3

from app.errors import NotSent
from app.model.fetch import Failure, Gate
from app.net.address import Guard, is_public
from app.net.dns import DnsFailed, Resolver
from app.net.exhausted import exhausted, is_ours

# A SYN is sent again after 1, 3 and 7 s (RFC 6298): who has not answered by then is not there.
CONNECT_S_MAX = 10.0
ADDRESSES_TRIED_MAX = 4
READ_BYTES = 64 * 1024
TCP_USER_TIMEOUT: int | None = getattr(socket, "TCP_USER_TIMEOUT", None)
NO_LINGER = struct.pack("ii", 1, 0)
NO_CONTACT = "is public and no contact is set: set TIPTOE_CONTACT to the mail address or page of who answers for us"


class Broken(Exception):
    """The request brought no usable response. Not an OSError, so that no layer in between translates it.

    failure: what to report.   detail: one line for a person.
    """

    def __init__(self, failure: Failure, detail: str) -> None:
        super().__init__(detail)
        self.failure = failure
        self.detail = detail


class TooLate(Exception):
    """The request was not sent: its `not_after` had passed, or its gate did not open. The connection is kept."""


class Exchange:
    """One request on its way: the time and bytes it still has, and what it has met so far.

    target        request target, sent byte for byte
    origin        scheme, host (IPv6 without brackets), port
    pinned        the only address to connect to; None: any of the host's
    fresh         not over a connection that was kept alive
    not_after     monotonic second after which it is not sent any more
    gate          waited at between connecting and sending
    bytes_left    bytes that may still be received, head and framing included
    reused        the connection was kept alive from an earlier request
    retried       sent a second time on a fresh connection
    sent          the request has been handed to the system in full: the site may have it
    sent_s        monotonic second when it was
    contacted_s   monotonic second when the connection was begun that no request had been sent over before
    first_byte_s  monotonic second of the first byte of the response
    """

    def __init__(
        self,
        *,
        origin: tuple[str, str, int],
        target: str,
        started_s: float,
        deadline_s: float,
        bytes_max: int,
        pinned: str | None = None,
        fresh: bool = False,
        not_after: float | None = None,
        gate: Gate | None = None,
    ) -> None:
        self.pinned = pinned
        self.fresh = fresh
        self.not_after = not_after
        self.gate = gate
        self.origin = origin
        self.target = target
        self.started_s = started_s
        self.until_s = started_s + deadline_s
        self.bytes_left = bytes_max
        self.reused = False
        self.retried = False
        self.sent = False
        self.sent_s: float | None = None
        self.contacted_s: float | None = None
        self.address: str | None = None
        self.dns_ms: float | None = None
        self.connect_ms: float | None = None
        self.first_byte_s: float | None = None

    def left_s(self) -> float:
        """Seconds to the deadline. Raises TimeoutError when there are none."""
        left = self.until_s - time.monotonic()
        if left <= 0:
            raise TimeoutError("deadline passed")
        return left

    def check_not_late(self) -> None:
        """Raises TooLate."""
        if self.not_after is not None and time.monotonic() > self.not_after:
            raise TooLate

    def received(self, count: int) -> None:
        if self.first_byte_s is None and count:
            self.first_byte_s = time.monotonic()
        self.bytes_left -= count
        if self.bytes_left < 0:
            raise Broken(Failure.PROTOCOL, "more bytes than any response within the limits has")


class _PlainSocket(socket.socket):
    """A socket whose every receive ends by the deadline of the exchange that it serves, and that sends nothing after it.

    TCP sends again what is not acknowledged, for a quarter of an hour, and goes on when the socket is closed or its process
    killed: a request that we gave up would reach the site while another of us visits it.
    """

    exchange: Exchange

    def serve(self, exchange: Exchange) -> None:
        """From now on this one. Linux gives up at its deadline what was not acknowledged until then (tcp(7))."""
        self.exchange = exchange
        left_s = exchange.left_s()
        self.settimeout(left_s)
        if TCP_USER_TIMEOUT is not None:
            self.setsockopt(socket.IPPROTO_TCP, TCP_USER_TIMEOUT, max(int(left_s * 1000), 1))

    def abandon(self) -> None:
        """Before it is closed: what has not been sent is not to be, and what was is not sent again (socket(7))."""
        self.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)

    def makefile(self, *_: Any, **__: Any) -> Any:
        """What http.client reads from; with room for a usual page, as each receive costs turns at the interpreter's lock."""
        return super().makefile("rb", READ_BYTES)

    def recv_into(self, *args: Any) -> int:
        self.settimeout(self.exchange.left_s())
        count = super().recv_into(*args)
        self.exchange.received(count)
        return count


class _TlsSocket(_PlainSocket, ssl.SSLSocket):
    """The same over TLS."""

    def has_ended(self) -> bool:
        """Whether the peer has closed it, or said something that nobody asked for. Session tickets are taken in and are neither.
        To be called without a timeout."""
        try:
            self.read(1)
        except ssl.SSLWantReadError:
            return False
        except OSError:
            return True
        return True


class Dialler:
    """Opens sockets to addresses that were judged, and to no others.

    require_contact   no contact is configured: public addresses are refused (I1)
    """

    def __init__(self, resolver: Resolver, guard: Guard, *, require_contact: bool) -> None:
        self._resolver = resolver
        self._guard = guard
        self._require_contact = require_contact

    def dial(self, host: str, port: int, exchange: Exchange) -> _PlainSocket:
        """A connected socket. Raises Broken: DNS, ADDRESS, REFUSED or CONNECT_TIMEOUT."""
        addresses = [exchange.pinned] if exchange.pinned else self._resolve(host, port, exchange)
        for address in addresses:
            self._judge(host, address)
        return self._connect_first(addresses[:ADDRESSES_TRIED_MAX], port, exchange)

    def where(self, host: str, port: int, timeout_s: float) -> tuple[str, ...]:
        """The addresses that `dial` would connect to, none when it would raise DNS, ADDRESS or NotSent."""
        try:
            addresses = self._resolver.resolve(host, port, timeout_s)
            for address in addresses:
                self._judge(host, address)
        except (DnsFailed, Broken, NotSent):
            return ()
        return tuple(addresses[:ADDRESSES_TRIED_MAX])

    def _resolve(self, host: str, port: int, exchange: Exchange) -> list[str]:
        begin_s = time.monotonic()
        try:
            return self._resolver.resolve(host, port, max(exchange.until_s - begin_s, 0.001))
        except DnsFailed as error:
            raise Broken(Failure.DNS, str(error)) from error
        finally:
            exchange.dns_ms = (time.monotonic() - begin_s) * 1000

    def _judge(self, host: str, address: str) -> None:
        if (why := self._guard.why(address)) is not None:
            raise Broken(Failure.ADDRESS, f"{host} is {address}: {why}")
        if self._require_contact and is_public(address):
            raise Broken(Failure.ADDRESS, f"{host} ({address}) {NO_CONTACT}")

    def _connect_first(self, addresses: list[str], port: int, exchange: Exchange) -> _PlainSocket:
        begin_s = time.monotonic()
        until_s = min(exchange.until_s, begin_s + CONNECT_S_MAX)
        broken = Broken(Failure.CONNECT_TIMEOUT, "no time was left to connect")
        try:
            for tries_left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
                share_s = (until_s - time.monotonic()) / tries_left
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
            exchange.connect_ms = (time.monotonic() - begin_s) * 1000
        exchange.address = None
        raise broken


def _connect(address: str, port: int, timeout_s: float, exchange: Exchange) -> _PlainSocket:
    sock = _PlainSocket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout_s)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.connect((address, port))
    except BaseException:
        sock.close()
        raise
    sock.exchange = exchange
    return sock


def handshake(context: ssl.SSLContext, sock: _PlainSocket, host: str, exchange: Exchange) -> ssl.SSLSocket:
    """The verified session on `sock`; connect_ms then includes it. Raises Broken: TLS or CONNECT_TIMEOUT."""
    begin_s = time.monotonic()
    try:
        sock.settimeout(exchange.left_s())
        secure = context.wrap_socket(sock, server_hostname=host)
        assert isinstance(secure, _TlsSocket)
        secure.exchange = exchange
        return secure
    except TimeoutError as error:
        sock.close()
        raise Broken(Failure.CONNECT_TIMEOUT, "TLS handshake did not end in time") from error
    except (OSError, ValueError) as error:  # ValueError: a name that cannot stand in a certificate
        sock.close()
        raise Broken(Failure.TLS, getattr(error, "verify_message", "") or str(error)) from error
    finally:
        exchange.connect_ms = (exchange.connect_ms or 0) + (time.monotonic() - begin_s) * 1000


def tls_context(ca_file: str | None) -> ssl.SSLContext:
    """Verifies against the system's authorities (or SSL_CERT_FILE), certifi's and those in `ca_file`."""
    context = urllib3.util.ssl_.create_urllib3_context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.check_hostname = True
    context.set_alpn_protocols(["http/1.1"])
    context.sslsocket_class = _TlsSocket
    context.load_default_certs()
    context.load_verify_locations(certifi.where())
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context
