"""The road that `requests` takes here: a transport adapter, its pools and their connections.

Keeps urllib3's connection, pool and HTTPResponse with the decoders, and replaces what does not fit:

- connections are dialled by `app.net.dial` and read heads with `app.net.head`;
- the request target goes out as given: urlopen would quote `[` and change the case of `%7e`;
- an origin has at most one idle connection, dropped when idle too long, and all origins together have a
  bound;
- no proxies, cookies, netrc; no redirects, no retries.

Raises `Broken` for whatever goes wrong up to the end of the head. `app.net.http` makes the Reply.
"""

import http.client
import queue
import ssl
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter

from app.model.fetch import Failure, Gate
from app.net.decode import Response
from app.net.dial import Broken, Dialler, Exchange, TooLate, handshake, tls_context
from app.net.head import Head

Origin = tuple[str, str, int]
STARTS_TRIED = 3  # that pass, or while whose wait the server closes


class _Connection(urllib3.connection.HTTPConnection):
    """An http connection, or, with `tls` set, an https one."""

    response_class = Head
    tls: ssl.SSLContext | None = None
    exchange: Exchange
    dialler: Dialler
    _buffer: list[bytes]  # http.client's: the lines of the head so far
    sock: Any  # _PlainSocket or _TlsSocket of app.net.dial, None when closed
    connected_to: str | None = None
    idle_since_s = 0.0
    begun_s: float | None = None  # when connecting began, until a request is sent over it
    connect_ms: float | None = None  # what it took, as long

    def connect(self) -> None:
        begun_s = time.monotonic()
        sock = self.dialler.dial(self._dns_host, self.port, self.exchange)
        self.sock = sock if self.tls is None else handshake(self.tls, sock, self.host, self.exchange)
        self.sock.serve(self.exchange)
        self.connected_to = self.exchange.address
        self.begun_s, self.connect_ms = begun_s, self.exchange.connect_ms

    @property
    def is_connected(self) -> bool:
        """Whether the server has kept it open and silent. urllib3 takes any byte for its end; over TLS 1.3 the first ones are
        session tickets, unread until something is read."""
        if self.sock is None:
            return False
        if not urllib3.util.wait_for_read(self.sock, timeout=0.0):
            return True
        if self.tls is None:
            return False
        try:
            self.sock.settimeout(0.0)
            return not self.sock.has_ended()
        finally:
            self.sock.settimeout(None)

    def request(  # type: ignore[override]
        self, method: str, url: str, *_: Any, headers: Mapping[str, str], **__: Any
    ) -> None:
        """http.client's, without urllib3's search for headers to add: `app.net.http` gave them all."""
        exchange = self.exchange
        if self.sock is not None:
            exchange.address = self.connected_to
            self.sock.serve(exchange)
        else:
            exchange.check_not_late()
            self.connect()
        exchange.check_not_late()
        if exchange.gate is not None:
            self._pass(exchange.gate)
        if self.begun_s is not None:
            exchange.contacted_s, exchange.connect_ms = self.begun_s, self.connect_ms
            self.begun_s = self.connect_ms = None
        self.putrequest(method, url, skip_host=True, skip_accept_encoding=True)
        # What putheader would do one by one, with a search of each name and value, in three times the time.
        fields = "\r\n".join([f"{name}: {value}" for name, value in headers.items()])
        if not fields.count("\n") == fields.count("\r") == len(headers) - 1:
            raise ValueError("a header field with a line break")
        self._buffer.append(fields.encode("latin-1"))
        self.endheaders()
        exchange.sent, exchange.sent_s = True, time.monotonic()
        if exchange.gate is not None:
            exchange.gate.sent(exchange.sent_s)

    def _pass(self, gate: Gate) -> None:
        """Wait at the gate. Where the server closes meanwhile, that start is lost: connect, and wait for another. So it is where
        this thread was held up.

        Raises TooLate.
        """
        for _ in range(STARTS_TRIED):
            waits_from_s = time.monotonic()
            if not gate.open():
                raise TooLate
            self.exchange.until_s += time.monotonic() - waits_from_s
            is_connected = self.is_connected
            if is_connected:
                self.sock.serve(self.exchange)
                if not gate.is_late():
                    self.exchange.started_s = time.monotonic()
                    return
            gate.sent(time.monotonic())
            if not is_connected:
                self.close()
                self.exchange.reused = False
                self.connect()
        raise TooLate

    def getresponse(self) -> Response:  # type: ignore[override]
        head = http.client.HTTPConnection.getresponse(self)
        assert isinstance(head, Head)
        return Response(
            head.fields,
            body=head,
            status=head.status,
            version=head.version,
            reason=head.reason,
            preload_content=False,
            original_response=head,
            request_method="GET",
        )


