"""Renders templates. Every text is escaped, and characters that steer a terminal or reorder a line are replaced."""

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from app.web.board import board_of, viewer_of
from app.words import counted, harmless, rounded, sized, span

if TYPE_CHECKING:
    from app.web.board import Board

ROOT = Path(__file__).parent


def make_templates() -> Environment:
    """The environment of all templates. A name that is not given is an error, never an empty text."""
    made = Environment(
        loader=FileSystemLoader(ROOT / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "sized": _sized,
        "when": when,
        "ago": ago,
        "seconds": seconds,
        "number": number,
        "about": about,
        "coded": coded,
        "span": span,
        "share": share,
    }
    made.globals |= {"counted": counted, "address": address}
    return made


def page(request: Request, template: str, *, status: int = 200, **context: Any) -> Response:
    """Render a page."""
    return _rendered(request, board_of(request), template, context, status)


def refusal(request: Request, board: "Board", status: int, why: str) -> Response:
    """The page of a refused request; with the login form where a login would help."""
    can_log_in = status == 401 and board.users.has_login
    title = "Log in" if can_log_in else "This page took too long" if status == 504 else HTTPStatus(status).phrase
    context = {"title": title, "why": why, "can_log_in": can_log_in}
    given: str = request.scope.get("form", {}).get("to", "/")  # by a login that was refused
    asked = f"{request.url.path}?{request.url.query}" if request.method == "GET" else given
    return _rendered(request, board, "refusal.html", {**context, "status": status, "to": asked}, status)


def _rendered(request: Request, board: "Board", template: str, context: Mapping[str, Any], status: int) -> HTMLResponse:
    viewer = viewer_of(request)
    base = {
        "viewer": viewer,
        "token": board.users.token(viewer.seat),
        "has_login": board.users.has_login,
        "is_open": not board.users.has_login and not board.users.is_by_token,
        "path": request.url.path,
        "now": datetime.now(UTC),
    }
    return HTMLResponse(board.templates.get_template(template).render({**base, **context}), status)


def address(path: str, **query: object) -> str:
    """A path with a query, for a link; what is None is left out."""
    pairs = {name: value for name, value in query.items() if value is not None and value != ""}
    return f"{path}?{urlencode(pairs)}" if pairs else path


def when(at: datetime | None) -> str:
    """A moment in UTC, to the second."""
    return "" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def ago(at: datetime | None, now: datetime) -> str:
    """The distance of a moment: `in 5 s`, `3 min ago`."""
    if at is None:
        return ""
    away = (at - now).total_seconds()
    return "now" if abs(away) < 1 else f"in {span(away)}" if away > 0 else f"{span(-away)} ago"


def seconds(value: float | None) -> str:
    """Seconds to the millisecond."""
    return "" if value is None or not math.isfinite(value) else f"{value:.3f}".rstrip("0").rstrip(".")


def number(value: float | None) -> str:
    """A number with its thousands marked."""
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else rounded(float(value))


def about(value: float) -> str:
    """An estimate, to two digits: `≈ 5,100,000`."""
    return f"≈ {float(f'{value:.2g}'):,.0f}"


def coded(text: str) -> Markup:
    """A sentence of ours as HTML, its `commands` as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(harmless(text)))))


def share(value: float | None) -> str:
    """A share, in percent."""
    return "" if value is None else f"{100 * value:.3g} %"


def _sized(n: int | None) -> str:
    return "" if n is None else sized(n)


def _shown(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, list | dict):  # of an item
        is_flat = isinstance(value, list) and not any(isinstance(each, list | dict) for each in value)
        value = "; ".join(map(str, value)) if is_flat else json.dumps(value, ensure_ascii=False)
    return harmless(value) if isinstance(value, str) and not isinstance(value, Markup) else value
