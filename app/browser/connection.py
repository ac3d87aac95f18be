"""Speaks the Chrome DevTools Protocol over a pair of pipes: messages of JSON, each ended by a zero byte.

One thread reads, and puts what it reads into one queue; the thread that renders takes it from there, and alone writes.
Source: content/browser/devtools/devtools_pipe_handler.cc; https://chromedevtools.github.io/devtools-protocol/.

While a page is open, commands to its browser and the turns of its events are all in the thread that renders.
"""

import json
import os
import queue
import re
import select
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from app.words import scalar

MESSAGE_BYTES_MOST: Final = 256 * 1024**2
NOISE_MOST: Final = 200  # of each: a page may log in an endless loop
NOISE_BYTES_MOST: Final = 64 * 1024  # of one message: what a page logs may have any length, and 200 of them queue here
# Messages that a page can make at will, and that are only counted or shown.
_NOISE: Final = frozenset(
    {
        b"Runtime.consoleAPICalled",
        b"Runtime.exceptionThrown",
        b"Runtime.bindingCalled",
        b"Log.entryAdded",
        b"Page.navigatedWithinDocument",
        b"Page.windowOpen",
        b"Network.webSocketCreated",
    }
)
NOISY: Final = "Tiptoe.noisy"  # our own event, after `NOISE_MOST` of one kind
_METHOD: Final = b'{"method":"'
_ESCAPED_NUL: Final = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
Message = dict[str, Any]
Answered = Callable[[Mapping[str, Any] | None], None]
TURN_S: Final = 0.05


class BrowserGone(Exception):
    """The browser ended, or hangs."""


class BrowserHung(BrowserGone):
    """The browser did not take or give a message in time."""


class DevToolsPipe:
    """Both pipes of one browser.   events: all that is to be handled, in order; None: the browser is gone"""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._read_fd, self._write_fd = read_fd, write_fd
        os.set_blocking(write_fd, False)
        self._last_id = 0
        self._noise = Counter[bytes]()
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
                    raise BrowserHung("it takes no more commands") from None
            except BrokenPipeError:
                raise BrowserGone("it closed its pipe") from None
        return self._last_id

    def quieten(self) -> None:
        """Forget the noise that was counted: another page begins."""
        self._noise = Counter[bytes]()

    def close(self) -> None:
        """Close both pipes. The browser has ended, so that the reading thread is at its end, or about to be."""
        os.close(self._write_fd)
        self._reader.join()
        os.close(self._read_fd)

    def _read(self) -> None:
        """Read until the browser's end closes. A message that nobody would be sent by a browser in order ends it."""
        try:
            self._read_messages()
        finally:
            self.events.put(None)

    def _read_messages(self) -> None:
        buffer = bytearray()
        while chunk := os.read(self._read_fd, 1 << 18):
            start = len(buffer)
            buffer += chunk
            if (end := buffer.rfind(b"\0", start)) < 0:
                if len(buffer) > MESSAGE_BYTES_MOST:
                    break
                continue
            for message in bytes(buffer[:end]).split(b"\0"):
                self._take(message)
            del buffer[: end + 1]

    def _take(self, message: bytes) -> None:
        """Queue a message. Noise beyond what anybody wants is counted and dropped unread.

        A page makes it faster than we read, and as long as it likes."""
        if message.startswith(_METHOD):
            method = message[len(_METHOD) : message.index(b'"', len(_METHOD))]
            if method in _NOISE:
                self._noise[method] += 1
                if self._noise[method] == NOISE_MOST:
                    self.events.put({"method": NOISY, "params": {}, "sessionId": _parsed(message).get("sessionId")})
                if self._noise[method] >= NOISE_MOST or len(message) > NOISE_BYTES_MOST:
                    return
        self.events.put(_parsed(message))


def _parsed(message: bytes) -> Message:
    """Parse a message. NUL, and half a surrogate pair, which scripts make where they cut an emoji in two, become
    U+FFFD.
    """
    if rb"\u0000" in message:
        message = _ESCAPED_NUL.sub(rb"\1\\ufffd", message)
    try:
        found: Message = orjson.loads(message)
    except orjson.JSONDecodeError:
        found = orjson.loads(scalar(json.dumps(json.loads(message), ensure_ascii=False)))
    return found


class PageChannel:
    """One page's commands and events.

    on_event  called with each event; an event that is no message of the browser is a function, and is called
    on_turn   called after each turn of events, also while a command is waited for: it may raise
    until     monotonic: when nothing more is waited for
    """

    def __init__(self, connection: DevToolsPipe, until: float) -> None:
        self._connection = connection
        self._answers: dict[int, Answered] = {}
        self.until = until
        self.on_event: Callable[[Message], None] = lambda message: None
        self.on_turn: Callable[[], None] = lambda: None

    def send(self, method: str, session: str | None, answered: Answered | None = None, **params: Any) -> None:
        """Send a command.   answered: called with its result, or with None when the browser refused it"""
        number = self._connection.send(method, params, session, self.until)
        if answered is not None:
            self._answers[number] = answered

    def call(self, method: str, session: str | None, **params: Any) -> Mapping[str, Any] | None:
        """Send a command and wait for its result, while events have their turn. Raises `BrowserGone`."""
        found: list[Mapping[str, Any] | None] = []
        self.send(method, session, found.append, **params)
        while not found:
            if time.monotonic() >= self.until:
                raise BrowserHung(f"no answer to {method}")
            self.turn()
        return found[0]

    def post(self, act: Callable[[], None]) -> None:
        """Have this done in the thread that renders. Any thread may call it."""
        self._connection.events.put(act)

    def turn(self) -> None:
        """Handle what has arrived; wait a moment where nothing has. Raises `BrowserGone`, and what `on_turn` raises."""
        self._take_turn()
        self.on_turn()

    def _take_turn(self) -> None:
        until = time.monotonic() + TURN_S
        while True:
            try:
                event = self._connection.events.get(timeout=max(until - time.monotonic(), 0))
            except queue.Empty:
                return
            if event is None:
                raise BrowserGone("it ended")
            self._handle(event)
            if time.monotonic() >= until:
                return

    def _handle(self, event: Message | Callable[[], None]) -> None:
        if callable(event):
            event()
        elif "id" not in event:
            self.on_event(event)
        elif answered := self._answers.pop(event["id"], None):
            answered(event.get("result"))
