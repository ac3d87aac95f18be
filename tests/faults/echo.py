"""Doubles every message of the crawler: what is pushed on one of its queues is pushed again, so many times, byte for
byte."""

import ast
import re
import socket
import threading
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import redis

_PUSH = re.compile(rb'"LPUSH" ("(?:[^"\\]|\\.)*") ("(?:[^"\\]|\\.)*")')


class Echo:
    """Context manager. seen: (queue, message) of every message, in order; a copy is not listened to."""

    def __init__(self, url: str, copies: int) -> None:
        self._url, self._copies = url, copies
        self.seen: list[tuple[bytes, bytes]] = []
        self._known: set[bytes] = set()
        self._client = redis.Redis.from_url(url)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._socket = self._connect()

    def replay(self) -> None:
        """Every message of before, once more."""
        for queue, message in self.seen:
            self._client.lpush(queue, message)

    def queued(self) -> int:
        """Messages that nobody has taken yet."""
        return sum(int(self._client.llen(queue)) for queue in {queue for queue, _ in self.seen})

    def _connect(self) -> socket.socket:
        place = urlsplit(self._url)
        connection = socket.create_connection((place.hostname, place.port))
        connection.sendall(f"AUTH {place.password}\r\nMONITOR\r\n".encode())
        return connection

    def _listen(self) -> None:
        with self._socket.makefile("rb") as lines:
            for line in lines:
                for queue, message in _PUSH.findall(line):
                    self._double(ast.literal_eval(f"b{queue.decode()}"), ast.literal_eval(f"b{message.decode()}"))

    def _double(self, queue: bytes, message: bytes) -> None:
        if message in self._known or not (queue == b"maintenance" or queue.startswith(b"host-")):
            return
        self._known.add(message)
        self.seen.append((queue, message))
        for _ in range(self._copies):
            self._client.lpush(queue, message)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._socket.close()
        self._client.close()
