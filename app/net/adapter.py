"""A transport adapter of requests that cannot be led to a private address.

Every socket it opens goes to an address that was checked, whatever the URL, a redirect or a name server says: the name
is resolved once, and the connection is made to that answer. It works on any `requests.Session`:

    session = requests.Session()
    adapter = GuardedAdapter()
    session.mount("http://", adapter)
    session.mount("https://", adapter)

It refuses whatever would bypass its connections or weaken them: proxies, unverified TLS, client certificates.
`app.net.http` does not need a Session: it calls `exchange`, which takes a fifth of the CPU.
"""

import http.client
import queue
import re
import ssl
import threading
from collections import OrderedDict
from functools import partial
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter

from app.clock import monotonic
from app.model.fetch import Failure
from app.net.address import make_guard
from app.net.body import Response
from app.net.connection import Dialler, Endpoint, GuardedConnection, GuardedTlsConnection
from app.net.dns import Resolver
from app.net.exchange import Broken, Exchange, Origin, TooLate
from app.net.sockets import ONLY_HTTP2, has_name_for_openssl, tls_context

# Connections by origin: urllib3's pools, each of which keeps at most one idle connection, for a short time.
#
# The least recently used origins are evicted first. A Session's pool dials just as the sender's does: there is no other
# way to a socket from here. Raises `Broken` for any failure up to the end of the head.


# How HTTP/2 begins, whatever was asked: a SETTINGS frame (RFC 9113 3.4, 4.1, 6.5).
_SETTINGS = re.compile("\\0\\0.\\x04\\0\\0\\0\\0\\0", re.DOTALL)
PORTS = {"http": 80, "https": 443}


class Idle:
    """An origin's idle connection, in place of urllib3's queue. Nothing ever waits for it, so it needs no condition."""

    def __init__(self, maxsize: int = 1, *, idle_s: float) -> None:
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._kept: GuardedConnection | None = None

    def get(self, block: bool = False, timeout: float | None = None) -> GuardedConnection:
        """Take the connection, closed if it was idle too long. Raises queue.Empty."""
        with self._lock:
            conn, self._kept = self._kept, None
        if conn is None:
            raise queue.Empty
        if conn.idle_since_s < monotonic() - self._idle_s:
            conn.close()
        return conn

    def put(self, conn: GuardedConnection | None, block: bool = False) -> None:
        """Keep a connection, or close it if there is one already.

        None, urllib3's sign for one yet to be made, is ignored.
        """
        if conn is None:
            return
        conn.idle_since_s = monotonic()
        with self._lock:
            if self._kept is None:
                self._kept = conn
                return
        conn.close()

    def address(self) -> str | None:
        """The address of the idle connection; None when there is none, or it is too old."""
        conn = self._kept
        if conn is None or conn.is_closed or conn.idle_since_s < monotonic() - self._idle_s:
            return None
        return conn.connected_to

    def drop(self, since_s: float) -> bool:
        """Close the idle connection if it was not used after `since_s`. Returns whether it did."""
        with self._lock:
            conn = self._kept
            if conn is None or conn.is_closed or conn.idle_since_s > since_s:
                return False
            self._kept = None
        conn.close()
        return True


class Pool(urllib3.HTTPConnectionPool):
    """The connections of one origin: any number in use, at most one idle."""

    def __init__(self, endpoint: Endpoint, idle_s: float) -> None:
        self.QueueCls: Any = partial(Idle, idle_s=idle_s)  # a pool calls nothing else of its queue
        scheme, host, port = endpoint.origin
        super().__init__(host, port, maxsize=1, endpoint=endpoint)
        self.scheme = scheme
        self.ConnectionCls = GuardedConnection if endpoint.tls is None else GuardedTlsConnection
        self.idle: Idle = self.pool  # type: ignore[assignment]  # a pool makes its queue by QueueCls

    def ask(self, exchange: Exchange) -> Response:
        """Send the request over the idle or a new connection, and read the head. The response returns the connection.

        Replaces urlopen, a quarter of whose time goes into steps that are left out here: proxies, retries, redirects,
        bodies, and quoting the target again. Raises Broken, TooLate.
        """
        conn: Any = self._get_conn()  # urllib3's method: it closes a connection that the server has closed
        try:
            conn.exchange = exchange
            if exchange.fresh or (exchange.pinned is not None and conn.connected_to != exchange.pinned):
                conn.close()
            exchange.reused = not conn.is_closed
            head = conn.ask(exchange)
            return Response(head, pool=self, connection=conn)
        except TooLate:
            self._keep(conn, exchange)
            raise
        except BaseException as error:
            conn.abandon()
            if isinstance(error, OSError | http.client.HTTPException | urllib3.exceptions.HTTPError):
                raise _broken_by(error) from error
            raise

    def _keep(self, conn: GuardedConnection, exchange: Exchange) -> None:
        """Keep the connection of a request that was not sent.

        A new one whose gate did not open is closed: it would stand unused, one of many."""
        conn.tell_of_connecting()
        if exchange.contacted_s is not None and exchange.gate is not None:
            conn.close()
        self.idle.put(conn)


