"""Log in and out."""

from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from app.web.board import board_of
from app.web.guard import SESSION
from app.web.render import refusal
from app.web.users import SESSION_S


def login(request: Request) -> Response:
    """A session for the right password."""
    board, form = board_of(request), request.scope["form"]
    if board.users.is_held:
        return refusal(request, board, 429, "Too many wrong passwords. Wait a minute.")
    session = board.users.login(form.get("name", ""), form.get("password", ""))
    if session is None:
        return refusal(request, board, 401, "This name and password do not go together.")
    answer = RedirectResponse(_page_of(request, form.get("to", "")), 303)
    answer.set_cookie(
        SESSION,
        session,
        max_age=SESSION_S,
        httponly=True,
        samesite="strict",
        secure=request.headers.get("origin", "").startswith("https://"),
    )
    return answer


def _page_of(request: Request, to: str) -> str:
    """The page that was asked for before the login; the first page for what is no page of ours, as another site's."""
    try:
        parts = urlsplit(to.replace("\\", "/"))  # browsers take one for the other
    except ValueError:
        return "/"
    pages = [each for each in request.app.routes if isinstance(each, Route) and "GET" in (each.methods or ())]
    is_page = any(page.path_regex.match(parts.path) for page in pages) and not parts.scheme and not parts.netloc
    return f"{parts.path}?{parts.query}" if is_page else "/"


def logout(_: Request) -> Response:
    """End the session in this browser."""
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(SESSION, httponly=True, samesite="strict")
    return answer
