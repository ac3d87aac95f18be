"""Sockets, plain or over TLS, bounded by the deadline and the bytes of the exchange that they serve.

The deadline is for the whole response: the timeouts of requests and urllib3 count from byte to byte, so a server that
drips could hold them for ever. TLS is always verified. `app.net.connection` connects these sockets.

That this process or machine has run out of file descriptors, buffers or memory is recognised here: no host is at fault
then, and none was contacted.
"""

import errno
import socket
import ssl
import struct
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import BufferedReader, RawIOBase
from typing import Any

import certifi
from urllib3.util.ssl_ import create_urllib3_context
from urllib3.util.ssl_match_hostname import match_hostname

from app.clock import monotonic
from app.errors import NotSent
from app.model.fetch import Failure
from app.net.exchange import Broken, Exchange

READ_BYTES = 64 * 1024
TCP_USER_TIMEOUT: int | None = getattr(socket, "TCP_USER_TIMEOUT", None)
NO_LINGER = struct.pack("ii", 1, 0)

# What Firefox offers for TLS 1.2 (netwerk/base/security-prefs.inc), in its order, whatever the build of Python or
# OpenSSL prefers. No DHE: servers choose groups of 1024 bits for it, which OpenSSL refuses, though they have better.
# TLS 1.3's three suites are always offered.
FORWARD_SECRET = (
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-AES256-SHA",
    "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-RSA-AES128-SHA",
    "ECDHE-RSA-AES256-SHA",
)
# Whoever gets the server's key later can read what was recorded: public pages, and nothing that is ours.
RSA_KEY_EXCHANGE = ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA", "AES256-SHA")
ONLY_OLD_TLS = (
    "the server speaks only TLS 1.0 or 1.1, which are withdrawn (RFC 8996); the oldest that we speak is TLS 1.2"
)
ONLY_HTTP2 = "the server speaks only HTTP/2; we speak HTTP/1.1"
# OpenSSL's words for what a server answers, or for its alert (RFC 8446 6.2); Python's `reason` lacks some.
_NAMED = {
    "unsupported protocol": ONLY_OLD_TLS,
    "alert protocol version": ONLY_OLD_TLS,
    "wrong ssl version": ONLY_OLD_TLS,
    "alert no application protocol": ONLY_HTTP2,
}
REMEDY = "raise `ulimit -n` of the process or lower its --concurrency"


class PlainSocket(socket.socket):
    """A socket that receives and sends nothing after the deadline of the exchange that it serves.

    TCP resends unacknowledged data for a quarter of an hour, even when the socket is closed or its process killed: a
    request that we gave up could reach the site while another worker visits it.
    """

    exchange: Exchange

    def serve(self, exchange: Exchange) -> None:
        """Serve this exchange from now on. Linux drops data that is not acknowledged by its deadline (tcp(7))."""
        self.exchange = exchange
        left_s = exchange.left_s()
        self.settimeout(left_s)
        if TCP_USER_TIMEOUT is not None:
            self.setsockopt(socket.IPPROTO_TCP, TCP_USER_TIMEOUT, max(int(left_s * 1000), 1))

    def abandon(self) -> None:
        """Drop unsent and unacknowledged data when the socket is closed (socket(7)). Call it before closing."""
        self.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)

    def makefile(self, *_: Any, **__: Any) -> Any:
        """The file that http.client reads.

        Its buffer holds a usual page: each receive costs turns at the interpreter's lock.
        """
        return super().makefile("rb", READ_BYTES)

    def recv(self, *args: Any) -> bytes:
        self.settimeout(self.exchange.left_s())
        return super().recv(*args)

    def recv_into(self, *args: Any) -> int:
        self.settimeout(self.exchange.left_s())
        count = super().recv_into(*args)
        self.exchange.received(count)
        return count