class Pools(urllib3.PoolManager):
    """Pools by origin, in place of urllib3's manager. Thread-safe.

    ca_file       PEM of authorities trusted besides the system's and certifi's
    idle_s        idle connections are closed after this
    origins_max   origins that may have an idle connection
    """

    def __init__(self, dialler: Dialler, *, ca_file: str | None, idle_s: float, origins_max: int) -> None:
        super().__init__(num_pools=origins_max)
        self._dialler = dialler
        self._ca_file = ca_file
        self._idle_s = idle_s
        self._origins_max = origins_max
        self._lock = threading.Lock()
        self.protected: frozenset[Origin] = frozenset()  # origins that get credentials: no RSA key exchange with them
        self._contexts: dict[Any, ssl.SSLContext] = {}  # 30 ms to make each: when first needed
        self._by_origin: OrderedDict[tuple[Any, ...], Pool] = OrderedDict()
        self._swept_s = monotonic()

    def of(self, origin: Origin, ca: tuple[str | None, str | None] | None = None) -> Pool:
        """The pool of an origin.   ca: a file and a directory of authorities that stand in for `ca_file`"""
        key = origin if ca is None else (*origin, ca)
        oldest: Pool | None = None
        with self._lock:
            if (pool := self._by_origin.get(key)) is not None:
                self._by_origin.move_to_end(key)
                return pool
            tls = self._tls(origin, ca or (self._ca_file, None)) if origin[0] == "https" else None
            endpoint = Endpoint(origin=origin, dialler=self._dialler, tls=tls)
            pool = self._by_origin[key] = Pool(endpoint, self._idle_s)
            if len(self._by_origin) > self._origins_max:
                _, oldest = self._by_origin.popitem(last=False)
        if oldest is not None:
            oldest.idle.drop(monotonic())
        return pool

    def _tls(self, origin: Origin, ca: tuple[str | None, str | None]) -> ssl.SSLContext:
        checks_name, forward_secret = has_name_for_openssl(origin[1]), origin in self.protected
        key = (*ca, checks_name, forward_secret)
        if key not in self._contexts:
            self._contexts[key] = tls_context(*ca, checks_name=checks_name, forward_secret=forward_secret)
        return self._contexts[key]

    def connection_from_host(
        self,
        host: str | None,
        port: int | None = None,
        scheme: str | None = "http",
        pool_kwargs: dict[str, Any] | None = None,
    ) -> Pool:
        """Find a pool for requests, which also calls this through connection_from_url. Uses only the authorities of
        `pool_kwargs`, and nothing that would verify less. Raises LocationValueError."""
        scheme = (scheme or "http").lower()
        if not host:
            raise urllib3.exceptions.LocationValueError("No host specified.")
        if scheme not in PORTS:
            raise urllib3.exceptions.URLSchemeUnknown(scheme)
        given = pool_kwargs or {}
        ca = given.get("ca_certs"), given.get("ca_cert_dir")
        return self.of((scheme, host.strip("[]"), port or PORTS[scheme]), ca if any(ca) else None)

    def kept_to(self, origin: Origin) -> str | None:
        """The address of the origin's idle connection; None when there is none."""
        with self._lock:
            pool = self._by_origin.get(origin)
        return pool.idle.address() if pool is not None else None

    def close_idle(self, idle_s: float | None = None) -> int:
        """Close connections idle for `idle_s` (default: the pools') or longer. Returns how many."""
        now_s = monotonic()
        with self._lock:
            self._swept_s = now_s
            pools = list(self._by_origin.values())
        since_s = now_s - (self._idle_s if idle_s is None else idle_s)
        return sum(pool.idle.drop(since_s) for pool in pools)

    def sweep_if_due(self) -> None:
        """Call close_idle a few times per idle time: no timer is needed while there is traffic."""
        if monotonic() - self._swept_s > self._idle_s / 4:
            self.close_idle()

    def clear(self) -> None:
        self.close_idle(0.0)
        with self._lock:
            self._by_origin.clear()


