"""Commands to one browser while a page is open, and the turn of its events: all in the thread that renders."""

import queue
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from app.browser.connection import BrowserGone, BrowserHung, DevToolsPipe, Message

Answered = Callable[[Mapping[str, Any] | None], None]
TURN_S: Final = 0.05


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
