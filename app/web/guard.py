"""Guards every request, before any page sees it: host name, viewer, role, form token; and the headers of answers.

An ASGI middleware, so that a new route cannot forget it. A request is refused unless a rule lets it through:

    HEALTH                                pass  probes come by any name, and learn nothing of a crawl
    Host is not ours                      421   DNS rebinding: another site's name that points here
    PUBLIC                                pass  static files
    METRICS, where a token is the login   pass  Prometheus has none
    GET / with a token that is new        303   to the page without it, with a session
    no viewer, but for POST /login        401   with the login form
    a form that is too large              413   by its Content-Length, or by its fields; before it is parsed
    a POST that another site sent         403   by Sec-Fetch-Site and Origin
    a POST without its seat's token       403
    a POST by who may only read           403
"""

import hmac
import ipaddress
import secrets
from urllib.parse import parse_qsl, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.config import Settings
from app.local.dashboard import TOKEN, is_by_token
from app.web.board import Board
from app.web.render import refusal
from app.web.users import LOCAL_S, Viewer

SESSION, SEAT = "tiptoe_session", "tiptoe_seat"
HEALTH = ("/healthz", "/readyz")
PUBLIC = (*HEALTH, "/static/")
LOGIN = "/login"
FORM_BYTES, LOGIN_BYTES, FIELDS_MOST = 1_000_000, 16_384, 100
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}
_SAFE = frozenset({"GET", "HEAD"})
_NEW_URL = "`tiptoe web` prints a URL that opens the dashboard in one browser, also while it runs."


class WebGuard:
    """The middleware. board: of this process"""

    def __init__(self, app: ASGIApp, board: Board) -> None:
        self._app, self._board = app, board
        self._names, self._session_cookie = _names(board.settings), _session_cookie(board.settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        cookies = _cookies(headers)
        seat = cookies.get(SEAT, "")
        fresh = "" if seat or scope["path"].startswith(PUBLIC) else secrets.token_urlsafe(24)
        scope["viewer"] = Viewer(name=None, may_steer=False, seat=seat or fresh)
        guarded = _with_headers(send, fresh if scope["method"] == "GET" else "")
        try:
            why = await self._why_not(scope, receive, headers, cookies)
        except ClientDisconnect:
            return  # nobody is left to be answered
        token = self._token(scope)
        if token and (why is None or why[0] == 401):
            answer = await run_in_threadpool(self._enter, scope, token)
            await answer(scope, receive, guarded)
        elif why is None:
            await self._app(scope, receive, guarded)
        else:
            await refusal(Request(scope), self._board, *why)(scope, receive, guarded)

    def _token(self, scope: Scope) -> str:
        """The token of the printed URL; empty: none."""
        if not self._board.users.is_by_token or (scope["method"], scope["path"]) != ("GET", "/"):
            return ""
        return QueryParams(scope["query_string"]).get(TOKEN, "")

    def _enter(self, scope: Scope, token: str) -> Response:
        """Lead to the page without the token, which the history, a log or another site could tell; with a session."""
        is_in = scope["viewer"].name is not None
        session = None if is_in else self._board.users.admit(token)
        if not is_in and session is None:
            return refusal(Request(scope), self._board, 401, f"This URL was used, or is old. {_NEW_URL}")
        answer = RedirectResponse("/", 303, {"referrer-policy": "no-referrer"})
        if session is not None:
            answer.set_cookie(self._session_cookie, session, max_age=LOCAL_S, httponly=True, samesite="strict")
        return answer

    async def _why_not(
        self, scope: Scope, receive: Receive, headers: Headers, cookies: dict[str, str]
    ) -> tuple[int, str] | None:
        """The status and the reason of a refusal; None: it may pass. Sets the viewer, and the fields of a form.

        Raises ClientDisconnect.
        """
        path, method = scope["path"], scope["method"]
        if path in HEALTH:
            return None
        if not _is_named(headers.get("host", ""), self._names):
            return 421, "This name is not one of the dashboard's. Add it to TIPTOE_WEB_HOSTS."
        if path.startswith(PUBLIC):
            return None
        users = self._board.users
        if users.is_by_token and path in {"/metrics", "/metrics/targets"} and method in _SAFE:
            return None
        viewer = users.viewer(
            session=cookies.get(self._session_cookie, ""),
            seat=scope["viewer"].seat,
            client=(scope.get("client") or ("", 0))[0],
            headers=headers,
        )
        if viewer is not None:
            scope["viewer"] = viewer
        elif (path, method) != (LOGIN, "POST"):
            return 401, _NEW_URL if users.is_by_token else "Please log in."
        if method in _SAFE:
            return None
        form = await _form(receive, headers, LOGIN_BYTES if path == LOGIN else FORM_BYTES)
        if form is None:
            return 413, "The form is too large."
        scope["form"] = form
        return self._why_no_post(path, headers, scope["viewer"], form.get("token", ""))

    def _why_no_post(self, path: str, headers: Headers, viewer: Viewer, token: str) -> tuple[int, str] | None:
        origin = headers.get("origin")
        is_ours = headers.get("sec-fetch-site", "same-origin") in {"same-origin", "none"}
        if not is_ours or (origin is not None and origin.partition("://")[2] != headers.get("host")):
            return 403, "Another site sent this form."
        if not hmac.compare_digest(token.encode(), self._board.users.token(viewer.seat).encode()):
            return 403, "This form has expired. Go back, reload the page, and send it again."
        if path not in {LOGIN, "/logout"} and not viewer.may_steer:
            return 403, "You may look, and not steer."
        return None


def _session_cookie(settings: Settings) -> str:
    """The cookie's name. Browsers tell no ports apart, and each dashboard of this machine has its own tokens."""
    return f"{SESSION}_{settings.web_listen.rpartition(':')[2]}" if is_by_token(settings) else SESSION


def _names(settings: Settings) -> frozenset[str]:
    address = settings.web_listen.rpartition(":")[0].strip("[]")
    return frozenset({*(name.lower() for name in settings.web_hosts), "localhost", address})


def _is_named(host: str, names: frozenset[str]) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    try:
        return ipaddress.ip_address(name).is_loopback or name in names
    except ValueError:
        return name in names


def _cookies(headers: Headers) -> dict[str, str]:
    """Cookies as browsers send them (RFC 6265, 5.4); of two with a name the first, whose path is the longer.

    Others' are among them: a browser tells the ports of a machine not apart. Python's own parser stops at one that is
    odd, and takes minutes for a head of backslashes (before 3.11.10 and 3.12.6)."""
    found: dict[str, str] = {}
    for each in "; ".join(headers.getlist("cookie")).split(";"):
        name, _, value = each.partition("=")
        found.setdefault(name.strip(), value.strip())
    return found


async def _form(receive: Receive, headers: Headers, most: int) -> dict[str, str] | None:
    """The fields of a form; None: too many octets or fields. Raises ClientDisconnect: half a form may mean another."""
    if int(headers.get("content-length", "0")) > most:  # h11 has seen that it is a number, and that the body is as long
        return None
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if not message.get("more_body"):
            return await run_in_threadpool(_fields, bytes(body))


def _fields(body: bytes) -> dict[str, str] | None:
    try:
        return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=FIELDS_MOST))
    except ValueError:
        return None


def _with_headers(send: Send, seat: str) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-cache" if "etag" in headers else "no-store")  # only files have one
            if seat:
                headers.append("set-cookie", f"{SEAT}={seat}; Path=/; HttpOnly; SameSite=Strict")
        await send(message)

    return guarded
