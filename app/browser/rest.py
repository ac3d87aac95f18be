"""Judges when a page is done: its requests are answered, its document is still, and scrolling brings no more text."""

import time
from collections.abc import Mapping
from typing import Any, Final

from app.browser.channel import PageChannel
from app.browser.targets import Targets
from app.browser.traffic import Traffic

STILL_S: Final = 0.5  # without a request or a change; browsers' own "network idle" is the same
SHORT_STILL_S: Final = 2.0  # while there is hardly any text: its scripts may be about to begin
BLANK_STILL_S: Final = 4.0  # while there is none at all: nobody makes a page to show nothing
RESTLESS_S: Final = 3.0  # without a request: a clock or a ticker changes the document for ever
PROBE_S: Final = 0.1
PROBE_SHARE: Final = 5  # a look at a large document takes long: then no more than a fifth of the time is spent looking
SCROLLS_MOST: Final = 10
SLOW: Final = 10  # looks: a browser that takes long to answer one, on a busy machine, takes long for all that it does
FORGETS: Final = 0.5  # of the longest look, with each further one


class PageRest:
    """Looks at one page again and again, without waiting for it: a script may keep it busy."""

    def __init__(self, channel: PageChannel, targets: Targets, traffic: Traffic) -> None:
        self._channel, self._targets, self._traffic = channel, targets, traffic
        self._asked_at = self._next_at = 0.0
        self._took_s = 0.0
        self._is_asking = self._is_scrolling = False
        self._seen: Mapping[str, Any] | None = None
        self._scrolls = 0
        self._text_before = -1

    def is_reached(self) -> bool:
        """Whether the page is done. Looks again, and scrolls, as it is called."""
        now = time.monotonic()
        if not self._traffic.is_idle or self._is_scrolling:
            return False
        self._probe(now)
        seen, self._seen = self._seen, None  # one look is judged once
        if seen is None or not seen["is_parsed"]:
            return False
        quiet_s = now - self._traffic.changed_at
        needed_s = max(self._still_s(seen), min(self._took_s * SLOW, RESTLESS_S))
        if quiet_s >= max(needed_s, RESTLESS_S):
            return self._has_all(seen, now)
        if not seen["is_loaded"] or min(quiet_s, seen["still_ms"] / 1000) < needed_s:
            return False
        return self._has_all(seen, now)

    def _still_s(self, seen: Mapping[str, Any]) -> float:
        """Seconds that it has to be still, by how much it shows. One that wanted to go elsewhere is done."""
        if self._traffic.navigated_to is not None or not seen["is_short"]:
            return STILL_S
        return BLANK_STILL_S if seen["is_blank"] else SHORT_STILL_S

    def _probe(self, now: float) -> None:
        world = self._targets.world()
        if world is None or self._is_asking or now < self._next_at:
            return
        self._is_asking, self._asked_at = True, now
        self._evaluate("tiptoe.rest()", world, self._found)

    def _found(self, answer: Mapping[str, Any] | None) -> None:
        self._is_asking = False
        took_s = time.monotonic() - self._asked_at
        self._took_s = max(took_s, self._took_s * FORGETS)
        self._next_at = self._asked_at + max(PROBE_S, PROBE_SHARE * took_s)
        self._seen = None if answer is None else answer["result"].get("value")

    def _has_all(self, seen: Mapping[str, Any], now: float) -> bool:
        """Whether the end was scrolled to without more text. Else scroll there, and let the page go on."""
        if self._scrolls >= SCROLLS_MOST or seen["text"] <= self._text_before:
            return True
        world = self._targets.world()
        if world is None:  # it reloads itself: what was seen is gone
            return False
        self._text_before = seen["text"]
        self._scrolls += 1
        self._is_scrolling = True
        self._evaluate("tiptoe.scroll()", world, self._scrolled)
        return False

    def _scrolled(self, answer: Mapping[str, Any] | None) -> None:
        """Wait for what the end of the page loads. Without an end to scroll to, the next look settles it.

        A look that was under way when it was told to scroll saw the page before.
        """
        self._is_scrolling, self._seen = False, None
        if answer is not None and answer["result"].get("value"):
            self._traffic.changed_at = time.monotonic()

    def _evaluate(self, expression: str, world: int, found: Any) -> None:
        self._channel.send(
            "Runtime.evaluate",
            self._targets.main,
            found,
            expression=expression,
            contextId=world,
            returnByValue=True,
            awaitPromise=True,
        )
