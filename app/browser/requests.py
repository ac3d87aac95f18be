"""Judges a request that the browser holds: whether anybody is asked, or whether its kind alone decides.

Pure: CDP's `Fetch.requestPaused` in, a decision out. It does not know robots.txt, scope or addresses; `Ask` does.
"""

import re
from base64 import b64decode
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from app.browser.values import Answer, ResourceKind, SubRequest
from app.model.render import RenderRefusal


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
_KEPT_BACK: Final = frozenset({"cookie", "user-agent", "sec-purpose", "purpose"})
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
        headers={name: value for name, value in headers.items() if name not in _KEPT_BACK},
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
