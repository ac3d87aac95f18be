"""Judges a request that the browser holds: whether anybody is asked, or whether its kind alone decides.

Pure: CDP's `Fetch.requestPaused` in, a decision out. It does not know robots.txt, scope or addresses; `Ask` does.

Requests of one page: judged, asked for by at most six threads, and answered to the browser.
"""

import re
import time
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from enum import Enum
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urldefrag, urlsplit

from app.browser.connection import PageChannel
from app.browser.values import ASKS_MOST, Answer, Ask, Bounds, PlainResponse, Refused, ResourceKind, SubRequest
from app.model.render import RenderRefusal

RELOADS_MOST: Final = 1


class Held(Enum):
    """A held request that is neither asked for nor refused."""

    OWN = "own"  # the page's document: answered from the plain response
    ELSEWHERE = "elsewhere"  # a script wants another document in its place
    INSIDE = "inside"  # no request at all: data:, blob:, about:
    PREFLIGHT = "preflight"  # answered here: to another origin no credentials are sent that it could protect


Judged = SubRequest | RenderRefusal | Held

# CDP's Network.ResourceType → ours. Any other is OTHER.
_KINDS: Final[Mapping[str, ResourceKind]] = {
    "Document": ResourceKind.DOCUMENT,
    "Script": ResourceKind.SCRIPT,
    "Stylesheet": ResourceKind.STYLESHEET,
    "XHR": ResourceKind.FETCH,
    "Fetch": ResourceKind.FETCH,
    "EventSource": ResourceKind.FETCH,
    "Image": ResourceKind.IMAGE,
    "Font": ResourceKind.FONT,
    "Media": ResourceKind.MEDIA,
    "TextTrack": ResourceKind.MEDIA,
    "Manifest": ResourceKind.IMAGE,  # icons are all that it could bring
    "WebSocket": ResourceKind.WEBSOCKET,
    "Prefetch": ResourceKind.PREFETCH,
    "Ping": ResourceKind.BEACON,
    "CSPViolationReport": ResourceKind.BEACON,
}
_REFUSED_KINDS: Final[Mapping[ResourceKind, RenderRefusal]] = {
    ResourceKind.IMAGE: RenderRefusal.TYPE,
    ResourceKind.FONT: RenderRefusal.TYPE,
    ResourceKind.MEDIA: RenderRefusal.TYPE,
    ResourceKind.WEBSOCKET: RenderRefusal.WEBSOCKET,
    ResourceKind.PREFETCH: RenderRefusal.PREFETCH,
    ResourceKind.BEACON: RenderRefusal.BEACON,
}
# Headers of an answer that are wrong for its decoded body, would store something, or would open a road elsewhere.
_NOT_HANDED_ON: Final = frozenset(
    {
        "alt-svc",
        "clear-site-data",
        "connection",
        "content-encoding",
        "content-length",
        "keep-alive",
        "nel",
        "proxy-authenticate",
        "report-to",
        "reporting-endpoints",
        "set-cookie",
        "speculation-rules",
        "strict-transport-security",
        "transfer-encoding",
        "www-authenticate",
    }
)
_HINT: Final = re.compile(r"\brel\s*=\s*(?:\"[^\"]*)?\b(?:preconnect|dns-prefetch)\b", re.IGNORECASE)  # RFC 8288
PRIORITIES: Final[Mapping[ResourceKind, int]] = {
    ResourceKind.SCRIPT: 0,
    ResourceKind.FETCH: 1,
    ResourceKind.DOCUMENT: 2,
    ResourceKind.STYLESHEET: 3,
}


def origin_of(url: str) -> str:
    """The origin of a URL as a browser writes it."""
    return "/".join(url.split("/", 3)[:3])


