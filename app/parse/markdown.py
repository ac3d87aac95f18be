"""Writes a page's content as Markdown: headings, lists, tables, code and links, for people and language models.

It is made when asked for, never while we crawl: it takes a few milliseconds. The writing is the library's,
html-to-markdown of the extra `text`; what is content is ours (`app.parse.html.prune`), so that Markdown and main text
agree.
"""

from urllib.parse import urljoin

from lxml import etree

from app.errors import InputError
from app.extras import to_install
from app.parse import charset
from app.parse.html import prune, tree
from app.parse.html.tree import Element
from app.policy import media_type

_LINKS = (("a", "href"), ("img", "src"))


def of(html: bytes | str, base_url: str, content_type: str | None = None) -> str:
    """Markdown of the page's content; "" where there is none. Links are absolute.

    html          bytes in whatever encoding they declare, or text
    base_url      the URL of the page; its <base href> is respected
    content_type  value of the header; a text that is no HTML, such as text/markdown, is returned as it stands
    Raises InputError where html-to-markdown is not installed.
    """
    if isinstance(html, bytes) and media_type.is_text(media_type.of(content_type, html)):
        return charset.decode(html, content_type)[0].strip()
    markup = html.encode("utf-8", "replace") if isinstance(html, str) else charset.to_utf8(html, content_type)[0]
    root = tree.grow(markup)
    if root is None:
        return ""
    base = next((href for e in root.iter("base") if (href := e.get("href"))), "")
    content = prune.content_of(root)
    _tidy(content)
    _bare(content)
    _resolve(content, _join(base_url, base))
    return _written(etree.tostring(content, method="html", encoding="unicode", with_tail=False))


def _tidy(content: Element) -> None:
    """Remove what Markdown cannot show well: links of headings to themselves, pictures without words or in the URL."""
    links = [a for a in content.iter("a") if (a.get("href") or "").startswith("#") and not _words(a)]
    prune.cut(links)
    prune.cut(i for i in list(content.iter("img")) if not i.get("alt") or (i.get("src") or "data:").startswith("data:"))


def _bare(content: Element) -> None:
    for element in content.iter():
        for name in ("hidden", "style", "aria-hidden"):
            if name in element.attrib:
                del element.attrib[name]


def _words(element: Element) -> str:
    return "".join(element.itertext()).strip()


def _resolve(content: Element, base: str) -> None:
    for tag, name in _LINKS:
        for element in content.iter(tag):
            if written := element.get(name):
                element.set(name, _join(base, written))


def _join(base: str, written: str) -> str:
    try:
        return urljoin(base, written.strip())
    except ValueError:  # "http://[": no URL, and left as it stands
        return written


def _written(content: str) -> str:
    try:
        from html_to_markdown import ConversionOptions, convert
    except ImportError as error:
        raise InputError("Markdown needs html-to-markdown", to_install("text")) from error
    options = ConversionOptions(extract_metadata=False, bullets="-", compact_tables=True, autolinks=False)
    return (convert(content, options).content or "").strip()
