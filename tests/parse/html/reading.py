"""Documents read as the tests need it."""

from app.model.page import Page
from app.parse.html import html

HTML = "text/html; charset=utf-8"
BUNDLE = "<script src=/static/js/main.3f2a91bc.js></script>"


def read(markup: str | bytes, **options: object) -> Page:
    body = markup.encode() if isinstance(markup, str) else markup
    return html.read(body, **{"content_type": HTML, **options})  # type: ignore[arg-type]


def page(body: str, head: str = "") -> str:
    return f"<!doctype html><html lang=en><head><title>T</title>{head}</head><body>{body}</body></html>"


def module(src: str) -> str:
    return f"<script type=module src={src}></script>"
