"""Values that flow into a browser and out of it. Chromium and CDP are not seen in them, nor is a crawl."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.model.render import RenderEnding, RenderRefusal


class ResourceKind(StrEnum):
    """The kind of a request, as far as anybody decides by it."""

    DOCUMENT = "document"  # of the page or of an iframe: see `SubRequest.is_navigation`
    SCRIPT = "script"  # of workers too
    STYLESHEET = "stylesheet"
    FETCH = "fetch"  # fetch(), XMLHttpRequest, EventSource
    IMAGE = "image"
    FONT = "font"
    MEDIA = "media"
    WEBSOCKET = "websocket"
    PREFETCH = "prefetch"
    BEACON = "beacon"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubRequest:
    """A request that the page makes. The browser waits for its answer.

    url            absolute, http or https, no fragment
    method         upper-case
    headers        by lower-case names; cookies are never among them
    body           of a POST, b"" otherwise
    is_navigation  an iframe's document; the page's own is never asked for
    frame_url      URL of the document that asks; of another scheme where that is unknown, or a redirect of another
                   origin came between; "": the page's own
    """

    url: str
    method: str
    headers: Mapping[str, str]
    resource: ResourceKind
    body: bytes = b""
    is_navigation: bool = False
    frame_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer as it was received, its body decoded. A 3xx is handed on as it is: the next hop is asked for anew.

    headers  by lower-case names; content-encoding, content-length and set-cookie are dropped by the browser's room
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that was not sent, or brought nothing. The page sees a failed connection."""

    reason: RenderRefusal


# It may block, in `ASKS_MOST` threads of a page at once, and returns by itself: nothing ends it when the page ends.
Ask = Callable[[SubRequest], Answer | Refused]
ASKS_MOST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainResponse:
    """The answer to the plain request: the page's own document is this, and is never fetched.

    url      final URL, absolute
    headers  by lower-case names
    body     decoded
    guarded  origins that the operator has credentials for: another origin's preflight is refused
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    guarded: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The most that one page may take.

    wall_s        from opening it to its document, waits for answers included
    requests      that are asked for; refusals by kind do not count
    body_bytes    of the answers' bodies, decoded
    dom_bytes     of the document that is read, UTF-8
    memory_bytes  resident, of the browser's processes together
    """

    wall_s: float = 30.0
    requests: int = 50
    body_bytes: int = 20_000_000
    dom_bytes: int = 10_000_000
    memory_bytes: int = 1_500_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """A page as its scripts left it.

    html            the document: shadow roots and the text of same-origin iframes inlined
    url             of the document at the end: `pushState` changes it
    navigated_to    where a script wanted to go instead; never followed
    routes          URLs that the page gave itself by `pushState`, popups and downloads: links, if somebody wants them
    wall_s, cpu_s   by the clock; of the browser's processes while the page was open
    memory_bytes    most that the browser's processes held together meanwhile
    asked           requests that `Ask` was called for;   answered: with an answer;   body_bytes: of the answers
    refused         by reason, those that nobody was asked for too
    console_errors  the first few, cut
    screenshot      PNG of the first window of the page
    """

    html: str
    url: str
    title: str
    ending: RenderEnding
    wall_s: float
    cpu_s: float
    memory_bytes: int
    asked: int
    answered: int
    body_bytes: int
    refused: Mapping[RenderRefusal, int] = field(default_factory=dict)
    navigated_to: str | None = None
    routes: tuple[str, ...] = ()
    console_errors: tuple[str, ...] = ()
    screenshot: bytes | None = None


@dataclass(frozen=True, slots=True)
class BrowserProblem:
    """Why pages cannot be rendered here.   finding, remedy: half a line each"""

    finding: str
    remedy: str
    is_absence: bool = False  # there is no browser at all
    is_slowness: bool = False  # one was started, and gave no sign or showed no page: the next may be quicker

    @property
    def line(self) -> str:
        return f"{self.finding}; {self.remedy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserDeath:
    """The browser died over the page, hung, or never showed it.

    cause     a line for a person
    is_proof  only the page can be the cause (its memory, its processor time); False: the machine may be
    problem   why no browser would start, or none showed it, so that nothing of it has run; None: it was shown, or not
              taken
    """

    cause: str
    is_proof: bool = False
    problem: BrowserProblem | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chromium:
    """A browser that passed the check.   version: major first, e.g. 156.0.7811.14"""

    path: str
    version: str
