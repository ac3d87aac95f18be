"""The web of `tests/browser/web`, answered in the process: every host serves the same files."""

import mimetypes
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from app.browser.values import Answer, PlainResponse, Refused, SubRequest
from app.model.render import RenderRefusal

WEB = Path(__file__).with_name("web")
KNOWN = frozenset({"site.test", "elsewhere.test", "api.test"})
MOVED = {"/data/moved.json": "/data/figure.json"}


def respond(url: str) -> Answer:
    """The answer of any server of this web: a file, a redirect, or 404. CORS is open to all."""
    parts = urlsplit(url)
    headers = {"access-control-allow-origin": "*"}
    if parts.path == "/hop":
        return Answer(status=302, headers={"location": parse_qs(parts.query)["to"][0], **headers})
    if parts.path in MOVED:
        return Answer(status=301, headers={"location": MOVED[parts.path], **headers})
    path = WEB / parts.path.lstrip("/")
    path = path / "index.html" if parts.path.endswith("/") else path
    if not path.is_file():
        return Answer(status=404, headers={"content-type": "text/html", **headers}, body=b"<p>not here")
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return Answer(status=200, headers={"content-type": kind, **headers}, body=path.read_bytes())


def plain(path: str, host: str = "site.test", scheme: str = "http") -> PlainResponse:
    """The answer to the plain request for a page."""
    url = f"{scheme}://{host}{path}"
    answer = respond(url)
    assert answer.status == 200, url
    return PlainResponse(url=url, status=answer.status, headers=answer.headers, body=answer.body)


class Site:
    """Answers a browser, and keeps what it asked for.   looks: called with each request, while the page is open"""

    def __init__(self, looks: Callable[[SubRequest], None] = lambda request: None) -> None:
        self._looks = looks
        self._lock = threading.Lock()
        self.asked: list[SubRequest] = []

    def __call__(self, request: SubRequest) -> Answer | Refused:
        with self._lock:
            self.asked.append(request)
            self._looks(request)
        if request.method != "GET":
            return Refused(RenderRefusal.METHOD)
        if urlsplit(request.url).hostname not in KNOWN:
            return Refused(RenderRefusal.ADDRESS)
        return respond(request.url)

    @property
    def urls(self) -> list[str]:
        return [request.url for request in self.asked]
