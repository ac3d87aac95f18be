"""The process of `tests.faults.web`: `python -m tests.faults.web_server FOLDER`. Standard library only.

Reads FOLDER/sites.json ({host: {path: document}}, {address: host} and robots.txt) and prints the port it listens on, at
every address. Looks at FOLDER/rules.json before each answer, so that a test changes what is answered while the web
runs. Writes FOLDER/access.jsonl: a line when a request's head was read and one when its answer was handed to the system
(or its client hung up), in monotonic seconds, which all processes of a machine share.

A rule that says `grows` makes the web longer than its sites are: see Growth.

At the end of a road a TLS handshake is held back for its time, before the first byte of it is read. Over plain HTTP the
first answer of a connection takes the handshake's time too, so that the log has the moment when its request was really
sent.
"""

import asyncio
import contextlib
import hashlib
import itertools
import json
import random
import ssl
import sys
import time
from collections.abc import Sequence
from email.parser import BytesParser
from email.policy import HTTP
from http import HTTPStatus
from pathlib import Path
from typing import Any, cast

from bench.delays import Delays

CATCH_UP = b"OPTIONS * "  # a request of the test itself: it is not logged
HEAD_BYTES_MOST = 64 * 1024
TRIES = 20
LANES = 8  # pages that each host gives out at a time while the web grows


class Server:
    """All sites of one web."""

    def __init__(self, folder: Path) -> None:
        spec = json.loads((folder / "sites.json").read_text())
        self._sites: dict[str, dict[str, str]] = spec["sites"]
        self._names: dict[str, str] = spec["names"]
        self._robots: str = spec["robots"]
        self._rules_path = folder / "rules.json"
        self._rules: list[dict[str, Any]] = []
        self._rules_at = 0
        self._port = 0
        self._log = (folder / "access.jsonl").open("ab", buffering=0)
        self._requests, self._connections = itertools.count(1), itertools.count(1)
        self._road = Road(**spec["road"]) if spec["road"] else None
        self._growth = Growth(list(self._sites), len(next(iter(self._sites.values()))))

    async def listen(self) -> asyncio.Server:
        """One port that is free at every address."""
        addresses, port = list(self._names), 0
        for tried in range(TRIES):
            first = await self._serve(addresses[0], 0)
            port = first.sockets[0].getsockname()[1]
            first.close()
            self._port = port
            try:
                return await self._serve(addresses, port)
            except OSError:
                if tried == TRIES - 1:
                    raise
        raise AssertionError

    async def _serve(self, addresses: str | list[str], port: int) -> asyncio.Server:
        loop = asyncio.get_running_loop()

        def talk() -> _Waiting:
            return _Waiting(asyncio.StreamReader(limit=HEAD_BYTES_MOST, loop=loop), self._talk, loop=loop)

        return await loop.create_server(talk, addresses, port, backlog=128)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, connection = self._names[writer.get_extra_info("sockname")[0]], next(self._connections)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            owed_s = 0.0 if self._road is None else await self._road.handshake(host, writer)
            transport = cast(asyncio.Transport, writer.transport)  # a socket's reads and writes
            if not transport.is_reading():
                transport.resume_reading()
            while await self._answer(host, connection, reader, writer, owed_s):
                owed_s = 0.0
        writer.close()

    async def _answer(
        self, host: str, connection: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, owed_s: float
    ) -> bool:
        """One request. False: the connection is over. owed_s: time that the connection's handshake has not taken."""
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(CATCH_UP):
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            return False
        number, start = next(self._requests), time.monotonic()
        request, _, fields = head.partition(b"\r\n")
        path = request.split(b" ")[1].decode("latin-1")
        headers = BytesParser(policy=HTTP).parsebytes(fields, headersonly=True)
        self._write(
            id=number,
            start=start,
            wall=time.time(),
            host=host,
            path=path,
            connection=connection,
            worker=headers.get("X-Crawler-Purpose"),
        )
        rule = self._rule(host, path)
        delay_s = rule.get("delay_s") or (owed_s + self._road.answer_s(host) if self._road else 0.0)
        if delay_s and await _hung_up(reader, delay_s):
            self._write(id=number, end=time.monotonic(), status=None, gone=True)
            return False
        if rule.get("drop"):
            self._write(id=number, end=time.monotonic(), status=None, gone=False)
            return False
        text = self._robots if path == "/robots.txt" else self._sites[host].get(path) or self._growth.text(host, path)
        leads = self._growth.leads(host, path, is_growing=bool(rule.get("grows"))) if text else None
        if raw := rule.get("raw"):
            status, octets = 200, Path(raw).read_bytes()
        else:
            if text and leads:
                text += f'<a href="http://{leads.replace("/", ":PORT/")}">one more</a>'
            status, octets = self._document(path, text, headers.get("If-None-Match"), rule)
        self._write(id=number, end=time.monotonic(), status=status, gone=False, leads=leads)
        writer.write(octets)
        await writer.drain()
        return self._road is None or host not in self._road.closes

    def _document(self, path: str, text: str | None, known: str | None, rule: dict[str, Any]) -> tuple[int, bytes]:
        body = (text or "no such page").replace(":PORT/", f":{self._port}/").encode() + rule.get("adds", "").encode()
        status = rule.get("status") or (200 if text is not None else 404)
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if status == 200 and known == etag:
            status, body = 304, b""
        kind = "text/html; charset=utf-8" if path.endswith(("/", ".html")) else "text/plain; charset=utf-8"
        fields = {"Content-Type": kind, "ETag": etag, **rule.get("headers", {})}
        if status != 304:
            fields["Content-Length"] = str(len(body))
        lines = [
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
            *(f"{name}: {value}" for name, value in fields.items()),
        ]
        return status, "\r\n".join([*lines, "", ""]).encode("latin-1") + body

    def _rule(self, host: str, path: str) -> dict[str, Any]:
        """The last rule that fits."""
        changed = self._rules_path.stat().st_mtime_ns
        if changed != self._rules_at:
            self._rules, self._rules_at = json.loads(self._rules_path.read_text()), changed
        fitting = [rule for rule in self._rules if rule["host"] in {"*", host} and rule["path"] in {"*", path}]
        return fitting[-1] if fitting else {}

    def _write(self, **line: object) -> None:
        self._log.write(json.dumps(line).encode() + b"\n")


