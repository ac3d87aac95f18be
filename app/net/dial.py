"""Connects to addresses that the guard allows, and to no others.

Resolves once, has the guard check every address, and connects to one that it allows: no name can point elsewhere in
between. The others are dropped before: no failed connection leads to them. It does not speak HTTP: that is
`app.net.head` and `app.net.connection`. Errors are those of `app.net.exchange`.
"""

import socket
from collections.abc import Callable, Sequence

from app.clock import monotonic
from app.errors import NotSent
from app.model.fetch import Failure
from app.net.address import NO_CONTACT, Guard
from app.net.dns import DnsFailed, Resolver
from app.net.exchange import Broken, Exchange
from app.net.exhausted import exhausted, is_ours
from app.net.sockets import PlainSocket

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
