"""Documents read as the tests need it."""

from app.model.page import Page
from app.parse.html import html

HTML = "text/html; charset=utf-8"


def read(markup: str | bytes, **options: object) -> Page:
    body = markup.encode() if isinstance(markup, str) else markup
    return html.read(body, **{"content_type": HTML, **options})  # type: ignore[arg-type]
