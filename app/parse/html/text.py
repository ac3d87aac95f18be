"""Extracts the readable text of a tree, without the boilerplate that surrounds it on every page of a site.

The traversal is an XSLT stylesheet, compiled once per thread: libxslt walks the tree in C, without the GIL, in a third of the
time that a loop over lxml's elements takes. What elements mean comes from the HTML standard; which class names stand for
boilerplate is our own guess, kept short, and overruled by a heading inside.
"""

import re
import threading
from collections.abc import Sequence

from lxml import etree

from app.parse.html.tree import Element

MAX_TEXT_CHARS = 200_000

# Never read by anybody: https://html.spec.whatwg.org/#hidden-elements and the embedded content we do not render.
_UNREADABLE = (
    "script|style|noscript|template|head|title|svg|math|iframe|object|audio|video|canvas|datalist|noframes|noembed"
)
# A form that holds headings or paragraphs is the page itself (ASP.NET wraps all of it in one).
_BOILERPLATE = "nav|header|footer|aside|menu|select|button|textarea|form[not(.//h1|.//h2|.//p|.//main|.//article)]"
_BLOCKS = (
    "address|article|aside|blockquote|body|br|caption|center|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure"
    "|footer|form|h1|h2|h3|h4|h5|h6|header|hgroup|hr|legend|li|main|menu|nav|ol|option|p|pre|search|section|summary"
    "|table|tbody|tfoot|thead|tr|ul"
)
_CELLS = "td|th"
# Marks the edge of a block. A noncharacter: no text holds it by right.
_EDGE = "\ufdd0"

_BOILERPLATE_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "search", "menu", "menubar", "dialog", "alertdialog"}
)
# Exact class tokens and ids. Seen in the manuals of Postgres, Python, Django and SQLite, and the usual suspects of the web.
_BOILERPLATE_NAMES = frozenset(
    """nav navbar navheader navfooter navigation global-nav menu mainmenu submenu mobile-nav header footer
    site-header site-footer page-header page-footer sidebar sphinxsidebar breadcrumb breadcrumbs
    pagination pager cookie-banner cookie-notice skip-link hd ft""".split()  # noqa: SIM905 (a list literal takes a line per word)
)
_CONTAINERS = ("div", "section", "table", "ul", "ol", "p", "td")
_DOCUMENT = ("html", "body")
_CONTENT = ("main", "article", "h1")
_FAIR_SHARE = 4  # the main element counts when it holds at least one part in so many of the page's text

_HIDING_STYLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)


def fold(text: str | None) -> str:
    """Fold white space, no-break spaces included, to single spaces and strip both ends; None becomes ""."""
    return " ".join(text.split()) if text else ""


def hidden_roots(root: Element) -> list[Element]:
    """Elements hidden by their own attributes, in document order: `hidden`, or a style with display:none, visibility:hidden."""
    return [e for e in root.iter() if e.get("hidden") is not None or _HIDING_STYLE.search(e.get("style", ""))]


def main_text(root: Element, hidden: Sequence[Element] = ()) -> str:
    """The text of the page: a line per block, white space folded, at most `MAX_TEXT_CHARS`.

    Read from <main>, [role=main] or <article> if there is exactly one and it holds a fair share, else from the whole page.
    Boilerplate and `hidden` elements are left out, unless nothing else is left. They are renamed in the tree, so read all
    else first.
    """
    mains = [e for e in root.iter("main", "div", "section", "article") if e.tag == "main" or e.get("role") == "main"]
    _rename_boilerplate(root, hidden)
    whole = str(_own.without_boilerplate(root))
    main = _only(mains or list(root.iter("article")))
    if main is not None:
        part = str(_own.without_boilerplate(main))
        if len(part) * _FAIR_SHARE >= len(whole) and (lines := _lines(part)):
            return lines
    return _lines(whole) or _lines(str(_own.with_boilerplate(root)))


def _lines(marked: str) -> str:
    folded = map(fold, marked.split(_EDGE))
    return "\n".join(line for line in folded if line)[:MAX_TEXT_CHARS].rstrip()


def _only(candidates: list[Element]) -> Element | None:
    return candidates[0] if len(candidates) == 1 else None


def _rename_boilerplate(root: Element, hidden: Sequence[Element]) -> None:
    """Give elements that look like navigation, and hidden ones, the tag that the stylesheet leaves out."""
    for element in root.iter(*_CONTAINERS):
        if element.get("role") in _BOILERPLATE_ROLES or _is_named_boilerplate(element):
            element.tag = "nav"
    for element in hidden:
        if element.tag not in _DOCUMENT:
            element.tag = "nav"


def _is_named_boilerplate(element: Element) -> bool:
    names = element.get("class")
    if (not names or _BOILERPLATE_NAMES.isdisjoint(names.lower().split())) and (
        element.get("id") not in _BOILERPLATE_NAMES
    ):
        return False
    return next(element.iter(*_CONTENT), None) is None


def _stylesheet(left_out: str) -> etree.XSLT:
    edge = f"<xsl:text>{_EDGE}</xsl:text>"
    return etree.XSLT(
        etree.fromstring(
            f"""<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
            <xsl:output method="text"/>
            <xsl:template match="{_BLOCKS}">{edge}<xsl:apply-templates/>{edge}</xsl:template>
            <xsl:template match="{_CELLS}"><xsl:text> </xsl:text><xsl:apply-templates/><xsl:text> </xsl:text></xsl:template>
            <xsl:template match="{left_out}"/>
            </xsl:stylesheet>"""
        )
    )


class _Stylesheets(threading.local):
    """Compiled objects, one set per thread: lxml locks them while they work, and recompiles a stylesheet of another thread."""

    def __init__(self) -> None:
        self.without_boilerplate = _stylesheet(f"{_UNREADABLE}|{_BOILERPLATE}")
        self.with_boilerplate = _stylesheet(_UNREADABLE)


_own = _Stylesheets()
