"""Requests of one page: judged, asked for by at most six threads, and answered to the browser."""

import time
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, NamedTuple
from urllib.parse import urldefrag

from app.browser.channel import PageChannel
from app.browser.requests import PRIORITIES, Held, handed_on, judge, origin_of, preflight
from app.browser.values import ASKS_MOST, Answer, Ask, Bounds, PlainResponse, Refused, SubRequest
from app.model.render import RenderRefusal

REFUSED_MOST: Final = 2_000  # a page that goes on asking after so many refusals is not waited for
RELOADS_MOST: Final = 1
REDIRECTED: Final = "about:redirected"  # in place of the document that asks, after a redirect of another origin
PHRASE: Final = "-"  # without one Chromium takes no status that it does not know, such as 299 or 520
_LAST: Final = 9  # the priority of kinds without one


class _Ticket(NamedTuple):
    """A held request that waits for its answer. The first two order them."""

    priority: int
    number: int
    session: str
    held_id: str
    wanted: SubRequest


class Traffic:
    """All requests of one page.

    refused       by reason
    navigated_to  the document that a script wanted instead of the page's own
    changed_at    monotonic: the last request or answer
    """

    def __init__(self, channel: PageChannel, plain: PlainResponse, ask: Ask, bounds: Bounds) -> None:
        self._channel, self._plain, self._ask, self._bounds = channel, plain, ask, bounds
        self._threads = ThreadPoolExecutor(ASKS_MOST, thread_name_prefix="browser-ask")
        self._numbers = count()
        self._waiting: list[_Ticket] = []
        self._flying: dict[int, _Ticket] = {}
        self._has_document = self._is_over = False
        self._reloads = 0
        self._strayed: set[str] = set()  # requests to another origin than the one that asks, and where they lead
        self.main_frame = ""
        self.refused: Counter[RenderRefusal] = Counter()
        self.asked = self.answered = self.body_bytes = 0
        self.navigated_to: str | None = None
        self.changed_at = time.monotonic()
        self.failure: BaseException | None = None

    @property
    def is_idle(self) -> bool:
        return self._has_document and not self._waiting and not self._flying

    @property
    def is_flood(self) -> bool:
        return self.refused.total() >= REFUSED_MOST

    def refuse(self, reason: RenderRefusal, n: int = 1) -> None:
        """Count requests that were refused elsewhere."""
        if n:
            self.refused[reason] += n

    def hold(self, held: Mapping[str, Any], session: str, frame_url: str) -> None:
        """Take a held request over: `Fetch.requestPaused`."""
        self.changed_at = time.monotonic()
        held_id: str = held["requestId"]
        if held.get("redirectedRequestId") in self._strayed:
            frame_url = REDIRECTED
        judged = judge(
            held,
            main_frame=self.main_frame,
            has_document=self._has_document,
            frame_url=frame_url,
            guarded=self._plain.guarded,
        )
        if judged is Held.INSIDE:
            self._channel.send("Fetch.continueRequest", session, requestId=held_id)
        elif judged is Held.PREFLIGHT:
            self._fulfil(session, held_id, preflight(held))
        elif judged is Held.OWN or (judged is Held.ELSEWHERE and self._is_reload(held["request"])):
            self._show(session, held_id)
        elif judged is Held.ELSEWHERE:
            self.navigated_to = self.navigated_to or held["request"]["url"]
            self._fail(session, held_id, "Aborted")  # the page stays as it is
        elif isinstance(judged, SubRequest):
            if origin_of(judged.url) != origin_of(frame_url):
                self._strayed.add(held_id)
            self._admit(judged, session, held_id)
        else:
            self.refused[judged] += 1
            self._fail(session, held_id)

    def stop(self) -> None:
        """Ask no more: all that waits, or is asked for still, is refused for want of time."""
        self._is_over = True
        left = [*self._waiting, *self._flying.values()]
        self._waiting, self._flying = [], {}
        for ticket in left:
            self.refused[RenderRefusal.TIME] += 1
            self._fail(ticket.session, ticket.held_id)

    def close(self) -> None:
        """Let threads end. One that is asking still ends with its answer, which goes nowhere."""
        self._is_over = True
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _is_reload(self, request: Mapping[str, Any]) -> bool:
        """Whether it asks for the page itself once more, which it may once: it goes on from what it noted."""
        is_own = request["method"] == "GET" and urldefrag(request["url"]).url == urldefrag(self._plain.url).url
        self._reloads += is_own
        return is_own and self._reloads <= RELOADS_MOST

    def _show(self, session: str, held_id: str) -> None:
        self._has_document = True
        plain = self._plain
        answer = Answer(status=plain.status, headers=plain.headers, body=plain.body)
        self._fulfil(session, held_id, answer, is_page=True)

    def _admit(self, wanted: SubRequest, session: str, held_id: str) -> None:
        """Queue it within the page's bounds."""
        if reason := self._bound():
            self.refused[reason] += 1
            self._fail(session, held_id)
            return
        self.asked += 1
        priority = PRIORITIES.get(wanted.resource, _LAST)
        heappush(self._waiting, _Ticket(priority, next(self._numbers), session, held_id, wanted))
        self._start()

    def _bound(self) -> RenderRefusal | None:
        if self._is_over:
            return RenderRefusal.TIME
        if self.asked >= self._bounds.requests:
            return RenderRefusal.REQUESTS
        return RenderRefusal.BYTES if self.body_bytes >= self._bounds.body_bytes else None

    def _start(self) -> None:
        while self._waiting and len(self._flying) < ASKS_MOST:
            ticket = heappop(self._waiting)
            self._flying[ticket.number] = ticket
            asked = self._threads.submit(self._ask, ticket.wanted)
            asked.add_done_callback(partial(self._arrived, ticket.number))

    def _arrived(self, number: int, done: "Future[Answer | Refused]") -> None:
        self._channel.post(partial(self._answered, number, done))

    def _answered(self, number: int, done: "Future[Answer | Refused]") -> None:
        """Hand an answer to the browser. One that nobody waits for any more is dropped."""
        ticket = self._flying.pop(number, None)
        if ticket is None:
            return
        self.changed_at = time.monotonic()
        found: Answer | Refused = Refused(RenderRefusal.FAILED)
        if error := done.exception():
            self.failure = self.failure or error
        else:
            found = done.result()
        if isinstance(found, Answer) and self.body_bytes + len(found.body) > self._bounds.body_bytes:
            self.body_bytes = self._bounds.body_bytes
            found = Refused(RenderRefusal.BYTES)
        if isinstance(found, Answer):
            self.answered += 1
            self.body_bytes += len(found.body)
            self._fulfil(ticket.session, ticket.held_id, found)
        else:
            self.refused[found.reason] += 1
            self._fail(ticket.session, ticket.held_id)
        self._start()

    def _fulfil(self, session: str, held_id: str, answer: Answer, *, is_page: bool = False) -> None:
        """Hand an answer on. One that the browser does not take, for an odd header or status, is a failed request."""

        def answered(result: Mapping[str, Any] | None) -> None:
            if result is None:
                self.refused[RenderRefusal.FAILED] += 1
                self._fail(session, held_id)

        self._channel.send(
            "Fetch.fulfillRequest",
            session,
            answered,
            requestId=held_id,
            responseCode=answer.status,
            responsePhrase=PHRASE,
            responseHeaders=handed_on(answer.headers, "page" if is_page else "other"),
            body=b64encode(answer.body).decode(),
        )

    def _fail(self, session: str, held_id: str, reason: str = "BlockedByClient") -> None:
        self._channel.send("Fetch.failRequest", session, requestId=held_id, errorReason=reason)