class _Idle:
    """An origin's idle connection, where urllib3 has a queue: nobody ever waits for it, so it needs no condition."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self.queue: list[_Connection | None] = []

    def get(self, block: bool = False, timeout: float | None = None) -> "_Connection | None":
        """Raises queue.Empty."""
        try:
            return self.queue.pop()
        except IndexError:
            raise queue.Empty from None

    def put(self, conn: "_Connection | None", block: bool = False) -> None:
        """Raises queue.Full."""
        with self._lock:
            if len(self.queue) >= self._most:
                raise queue.Full
            self.queue.append(conn)

    def qsize(self) -> int:
        return len(self.queue)


class _Pool(urllib3.HTTPConnectionPool):
    """The connections of one origin: any number in use, at most one idle."""

    QueueCls = _Idle  # type: ignore[assignment]  # all that it asks of one

    def __init__(self, origin: Origin, dialler: Dialler, tls: ssl.SSLContext | None, idle_s: float) -> None:
        scheme, host, port = origin
        super().__init__(host, port, maxsize=1)
        self.scheme = scheme
        self._dialler = dialler
        self._tls = tls
        self._idle_s = idle_s

    def _new_conn(self) -> Any:
        conn = _Connection(self.host, self.port)
        conn.dialler = self._dialler
        conn.tls = self._tls
        return conn

    def _get_conn(self, timeout: float | None = None) -> Any:
        conn: Any = super()._get_conn(timeout)  # closes one that the server has closed
        if conn.idle_since_s < time.monotonic() - self._idle_s:
            conn.close()
        return conn

    def _put_conn(self, conn: Any) -> None:
        if conn is not None:
            conn.idle_since_s = time.monotonic()
        super()._put_conn(conn)

    def ask(self, request: "WireRequest", exchange: Exchange) -> Response:
        """Send the request over the idle connection, or a new one, and read the head. The response gives the connection back.

        In place of urlopen, a quarter of whose time goes into what is left out here: proxies, retries, redirects, bodies, and
        quoting the target again. Raises Broken, TooLate.
        """
        conn = self._get_conn()
        try:
            conn.exchange = exchange
            if exchange.fresh or (exchange.pinned is not None and conn.connected_to != exchange.pinned):
                conn.close()
            exchange.reused = not conn.is_closed
            # A server may answer and close before it has read everything: the answer counts, as in urllib3.
            with suppress(BrokenPipeError, ConnectionResetError):
                conn.request("GET", exchange.target, headers=request.headers)
            response: Response = conn.getresponse()
        except TooLate:
            self._keep(conn, exchange)
            raise
        except BaseException as error:
            if conn.sock is not None:
                conn.sock.abandon()
            conn.close()
            self._put_conn(None)
            if isinstance(error, OSError | http.client.HTTPException | urllib3.exceptions.HTTPError):
                raise _broken_by(error) from error
            raise
        response._connection = conn
        response._pool = self
        return response

    def _keep(self, conn: _Connection, exchange: Exchange) -> None:
        """Of a request that was not sent. A connection that no request went over is kept for the next start only where that comes
        at once: at a gate that did not open it would stand unused, one of many."""
        exchange.contacted_s, exchange.connect_ms = conn.begun_s, conn.connect_ms
        conn.begun_s = conn.connect_ms = None
        if exchange.contacted_s is not None and exchange.gate is not None:
            conn.close()
        self._put_conn(None if conn.is_closed else conn)

    def kept_to(self) -> str | None:
        """The address of the idle connection, if there is one that is not too old."""
        idle: Any = self.pool.queue[-1:] if self.pool is not None else ()
        conn = idle[0] if idle else None
        if conn is None or conn.is_closed or conn.idle_since_s < time.monotonic() - self._idle_s:
            return None
        return str(conn.connected_to)

    def drop_idle(self, since_s: float) -> bool:
        """Closes the idle connection when nobody has used it after `since_s`. True when it did."""
        try:
            conn = self.pool.get(block=False) if self.pool is not None else None
        except queue.Empty:  # in use
            return False
        if conn is None:
            return False
        drop: bool = not conn.is_closed and conn.idle_since_s <= since_s
        if drop:
            conn.close()
        super()._put_conn(conn)  # ours would set idle_since_s
        return drop


def _broken_by(error: Exception) -> Broken:
    """The failure that an error before the end of the head stands for."""
    if isinstance(error, TimeoutError | urllib3.exceptions.TimeoutError):
        return Broken(Failure.TIMEOUT, "the deadline passed before the headers were complete")
    if isinstance(error, OSError):  # RemoteDisconnected too, which is also an HTTPException
        return Broken(Failure.RESET, error.strerror or str(error))
    return Broken(Failure.PROTOCOL, f"{type(error).__name__}: {error}")


class Wire(HTTPAdapter):
    """The transport adapter: pools by origin, the least recently used go first. Thread-safe."""

    def __init__(self, dialler: Dialler, *, ca_file: str | None, idle_s: float, origins_max: int) -> None:
        super().__init__()
        self._dialler = dialler
        self._ca_file = ca_file
        self._tls: ssl.SSLContext | None = None  # 30 ms to make: when first needed
        self._idle_s = idle_s
        self._origins_max = origins_max
        self._lock = threading.Lock()
        self._pools: OrderedDict[Origin, _Pool] = OrderedDict()
        self._swept_s = time.monotonic()

    def pool(self, origin: Origin) -> _Pool:
        oldest: _Pool | None = None
        with self._lock:
            if (pool := self._pools.get(origin)) is not None:
                self._pools.move_to_end(origin)
                return pool
            pool = self._pools[origin] = _Pool(origin, self._dialler, self._tls_for(origin), self._idle_s)
            if len(self._pools) > self._origins_max:
                _, oldest = self._pools.popitem(last=False)
        if oldest is not None:
            oldest.drop_idle(time.monotonic())
        return pool

    def kept_to(self, origin: Origin) -> str | None:
        """The address of the origin's idle connection, None when there is none."""
        with self._lock:
            pool = self._pools.get(origin)
        return pool.kept_to() if pool is not None else None

    def _tls_for(self, origin: Origin) -> ssl.SSLContext | None:
        if origin[0] != "https":
            return None
        if self._tls is None:
            self._tls = tls_context(self._ca_file)
        return self._tls

    def close_idle(self, idle_s: float | None = None) -> int:
        """Closes connections idle for `idle_s` (default: the wire's) or longer. The number closed."""
        now_s = time.monotonic()
        with self._lock:
            self._swept_s = now_s
            pools = list(self._pools.values())
        since_s = now_s - (self._idle_s if idle_s is None else idle_s)
        return sum(pool.drop_idle(since_s) for pool in pools)

    def sweep_if_due(self) -> None:
        """close_idle, a few times per idle time: no timer is needed while there is traffic."""
        if time.monotonic() - self._swept_s > self._idle_s / 4:
            self.close_idle()

    def close(self) -> None:
        self.close_idle(0.0)
        with self._lock:
            self._pools.clear()

    def send(self, request: Any, stream: bool = True, timeout: Any = None, *_: Any, **__: Any) -> requests.Response:
        """request: a WireRequest.   timeout: its Exchange.   Always streams. Raises Broken, TooLate."""
        assert isinstance(request, WireRequest)
        assert isinstance(timeout, Exchange)
        return self.build_response(request, self.pool(request.origin).ask(request, timeout))

    def build_response(self, req: requests.PreparedRequest, resp: Any) -> requests.Response:
        return _Streamed(req, resp)


class _Streamed(requests.Response):
    """A response whose body nobody has read, made by hand: the cookie jar and the rest of it, which we have no use for, take
    as long as reading the head."""

    def __init__(self, request: requests.PreparedRequest, raw: Any) -> None:
        self._content = False  # type: ignore[assignment]  # requests' own way to say "not read yet"
        self._content_consumed = False
        self.status_code, self.reason = raw.status, raw.reason
        self.headers = raw.fields
        self.encoding = None
        self.raw = raw
        self.request, self.url, self.history = request, request.url or "", []


class WireRequest(requests.PreparedRequest):
    """A GET, prepared by hand: requests would quote the URL again, and take twice the time.

    headers: sent in this order, Host first.   origin: as in Exchange.
    """

    origin: Origin

    def __init__(self, url: str, origin: Origin, headers: dict[str, str]) -> None:
        self.method = "GET"
        self.url = url
        self.headers = headers  # type: ignore[assignment]
        self.origin = origin
