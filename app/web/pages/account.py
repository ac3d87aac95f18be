"""Log in and out."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

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
    answer = RedirectResponse("/", 303)
    answer.set_cookie(
        SESSION,
        session,
        max_age=SESSION_S,
        httponly=True,
        samesite="strict",
        secure=request.headers.get("origin", "").startswith("https://"),
    )
    return answer


def logout(_: Request) -> Response:
    """End the session in this browser."""
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(SESSION, httponly=True, samesite="strict")
    return answer