def _broken_by(error: Exception) -> Broken:
    """Translate an error that occurred before the end of the head."""
    if isinstance(error, TimeoutError | urllib3.exceptions.TimeoutError):
        return Broken(Failure.TIMEOUT, "the deadline passed before the headers were complete")
    if isinstance(error, OSError):  # RemoteDisconnected too, which is also an HTTPException
        return Broken(Failure.RESET, error.strerror or str(error))
    if isinstance(error, http.client.BadStatusLine) and _SETTINGS.match(str(error)):
        return Broken(Failure.PROTOCOL, ONLY_HTTP2)
    return Broken(Failure.PROTOCOL, f"{type(error).__name__}: {error}")


class AddressRefused(requests.ConnectionError):
    """The host of a request or a redirect has an address that may not be contacted. `str(error)` says which and why."""


class GuardedAdapter(HTTPAdapter):
    """Gives requests' adapter pools whose every connection is guarded. Thread-safe; make it after a fork.

    dialler       resolves and checks addresses; default: public addresses, by the system's resolver
    ca_file       PEM of authorities trusted besides the system's and certifi's
    idle_s        idle connections are closed after this
    origins_max   origins that may have an idle connection, at most one each
    max_retries   as in requests; used by `send` only
    """

    poolmanager: Pools

    def __init__(
        self,
        dialler: Dialler | None = None,
        *,
        ca_file: str | None = None,
        idle_s: float = 30.0,
        origins_max: int = 256,
        max_retries: Any = 0,
    ) -> None:
        self.dialler = dialler or Dialler(Resolver(), make_guard(), require_contact=False)
        self._ca_file = ca_file
        self._idle_s = idle_s
        super().__init__(pool_connections=origins_max, pool_maxsize=1, max_retries=max_retries)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **pool_kwargs: Any) -> None:
        """Make the guarded pools: requests' hook, called by its constructor."""
        self.poolmanager = Pools(self.dialler, ca_file=self._ca_file, idle_s=self._idle_s, origins_max=connections)

    def exchange(self, exchange: Exchange) -> Response:
        """Send one request and read the head of its response. Raises Broken, TooLate, NotSent."""
        return self.poolmanager.of(exchange.origin).ask(exchange)

    def kept_to(self, origin: Origin) -> str | None:
        """The address of the origin's idle connection, None when there is none."""
        return self.poolmanager.kept_to(origin)

    def send(self, request: requests.PreparedRequest, *args: Any, **given: Any) -> requests.Response:
        """Send one request. requests calls this for each request and for each redirect.

        timeout: as in requests, but each part bounds the whole phase: connecting and sending, then the response to its
        last byte. Without one, 300 s each.

        Raises AddressRefused, and what requests raises.
        """
        try:
            return super().send(request, *args, **given)
        except Broken as broken:
            raise AddressRefused(broken.detail, request=request) from broken

    def proxy_manager_for(self, proxy: str, **_: Any) -> Any:
        """Refuse a proxy: requests' hook. Raises ProxyError: a proxy would connect in our place, to any address."""
        raise requests.exceptions.ProxyError(
            f"{proxy} would connect unguarded; set session.trust_env = False, and give no proxies"
        )

    def build_connection_pool_key_attributes(
        self, request: requests.PreparedRequest, verify: Any, cert: Any = None
    ) -> Any:
        """Check the TLS options: requests' hook.

        Raises SSLError for verify=False on https, and for a client certificate.
        """
        if (verify is False and (request.url or "").lower().startswith("https:")) or cert is not None:
            raise requests.exceptions.SSLError(
                "TLS is always verified here, without client certificates; "
                "give verify=<path of a CA bundle>, and no cert"
            )
        return super().build_connection_pool_key_attributes(request, verify, cert)
