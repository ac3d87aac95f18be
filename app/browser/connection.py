"""The Chrome DevTools Protocol over a pair of pipes: messages of JSON, each ended by a zero byte.

One thread reads, and puts what it reads into one queue; the thread that renders takes it from there, and alone writes.
Source: content/browser/devtools/devtools_pipe_handler.cc; https://chromedevtools.github.io/devtools-protocol/.
"""

import os
import queue
import select
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

import orjson

MESSAGE_BYTES_MOST: Final = 256 * 1024**2
NOISE_MOST: Final = 200  # of each: a page may log in an endless loop
_CHUNK: Final = 1 << 18
# Messages that a page can make at will, and that are only counted or shown.
_NOISE: Final = (
    b'{"method":"Runtime.consoleAPICalled"',
    b'{"method":"Runtime.exceptionThrown"',
    b'{"method":"Runtime.bindingCalled"',
    b'{"method":"Log.entryAdded"',
    b'{"method":"Page.navigatedWithinDocument"',
    b'{"method":"Page.windowOpen"',
    b'{"method":"Network.webSocketCreated"',
)
Message = dict[str, Any]


class BrowserGone(Exception):
    """The browser closed its pipes, or did not take or give a message in time."""


class DevToolsPipe:
    """Both pipes of one browser.   events: all that is to be handled, in order; None: the browser is gone"""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._read_fd, self._write_fd = read_fd, write_fd
        os.set_blocking(write_fd, False)
        self._last_id = 0
        self._noise = dict.fromkeys(_NOISE, 0)
        self._reader = threading.Thread(target=self._read, name="browser-pipe", daemon=True)
        self._reader.start()

    def send(self, method: str, params: Mapping[str, Any], session: str | None, until: float) -> int:
        """Send a command. Returns its number. Raises `BrowserGone` when the browser does not take it in time."""
        self._last_id += 1
        message: Message = {"id": self._last_id, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        rest = memoryview(orjson.dumps(message) + b"\0")
        while rest:
            try:
                rest = rest[os.write(self._write_fd, rest) :]
            except BlockingIOError:
                left_s = until - time.monotonic()
                if left_s <= 0 or not select.select([], [self._write_fd], [], left_s)[1]:
                    raise BrowserGone("it takes no more commands") from None
            except BrokenPipeError:
                raise BrowserGone("it closed its pipe") from None
        return self._last_id

    def quieten(self) -> None:
        """Forget the noise that was counted: another page begins."""
        self._noise = dict.fromkeys(_NOISE, 0)

    def close(self) -> None:
        """Close both pipes. The browser has ended, so that the reading thread is at its end, or about to be."""
        os.close(self._write_fd)
        self._reader.join()
        os.close(self._read_fd)

    def _read(self) -> None:
        """Read until the browser's end closes. A message that nobody would be sent by a browser in order ends it."""
        buffer = bytearray()
        while chunk := os.read(self._read_fd, _CHUNK):
            start = len(buffer)
            buffer += chunk
            if (end := buffer.rfind(b"\0", start)) < 0:
                if len(buffer) > MESSAGE_BYTES_MOST:
                    break
                continue
            for message in bytes(buffer[:end]).split(b"\0"):
                if not self._is_noise(message):
                    self.events.put(orjson.loads(message))
            del buffer[: end + 1]
        self.events.put(None)

    def _is_noise(self, message: bytes) -> bool:
        kind = next((kind for kind in _NOISE if message.startswith(kind)), None)
        if kind is None:
            return False
        self._noise[kind] += 1
        return self._noise[kind] > NOISE_MOST