class TlsSocket:
    """TLS over a PlainSocket, a piece of the stream at a time: before each the deadline is looked at.

    Python's own TLS socket reads on in one call for as long as there is anything to read. A server that sends key
    updates or session tickets alone would hold its thread for ever.
    """

    def __init__(self, sock: PlainSocket, context: ssl.SSLContext, host: str) -> None:
        self._sock = sock
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self.fileno, self.settimeout, self.abandon = sock.fileno, sock.settimeout, sock.abandon
        self.serve, self.close = sock.serve, sock.close

    def shake_hands(self) -> None:
        self._until_done(self._tls.do_handshake)

    def certificate(self) -> Any:
        """The peer's, as `match_hostname` takes it."""
        return self._tls.getpeercert()

    def sendall(self, data: bytes) -> None:
        with memoryview(data) as left:
            sent = 0
            while sent < len(left):
                sent += self._until_done(partial(self._tls.write, left[sent:]))

    def makefile(self, *_: Any, **__: Any) -> Any:
        """The file that http.client reads. It keeps the socket open until it is closed itself."""
        return BufferedReader(_TlsFile(self, socket.socket.makefile(self._sock, "rb", 0)), READ_BYTES)

    def recv_into(self, buffer: Any) -> int:
        """Read what has arrived, of several records; 0: the peer has ended, properly or not."""
        with memoryview(buffer) as room:
            try:
                count: int = self._until_done(partial(self._more, room))
            except ssl.SSLEOFError:
                count = 0
            with suppress(ssl.SSLError):  # more is to come, or the next call finds the same error
                while 0 < count < len(room) and self._incoming.pending and (more := self._more(room[count:])):
                    count += more
        self._sock.exchange.received(count)
        return count

    def has_ended(self) -> bool:
        """Whether the peer has closed the connection or sent unexpected data.

        Session tickets are read, and are neither, unless there is no end of them. It waits for nothing."""
        self._sock.settimeout(0.0)
        try:
            for _ in range(4):  # of READ_BYTES, that a peer may send between two requests: tickets
                with suppress(ssl.SSLWantReadError):
                    self._tls.read(1)
                    return True
                self._take(socket.socket.recv(self._sock, READ_BYTES))
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self._sock.settimeout(None)
        return True

    def _more(self, room: memoryview) -> int:
        return self._tls.read(len(room), room)  # type: ignore[return-value]  # with a buffer it is a count

    def _until_done(self, act: Callable[[], Any]) -> Any:
        while True:
            try:
                found = act()
            except ssl.SSLWantReadError:
                self._flush()
                self._take(self._sock.recv(READ_BYTES))
            except ssl.SSLError:
                with suppress(OSError):
                    self._flush()  # an alert says why
                raise
            else:
                self._flush()
                return found

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._sock.sendall(self._outgoing.read())

    def _take(self, octets: bytes) -> None:
        if octets:
            self._incoming.write(octets)
        else:
            self._incoming.write_eof()


class _TlsFile(RawIOBase):
    """A file of all that a TLS socket receives.   below: of the socket under it, which stays open as long as that"""

    def __init__(self, tls: TlsSocket, below: RawIOBase) -> None:
        self._tls, self._below = tls, below

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._tls.recv_into(buffer)

    def close(self) -> None:
        self._below.close()
        super().close()


def handshake(context: ssl.SSLContext, sock: PlainSocket, host: str, exchange: Exchange) -> TlsSocket:
    """Start a verified TLS session on `sock`, and add its time to connect_ms. Raises Broken: TLS or CONNECT_TIMEOUT."""
    begin_s = monotonic()
    try:
        secure = TlsSocket(sock, context, host)
        secure.shake_hands()
        if not context.check_hostname:
            match_hostname(secure.certificate(), host)
        return secure
    except TimeoutError as error:
        sock.close()
        raise Broken(Failure.CONNECT_TIMEOUT, "TLS handshake did not end in time") from error
    except (OSError, ValueError) as error:  # ValueError: a name that no certificate can hold, or that this one has not
        sock.close()
        raise Broken(Failure.TLS, _why(error)) from error
    finally:
        exchange.connect_ms = (exchange.connect_ms or 0) + (monotonic() - begin_s) * 1000


def _why(error: Exception) -> str:
    said = str(error)
    named = next((named for words, named in _NAMED.items() if words in said.lower()), None)
    return named or getattr(error, "verify_message", "") or said


def has_name_for_openssl(host: str) -> bool:
    """Whether OpenSSL matches this name as browsers do: under a wildcard it accepts no `_`
    (https://github.com/openssl/openssl/issues/12566)."""
    return "_" not in host


def tls_context(
    ca_file: str | None = None, ca_dir: str | None = None, *, checks_name: bool = True, forward_secret: bool = False
) -> ssl.SSLContext:
    """A context that verifies by the authorities of the system (or SSL_CERT_FILE), certifi, `ca_file` and `ca_dir`.

    It takes what browsers take: from Python 3.13 on, urllib3 would refuse certificates without key identifiers.

    checks_name     OpenSSL compares the name; False: `handshake` does, by urllib3's matcher
    forward_secret  no RSA key exchange
    """
    context = create_urllib3_context(verify_flags=ssl.VERIFY_X509_PARTIAL_CHAIN)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # OpenSSL's default: keys of 112 bits of security, such as RSA of 2048.
    context.set_ciphers(":".join(["@SECLEVEL=2", *FORWARD_SECRET, *(() if forward_secret else RSA_KEY_EXCHANGE)]))
    context.check_hostname = checks_name
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["http/1.1"])
    context.load_default_certs()
    context.load_verify_locations(certifi.where())
    if ca_file is not None or ca_dir is not None:
        context.load_verify_locations(ca_file, ca_dir)
    return context


def is_ours(error: OSError) -> bool:
    return error.errno in {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


def is_exhausted() -> bool:
    """Whether the system gives us no socket just now. A resolver that got none reports only that it failed."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    except OSError as error:
        return is_ours(error)
    return False


def exhausted(why: str) -> NotSent:
    return NotSent("no connection can be opened here", f"{why}; {REMEDY}")
