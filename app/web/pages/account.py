"""Log in and out. Wrong passwords are few a minute: each costs some 50 ms, and too many are refused unseen."""

import time
from collections import deque

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.web.board import board_of
from app.web.guard import SESSION
from app.web.render import refusal
from app.web.users import SESSION_S

WRONG_MOST, WITHIN_S = 10, 60.0
_wrong: deque[float] = deque(maxlen=WRONG_MOST)


def login(request: Request) -> Response:
    """A session for the right password."""
    board, form = board_of(request), request.scope["form"]
    if len(_wrong) == WRONG_MOST and time.monotonic() - _wrong[0] < WITHIN_S:
        return refusal(request, board, 429, "Too many wrong passwords. Wait a minute.")
    session = board.users.login(form.get("name", ""), form.get("password", ""))
    if session is None:
        _wrong.append(time.monotonic())
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
