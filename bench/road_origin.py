"""The origin of a road, a process of its own: `python -m bench.road_origin FOLDER`. Standard library, and what packs.

Every site is as far away as FOLDER/sites.json says: a TLS handshake takes its time (the ServerHello is held back), an
answer takes its time, and a server may close after each answer. Over plain HTTP the first answer of a connection takes
the handshake's time as well, since a loopback connection cannot be made slowly. TLS and plain HTTP share a port.

FOLDER/log.jsonl is the truth that a judge reads: connections accepted, handshakes ended and requests arrived, in
monotonic seconds, which all processes of a machine share. `late` lines say how late the origin itself was. It runs
ahead of all that shares its cores, in real time where that is allowed, so that its clock can be trusted.

A file pages/HOST/NAME is that host's own, pages/NAME everybody's.
"""

import asyncio
import gzip
import itertools
import json
import os
import random
import resource
import signal
import socket
import ssl
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.delays import taken_s
from bench.road_site import HOST, Site

BACKLOG = 512


def note_name(tls: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
    tls.name_asked = name  # type: ignore[attr-defined]  # an attribute of ours


def listening(address: str, port: int) -> socket.socket:
    sock = socket.socket()
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((address, port))
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise
    sock.setblocking(False)
    return sock


def go_ahead() -> None:
    """Before everything that shares the cores: what is late here would count as the crawler's fault."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, -10)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


HANDSHAKE_RECORD = 0x16  # a record's first byte, RFC 8446 section 5.1
HEAD_BYTES_MOST = 64 * 1024
TRIES = 20
FLUSH_S = 0.1
PULSE_S = 0.02
_HOST = ("Host", "host")
_ACCEPT = ("Accept-Encoding", "accept-encoding")


class Origin:
    """All sites of one folder."""

    def __init__(self, folder: Path) -> None:
        spec = json.loads((folder / "sites.json").read_text())
        self.sites = {each["name"]: Site(**each) for each in spec["sites"]}
        self.most_s: float = spec["most_s"]
        self.keep_s: float = spec["keep_s"]
        self.robots = spec["robots"].encode()
        root = folder / "pages"
        self.pages = {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}
        self.rng = random.Random(spec["seed"])
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(spec["certificate"])
        self.context.sni_callback = note_name
        self.loop = asyncio.get_running_loop()
        self.connections = itertools.count(1)
        self.open: set[Talk] = set()
        self._file = (folder / "log.jsonl").open("a")
        self._latest_s = 0.0
        self.parent = os.getppid()

    async def listen(self) -> int:
        """At every address, on one port that is free there. Returns the port."""
        addresses = sorted({site.address for site in self.sites.values()})
        for tried in range(TRIES):
            sockets: list[socket.socket] = []
            try:
                for address in addresses:
                    sockets.append(listening(address, sockets[0].getsockname()[1] if sockets else 0))
            except OSError:
                for each in sockets:
                    each.close()
                if tried == TRIES - 1:
                    raise
                continue
            for each in sockets:
                await self.loop.create_server(lambda: Talk(self), sock=each, backlog=BACKLOG)
            return int(sockets[0].getsockname()[1])
        raise AssertionError

    def note(self, **line: object) -> None:
        """One line of the log."""
        self._file.write(json.dumps(line) + "\n")

    def takes_s(self, usual_s: float, spread: float) -> float:
        """One exchange's."""
        return taken_s(usual_s, spread, self.most_s, self.rng)

    def pulse(self, due: float) -> None:
        """Measure how late the loop is."""
        now = time.monotonic()
        self._latest_s = max(self._latest_s, now - due)
        self.loop.call_at(now + PULSE_S, self.pulse, now + PULSE_S)

    def flush(self) -> None:
        """Write what is buffered, now and every FLUSH_S from now on. An origin whose parent is gone ends."""
        if os.getppid() != self.parent:
            os.kill(os.getpid(), signal.SIGTERM)
        self.note(what="late", t=time.monotonic(), late_s=round(self._latest_s, 6))
        self._latest_s = 0.0
        self._file.flush()
        self.loop.call_later(FLUSH_S, self.flush)

    def close(self) -> None:
        """Log what is still open, and end."""
        for talk in list(self.open):
            talk.finish()
        self._file.close()

    def document(self, site: Site, path: str) -> tuple[int, bytes, bytes]:
        """Status, content type and body."""
        if path == "/robots.txt":
            return 200, b"text/plain", self.robots
        name = path.removeprefix("/") or "index.html"
        page = self.pages.get(f"{site.name}/{name}") or self.pages.get(name)
        if page is None:
            return 404, b"text/plain", b"no such page\n"
        return 200, b"text/html", page.replace(HOST, site.name.encode())


class Talk(asyncio.Protocol):
    """One connection, TLS or plain."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.number = next(origin.connections)
        self.tls: ssl.SSLObject | None = None
        self.inward, self.outward = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.transport: asyncio.Transport
        self.address = ""
        self.head = b""
        self.is_known = False  # as TLS or plain
        self.is_shaken = False  # the handshake is over; of a plain connection, its time was taken
        self.is_held = False
        self.handshake_s = 0.0
        self.request: dict[str, Any] | None = None
        self.timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.address = transport.get_extra_info("sockname")[0]
        self.origin.open.add(self)
        self.origin.note(what="accept", conn=self.number, t=time.monotonic(), address=self.address)
        self.wait_for_request()

    def connection_lost(self, _: Exception | None) -> None:
        self.finish()

    def finish(self) -> None:
        """Once: a request that was not answered, and the end."""
        if self not in self.origin.open:
            return
        self.origin.open.discard(self)
        self.stop_timer()
        if self.request is not None:
            self.origin.note(**self.request, end=time.monotonic(), status=None)
        self.origin.note(what="close", conn=self.number, t=time.monotonic())

    def data_received(self, data: bytes) -> None:
        arrived = time.monotonic()
        if not self.is_known:
            self.is_known = True
            if data[0] == HANDSHAKE_RECORD:
                self.tls = self.origin.context.wrap_bio(self.inward, self.outward, server_side=True)
        if self.tls is None:
            self.read(data, arrived)
            return
        self.inward.write(data)
        try:
            if self.is_shaken or self.shake(self.tls):
                while octets := self.tls.read(HEAD_BYTES_MOST):
                    self.read(octets, arrived)
                self.transport.close()  # close_notify
        except ssl.SSLWantReadError:
            return
        except ssl.SSLError:
            self.transport.close()

    def shake(self, tls: ssl.SSLObject) -> bool:
        """One step of the handshake. The ServerHello is sent when the road has taken its time. True: done."""
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            if self.outward.pending and not self.is_held:
                self.is_held = True
                site = self.site(getattr(tls, "name_asked", None))
                if site is not None and not site.silent:
                    self.handshake_s = self.origin.takes_s(site.handshake_s, site.spread)
                    self.start_timer(self.handshake_s, self.send)
            raise
        self.is_shaken = True
        self.send()  # tickets
        self.origin.note(
            what="shake",
            conn=self.number,
            t=time.monotonic(),
            host=getattr(tls, "name_asked", None),
            imposed_s=self.handshake_s,
        )
        self.wait_for_request()
        return True

    def send(self) -> None:
        """What TLS has to say."""
        if self.outward.pending and not self.transport.is_closing():
            self.transport.write(self.outward.read())

    def read(self, octets: bytes, arrived: float) -> None:
        """Requests come one after the other: a polite client does not send two at once."""
        self.head += octets
        if b"\r\n\r\n" not in self.head:
            if len(self.head) > HEAD_BYTES_MOST:
                self.transport.close()
            return
        head, _, self.head = self.head.partition(b"\r\n\r\n")
        first, *fields = head.decode("latin-1").split("\r\n")
        path = first.split(" ")[1]
        name = next((value.strip() for key, _, value in (each.partition(":") for each in fields) if key in _HOST), "")
        site = self.site(name.partition(":")[0])
        self.request = {
            "what": "request",
            "conn": self.number,
            "t": arrived,
            "host": site.name if site else name,
            "address": self.address,
            "path": path,
            "tls": self.tls is not None,
            "imposed_s": 0.0,
        }
        if site is None:
            self.transport.close()
        elif not site.silent:
            accepted = next((value for key, _, value in (f.partition(":") for f in fields) if key in _ACCEPT), "")
            self.answer_later(site, path, coding_of(site, accepted))

    def answer_later(self, site: Site, path: str, coding: str) -> None:
        """After the time that it takes; a plain connection's first answer takes its handshake's as well."""
        assert self.request is not None
        takes_s = self.origin.takes_s(site.answer_s, site.spread)
        if self.tls is None and not self.is_shaken:
            self.is_shaken = True
            takes_s += self.origin.takes_s(site.handshake_s, site.spread)
        self.request["imposed_s"] = takes_s
        self.start_timer(takes_s, self.answer, site, path, coding)

    def answer(self, site: Site, path: str, coding: str) -> None:
        """The end is noted just before the answer is handed over, so never after the client can have had it."""
        if self.transport.is_closing():
            return
        request, self.request = self.request, None
        assert request is not None
        status, kind, body = self.origin.document(site, path)
        close = b"Connection: close\r\n" if site.closes == "told" else b""
        if coding and kind == b"text/html":
            body = packed(body, coding)
            close += b"Content-Encoding: %b\r\n" % coding.encode()
        head = b"HTTP/1.1 %d x\r\nContent-Type: %b\r\nContent-Length: %d\r\n%b\r\n" % (status, kind, len(body), close)
        self.origin.note(**request, end=time.monotonic(), status=status)
        if self.tls is None:
            self.transport.write(head + body)
        else:
            self.tls.write(head + body)
            if site.closes:
                with suppress(ssl.SSLError):
                    self.tls.unwrap()  # close_notify; the client's own is not waited for
            self.send()
        if site.closes:
            self.transport.close()
        else:
            self.wait_for_request()

    def site(self, name: str | None) -> Site | None:
        """By name, if it is at this address."""
        found = self.origin.sites.get(name or self.address)
        return found if found is not None and found.address == self.address else None

    def wait_for_request(self) -> None:
        """A connection that stays idle is closed."""
        self.start_timer(self.origin.keep_s, self.transport.close)

    def start_timer(self, seconds: float, call: Any, *values: object) -> None:
        self.stop_timer()
        self.timer = self.origin.loop.call_later(seconds, call, *values)

    def stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


def coding_of(site: Site, accepted: str) -> str:
    """The site's own if the client accepts it, else gzip if it accepts that. "": none."""
    names = {each.partition(";")[0].strip() for each in accepted.split(",")}
    return next((each for each in (site.coding, "gzip" if site.coding else "") if each in names), "")


def packed(body: bytes, coding: str) -> bytes:
    """The body in a coding, as fast as that can be: what unpacking takes hardly depends on it."""
    if coding == "br":
        import brotli

        return bytes(brotli.compress(body, quality=1))
    if coding == "zstd":
        from backports import zstd

        return zstd.compress(body, 1)
    return gzip.compress(body, 1)


async def main(folder: Path) -> None:
    """Serve until SIGTERM; prints the port."""
    go_ahead()
    origin, done = Origin(folder), asyncio.Event()
    origin.loop.add_signal_handler(signal.SIGTERM, done.set)
    port = await origin.listen()
    origin.pulse(time.monotonic())
    origin.flush()
    print(port, flush=True)
    await done.wait()
    origin.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
