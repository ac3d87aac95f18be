"""Connects to addresses that the guard allows, and to no others.

Resolves once, has the guard check every address, and connects to one of them: no name can point elsewhere in between.
It does not speak HTTP: that is `app.net.head` and `app.net.connection`. Errors are those of `app.net.exchange`.
"""

import socket

from app.clock import monotonic
from app.errors import NotSent
from app.model.fetch import Failure
from app.net.address import Guard, is_public
from app.net.dns import DnsFailed, Resolver
from app.net.exchange import Broken, Exchange
from app.net.exhausted import exhausted, is_ours
from app.net.sockets import PlainSocket

# A SYN is sent again after 1, 3 and 7 s (RFC 6298): a server that has not answered by then is down.
CONNECT_S_MAX = 10.0
ADDRESSES_TRIED_MAX = 4
NO_CONTACT = "is public and no contact is set; set TIPTOE_CONTACT to the mail address or page of whoever runs the crawl"


class Dialler:
    """Opens sockets to addresses that the guard allows, and to no others.

    require_contact   no contact is configured: public addresses are refused (promise I1)
    """

    def __init__(self, resolver: Resolver, guard: Guard, *, require_contact: bool) -> None:
        self.resolver = resolver
        self._guard = guard
        self._require_contact = require_contact

    def dial(self, host: str, port: int, exchange: Exchange) -> PlainSocket:
        """Connect, and return the socket. Raises Broken: DNS, ADDRESS, REFUSED or CONNECT_TIMEOUT."""
        addresses = [exchange.pinned] if exchange.pinned else self._resolve(host, port, exchange)
        for address in addresses:
            self._judge(host, address)
        return self._connect_first(addresses[:ADDRESSES_TRIED_MAX], port, exchange)

    def where(self, host: str, port: int, timeout_s: float) -> tuple[str, ...]:
        """The addresses that `dial` would try, in order; none when it would raise DNS, ADDRESS or NotSent."""
        try:
            addresses = self.resolver.resolve(host, port, timeout_s)
            for address in addresses:
                self._judge(host, address)
        except (DnsFailed, Broken, NotSent):
            return ()
        return tuple(addresses[:ADDRESSES_TRIED_MAX])

    def _resolve(self, host: str, port: int, exchange: Exchange) -> list[str]:
        begin_s = monotonic()
        try:
            return self.resolver.resolve(host, port, max(exchange.until_s - begin_s, 0.001))
        except DnsFailed as error:
            raise Broken(Failure.DNS, str(error)) from error
        finally:
            exchange.dns_ms = (monotonic() - begin_s) * 1000

    def _judge(self, host: str, address: str) -> None:
        if (why := self._guard.why(address)) is not None:
            raise Broken(Failure.ADDRESS, f"{host} is {address}: {why}")
        if self._require_contact and is_public(address):
            raise Broken(Failure.ADDRESS, f"{host} ({address}) {NO_CONTACT}")

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
