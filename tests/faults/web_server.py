"""The process of `tests.faults.web`: `python -m tests.faults.web_server FOLDER`. Standard library only.

Reads FOLDER/sites.json ({host: {path: document}}, {address: host} and robots.txt) and prints the port it listens on, at every
address. Looks at FOLDER/rules.json before each answer, so that a test changes what is answered while the web runs. Writes
FOLDER/access.jsonl: a line when a request's head was read and one when its answer was handed to the system (or its
client hung up), in monotonic seconds, which all processes of a machine share.
"""

import asyncio
import contextlib
import hashlib
import itertools
import json
import sys
import time
from email.parser import BytesParser
from email.policy import HTTP
from http import HTTPStatus
from pathlib import Path
from typing import Any

HEAD_BYTES_MOST = 64 * 1024
TRIES = 20


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

    async def listen(self) -> asyncio.Server:
        """One port that is free at every address."""
        addresses, port = list(self._names), 0
        for tried in range(TRIES):
            first = await asyncio.start_server(self._talk, addresses[0], 0, limit=HEAD_BYTES_MOST)
            port = first.sockets[0].getsockname()[1]
            first.close()
            self._port = port
            try:
                return await asyncio.start_server(self._talk, addresses, port, limit=HEAD_BYTES_MOST, backlog=128)
            except OSError:
                if tried == TRIES - 1:
                    raise
        raise AssertionError

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, connection = self._names[writer.get_extra_info("sockname")[0]], next(self._connections)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while await self._answer(host, connection, reader, writer):
                pass
        writer.close()

    async def _answer(
        self, host: str, connection: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """One request. False: the connection is over."""
        head = await reader.readuntil(b"\r\n\r\n")
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
        if rule.get("delay_s") and await _hung_up(reader, rule["delay_s"]):
            self._write(id=number, end=time.monotonic(), status=None, gone=True)
            return False
        if rule.get("drop"):
            self._write(id=number, end=time.monotonic(), status=None, gone=False)
            return False
        if raw := rule.get("raw"):
            status, octets = 200, Path(raw).read_bytes()
        else:
            status, octets = self._document(host, path, headers.get("If-None-Match"), rule)
        self._write(id=number, end=time.monotonic(), status=status, gone=False)
        writer.write(octets)
        await writer.drain()
        return True

    def _document(self, host: str, path: str, known: str | None, rule: dict[str, Any]) -> tuple[int, bytes]:
        text = self._robots if path == "/robots.txt" else self._sites[host].get(path)
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
