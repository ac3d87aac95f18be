"""Reads a page's main text with trafilatura, for comparison: it takes three to ten times as long as ours.

Ours is read while we crawl, on every page, and is better or as good on all kinds of pages but those of products
(`bench/main_text_sample.py`). trafilatura, of the extra `text`, leaves out more. Where it finds nothing, or the page is
huge, the text is ours.
"""

from itertools import islice

from lxml import etree

from app.errors import InputError
from app.extras import to_install
from app.parse import charset
from app.parse.html import text, tree
from app.policy import media_type

_MAX_ELEMENTS = 10_000  # trafilatura takes up to 0.6 ms for each; the largest pages of manuals have as many


def best(html: bytes | str, url: str | None = None, content_type: str | None = None) -> str:
    """The main text, a line per block; "" where there is none. At most as long as `text.MAX_TEXT_CHARS`.

    html          bytes in whatever encoding they declare, or text
    url           the URL of the page
    content_type  value of the header; a text that is no HTML is returned as it stands
    Raises InputError where trafilatura is not installed.
    """
    try:
        from trafilatura import extract
    except ImportError as error:
        raise InputError("the best main text needs trafilatura", to_install("text")) from error
    if isinstance(html, bytes) and media_type.is_text(media_type.of(content_type, html)):
        return charset.decode(html, content_type)[0][: text.MAX_TEXT_CHARS].rstrip()
    markup = html.encode("utf-8", "replace") if isinstance(html, str) else charset.to_utf8(html, content_type)[0]
    root = tree.grow(markup)
    if root is None:
        return ""
    found = None
    if next(islice(root.iter(), _MAX_ELEMENTS, None), None) is None:
        # It parses anew what our parser has bounded in depth and attributes.
        found = extract(etree.tostring(root, method="html", encoding="unicode"), url=url, include_comments=False)
    return (found or text.main_text(root, text.hidden_roots(root)))[: text.MAX_TEXT_CHARS].rstrip()