class Growth:
    """Pages beyond those of the sites, so that a crawl has no end before the rule that says `grows` is gone.

    Page n is linked from page n - LANES of its own host or, every third one, from that of the host before. Whether a
    page leads to another is settled when it is first answered with a link; then it always does.
    """

    def __init__(self, hosts: list[str], pages: int) -> None:
        self._hosts, self._pages = hosts, pages
        self._leads: dict[str, str] = {}
        self._grown: set[str] = set()

    def leads(self, host: str, path: str, *, is_growing: bool) -> str | None:
        """The page, host and path in one, that this one links to beyond the sites. None: it has no such link."""
        page = host + path
        number = path.removeprefix("/page-").removesuffix(".html")
        if is_growing and number.isdigit() and int(number) + LANES >= self._pages and page not in self._leads:
            then = int(number) + LANES
            at = self._hosts.index(host) + (then % 3 == 2)
            self._leads[page] = f"{self._hosts[at % len(self._hosts)]}/page-{then}.html"
            self._grown.add(self._leads[page])
        return self._leads.get(page)

    def text(self, host: str, path: str) -> str | None:
        """Of a page that another leads to."""
        return html(f"{path} of {host}", ["/"]) if host + path in self._grown else None


def html(title: str, links: Sequence[str]) -> str:
    anchors = "".join(f'<p><a href="{link}">a link</a></p>' for link in links)
    words = f"{title} says a few words. " * 9
    return (
        f"<!doctype html><html lang=en><head><title>{title}</title></head><body><p>{words}</p>{anchors}</body></html>"
    )


class Road:
    """Delays, and which hosts speak TLS or close. usual_s: by host, of its handshakes and of its answers."""

    def __init__(
        self,
        delays: dict[str, float],
        usual_s: dict[str, tuple[float, float]],
        tls: list[str],
        closes: list[str],
        certificate: str,
    ) -> None:
        self._delays, self._usual_s, self._tls = Delays(**delays), usual_s, frozenset(tls)
        self.closes = frozenset(closes)
        self._rng = random.Random(len(usual_s))
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate)

    async def handshake(self, host: str, writer: asyncio.StreamWriter) -> float:
        """Hold it back and make it. Returns the seconds that it is to take and could not, without TLS."""
        takes_s = self._delays.of_exchange(self._usual_s[host][0], self._rng)
        if host not in self._tls:
            return takes_s
        await asyncio.sleep(takes_s)
        await writer.start_tls(self._context)
        return 0.0

    def answer_s(self, host: str) -> float:
        return self._delays.of_exchange(self._usual_s[host][1], self._rng)


class _Waiting(asyncio.StreamReaderProtocol):
    """Reads nothing before it is told to: what comes first may be TLS."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        super().connection_made(transport)


async def _hung_up(reader: asyncio.StreamReader, within_s: float) -> bool:
    """Wait that long, or until the client is gone."""
    try:
        return not await asyncio.wait_for(reader.read(1), within_s)
    except TimeoutError:
        return False
    except OSError:
        return True


async def main(folder: Path) -> None:
    server = await Server(folder).listen()
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(Path(sys.argv[1])))
