"""Decides what a rendered page's requests share: which answers are used again, and which headers are sent.

Scripts and styles that many pages share are held in a private HTTP cache (RFC 9111), in memory, bounded in bytes.

Stored is a 200 to a GET that says how long it is fresh, and sets no cookie. Nothing is revalidated: what is stale is
fetched again. A worker's pages share it. Answers of origins that the operator has credentials for are kept out of it,
so that an answer is the same to each.

Of the headers that a page's scripts set, those on a list of names are sent, each for its reason. Whatever says who asks
(User-Agent, From, Signature, Cookie, Authorization), from where (Origin, Referer) or for whom (keys and tokens) is not
on it, and so is never sent; our own identity is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Final

from app.browser.values import Answer, ResourceKind, SubRequest
from app.runtime.lru import Lru

ENTRY_BYTES: Final = 1_000  # of Python's own objects
LONGEST_S: Final = 86_400.0
_KINDS: Final = frozenset({ResourceKind.SCRIPT, ResourceKind.STYLESHEET})
_FORBIDS: Final = frozenset({"no-store", "no-cache"})  # RFC 9111 sections 5.2.2.4 and 5.2.2.5
VALUE_CHARS_MOST: Final = 200
# lower-case name → as it is sent
_SENT: Final[Mapping[str, str]] = {
    "accept": "Accept",  # the form that the script can read: JSON, where the default would be a page
    "x-requested-with": "X-Requested-With",  # jQuery and others: servers answer with data, not with a page
    "rsc": "RSC",  # Next.js: a page as data for its components
    "x-inertia": "X-Inertia",  # Inertia: a page as JSON
    "x-inertia-version": "X-Inertia-Version",  # of the scripts that the page came with; another is answered 409
    "x-pjax": "X-PJAX",  # a page without its frame
    "turbo-frame": "Turbo-Frame",  # Hotwire: one frame of a page
    "hx-request": "HX-Request",  # htmx: a fragment of a page
}
_OF_A_BODY: Final[Mapping[str, str]] = {"content-type": "Content-Type"}  # of a POST that a profile allows


@dataclass(frozen=True, slots=True)
class _Stored:
    answer: Answer
    until: float  # monotonic seconds


class SharedCache:
    """Answers by URL, the least recently used dropped first. Threads share it."""

    def __init__(self, most_bytes: int = 64 * 1024 * 1024) -> None:
        self._most_bytes = most_bytes
        self._stored: Lru[str, _Stored] = Lru(most_bytes)

    def get(self, url: str, resource: ResourceKind, now: float) -> Answer | None:
        """A fresh answer."""
        found = self._stored.get(url) if resource in _KINDS else None
        return found.answer if found is not None and found.until > now else None

    def put(self, url: str, resource: ResourceKind, answer: Answer, now: float) -> None:
        """Store an answer if it may be."""
        fresh_s = fresh_for_s(answer) if resource in _KINDS else 0.0
        held = _held_bytes(url, answer)
        if fresh_s > 0 and held <= self._most_bytes:
            self._stored.put(url, _Stored(answer, now + fresh_s), held)


def _held_bytes(url: str, answer: Answer) -> int:
    """Bytes that an answer takes, about: one without a body takes some, too."""
    headers = sum(len(name) + len(value) for name, value in answer.headers.items())
    return len(url) + headers + len(answer.body) + ENTRY_BYTES


def fresh_for_s(answer: Answer) -> float:
    """Seconds for which an answer may be used again (RFC 9111 sections 3 and 4.2.1); 0: not at all."""
    headers = answer.headers
    control = _directives(headers.get("cache-control", ""))
    if answer.status != 200 or "set-cookie" in headers or not _FORBIDS.isdisjoint(control):
        return 0.0
    if any(name.strip().lower() not in {"", "accept-encoding"} for name in headers.get("vary", "").split(",")):
        return 0.0
    stated = _number(control["max-age"]) if "max-age" in control else _until_expiry_s(headers)
    return min(max(stated - _number(headers.get("age", "0")), 0.0), LONGEST_S)


def _directives(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(","))
    return {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs if name.strip()}


def _number(text: str) -> float:
    """Seconds, 2**31 at most (RFC 9111 section 1.2.2): an age without end less another would be no number."""
    return min(float(text), 2.0**31) if text.strip().isdecimal() and text.isascii() else 0.0


def _until_expiry_s(headers: Mapping[str, str]) -> float:
    """Expires less Date, both by the server's clock; 0 without either."""
    try:
        expires, date = (parsedate_to_datetime(headers[name]) for name in ("expires", "date"))
        return (expires - date).total_seconds()
    except (KeyError, ValueError, TypeError, OverflowError):
        return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The form of a request.   fields: beside our own;   content: of a POST;   authorised: as in Request"""

    method: str = "GET"
    fields: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""
    authorised: bool = False


def asking(asked: SubRequest, *, authorised: bool = False) -> Asking:
    """The request as it is sent. Headers are a script's own where it fetches; elsewhere they are the browser's."""
    if asked.resource is not ResourceKind.FETCH:
        return Asking(method=asked.method, authorised=authorised)
    is_post = asked.method == "POST"
    names = {**_SENT, **_OF_A_BODY} if is_post else _SENT
    fields = {names[name]: value for name, value in asked.headers.items() if name in names and _is_plain(value)}
    content = asked.body if is_post else b""
    return Asking(method=asked.method, fields=fields, content=content, authorised=authorised)


def _is_plain(value: str) -> bool:
    """Whether it is short, and visible ASCII with blanks: nothing that could end a line, or carry much."""
    return 0 < len(value) <= VALUE_CHARS_MOST and value.isascii() and value.isprintable()