def judge(
    held: Mapping[str, Any],
    *,
    main_frame: str,
    has_document: bool,
    frame_url: str,
    guarded: frozenset[str] = frozenset(),
) -> Judged:
    """Judge the parameters of `Fetch.requestPaused`.

    has_document  the page's own document was answered before
    frame_url     the document that asks, as far as it is known
    guarded       origins that the operator has credentials for
    """
    request, kind = held["request"], _KINDS.get(held["resourceType"], ResourceKind.OTHER)
    headers = {name.lower(): value for name, value in request["headers"].items()}
    scheme = urlsplit(request["url"]).scheme
    if kind is ResourceKind.OTHER and (
        headers.get("accept", "").startswith("image/") or request["url"].endswith(".ico")
    ):
        kind = ResourceKind.IMAGE  # the icon of a site
    if kind is ResourceKind.DOCUMENT and held["frameId"] == main_frame:
        return Held.ELSEWHERE if has_document else Held.OWN
    if scheme in {"data", "blob", "about"}:
        return Held.INSIDE
    if refused := _refused_by_kind(kind, scheme, headers):
        return refused
    if request["method"] == "OPTIONS" and "access-control-request-method" in headers:
        return RenderRefusal.CREDENTIALS if origin_of(request["url"]) in guarded else Held.PREFLIGHT
    body = _body(request)
    if body is None:
        return RenderRefusal.BYTES
    return SubRequest(
        url=request["url"],
        method=request["method"].upper(),
        headers={
            name: value
            for name, value in headers.items()
            if name not in {"cookie", "user-agent", "sec-purpose", "purpose"}
        },
        resource=kind,
        body=body,
        is_navigation=kind is ResourceKind.DOCUMENT,
        frame_url=frame_url,
    )


def _body(request: Mapping[str, Any]) -> bytes | None:
    """The body of a POST. None: the browser does not tell it, as it is large, or a file."""
    entries = request.get("postDataEntries") or []
    if any("bytes" not in entry for entry in entries):
        return None
    if entries:
        return b"".join(b64decode(entry["bytes"]) for entry in entries)
    if request.get("hasPostData") and "postData" not in request:
        return None
    return str(request.get("postData", "")).encode()


def _refused_by_kind(kind: ResourceKind, scheme: str, headers: Mapping[str, str]) -> RenderRefusal | None:
    if scheme in {"ws", "wss"}:
        return RenderRefusal.WEBSOCKET
    if scheme not in {"http", "https"}:
        return RenderRefusal.SCHEME
    if headers.get("service-worker") == "script":
        return RenderRefusal.SERVICE_WORKER
    if "prefetch" in headers.get("sec-purpose", headers.get("purpose", "")):
        return RenderRefusal.PREFETCH
    return _REFUSED_KINDS.get(kind)


def preflight(held: Mapping[str, Any]) -> Answer:
    """The answer to a CORS preflight. The request that follows is judged by itself, and so are its answer's headers."""
    headers = {name.lower(): value for name, value in held["request"]["headers"].items()}
    return Answer(
        status=204,
        headers={
            "access-control-allow-origin": headers.get("origin", "*"),
            "access-control-allow-methods": headers["access-control-request-method"],
            "access-control-allow-headers": headers.get("access-control-request-headers", "*"),
            "access-control-allow-credentials": "true",
        },
    )


def hints(headers: Mapping[str, str]) -> int:
    """Connections that an answer tells the browser to open ahead, in its Link header."""
    return len(_HINT.findall(headers.get("link", "")))


def handed_on(headers: Mapping[str, str], kind: Literal["page", "other"] = "other") -> list[dict[str, str]]:
    """Headers of an answer as CDP takes them. A page's own document is shown, not saved."""
    left_out = _NOT_HANDED_ON | {"content-disposition"} if kind == "page" else _NOT_HANDED_ON
    return [{"name": name, "value": value} for name, value in headers.items() if name.lower() not in left_out]


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
        return self.refused.total() >= 2_000  # a page that goes on asking after so many refusals is not waited for

    def refuse(self, reason: RenderRefusal, n: int = 1) -> None:
        """Count requests that were refused elsewhere."""
        if n:
            self.refused[reason] += n

    def hold(self, held: Mapping[str, Any], session: str, frame_url: str) -> None:
        """Take a held request over: `Fetch.requestPaused`."""
        self.changed_at = time.monotonic()
        held_id: str = held["requestId"]
        if held.get("redirectedRequestId") in self._strayed:
            frame_url = "about:redirected"  # in place of the document that asks, after a redirect of another origin
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
        priority = PRIORITIES.get(wanted.resource, 9)  # the priority of kinds without one
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
            responsePhrase="-",  # without one Chromium takes no status that it does not know, such as 299 or 520
            responseHeaders=handed_on(answer.headers, "page" if is_page else "other"),
            body=b64encode(answer.body).decode(),
        )

    def _fail(self, session: str, held_id: str, reason: str = "BlockedByClient") -> None:
        self._channel.send("Fetch.failRequest", session, requestId=held_id, errorReason=reason)
