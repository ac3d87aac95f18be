"""Walks a tree once for what links or directs: hrefs, robots directives, canonical, description.

It reports what is written and decides nothing. Only links that can never be a page are left out: fragments of the same
page, schemes without a server (`javascript:` …), and <link>s to style sheets, icons and the like.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice

from lxml import etree

from app.model.page import Link
from app.parse.html import said, tree
from app.parse.html.text import fold
from app.parse.html.tree import Element
from app.policy.header_fields import RSL_TYPE

MAX_ANCHOR_CHARS = 200
MAX_FIELD_CHARS = 1000
MAX_DIRECTIVES = 1_000  # of a document: each may be a date, which takes 20 µs
_MAX_TOKENS_CHARS = 200  # of a rel
_ANCHOR_LOOK_CHARS = 4000  # of an anchor's text, white space included, as far as we look for its words

# https://infra.spec.whatwg.org/#ascii-whitespace
_WHITESPACE = "\t\n\f\r "
_NO_PAGE = re.compile(r"#|(?:javascript|mailto|tel|data|about|blob):", re.IGNORECASE)
_NO_PAGE_STARTS = frozenset("#jJmMtTdDaAbB")  # its first letters: spares most anchors the search
# https://html.spec.whatwg.org/#linkTypes and the older ones of HTML 4 (6.12) that lead to pages.
_PAGE_RELS = frozenset(
    """alternate amphtml appendix archives author bookmark chapter contents copyright first glossary help home
    index last license me next prev previous privacy-policy search section start subsection tag terms-of-service
    toc top up""".split()  # noqa: SIM905  # a list literal takes 30 lines
)
_NEVER_PAGE_RELS = frozenset({"stylesheet", "icon", "canonical", "pingback", "shortlink"})
# <link type>: an OpenSearch description or an oEmbed answer is no page, a feed leads to pages.
_PAGE_TYPE = re.compile(r"\s*(?:text/|application/(?:xhtml|rss|atom)\+xml)", re.IGNORECASE)
# https://html.spec.whatwg.org/#shared-declarative-refresh-steps
_REFRESH = re.compile(r"\s*[\d.]+[\s;,]+(?:url\s*=\s*)?(?:'([^']*)|\"([^\"]*)|(.*))", re.IGNORECASE | re.DOTALL)
# A script that leads elsewhere, to an address that is written out.
_LEADS = re.compile(
    r"\blocation(?:\.href)?\s*=(?!=)\s*(?P<q>[\"'])(?P<set>[^\"'\\\n]+)(?P=q)(?=\s*(?:[;})\n]|$))"
    r"|\blocation\s*\.\s*(?:replace|assign)\s*\(\s*(?P<p>[\"'])(?P<call>[^\"'\\\n]+)(?P=p)\s*\)"
)
_LEADS_CHARS = 5_000  # of a script, as far as we look
_SEPARATORS = re.compile("[,;]")


class Survey:
    """One walk over the elements that link or direct, in document order; the attributes are its findings.

    hidden   elements that nobody sees; None: the markup has no word that hides (`text.may_hide`)
    stating  those by which the page says something of itself (`said`), where its text is wanted
    """

    def __init__(self, *, token: str, max_links: int, want_text: bool, hidden: set[Element] | None) -> None:
        self._directive_names = {"robots", token}
        self._max_links = max_links
        self._want_text = want_text
        self._may_hide = hidden is not None
        self._hidden = hidden or set()
        self._inert: set[Element] = set()  # within a template: of no effect on the document
        self._drawn: dict[Element, bool] = {}
        self.links: list[Link] = []
        self.links_cut = False
        self.stating: list[Element] = []
        self.base: str | None = None
        self.canonical: str | None = None
        self.description: str | None = None
        self.language: str | None = None
        self.robots: set[str] = set()
        self.tdm: dict[str, str] = {}

    def walk(self, root: Element) -> None:
        links, most = self.links, self._max_links
        steps = _STEPS_WITH_TEXT if self._want_text else _STEPS  # a walk of its own would cost as much as this one
        for element in root.iter(*steps):
            tag = element.tag
            steps[tag](self, element, tag)
            if len(links) > most:
                links.pop()
                self.links_cut = True
                self.stating = list(root.iter(*said.TAGS)) if self._want_text else []
                break

    def add_deep(self, markup: bytes) -> None:
        """Add links that lie deeper than the tree reaches. Not to be called where elements may be hidden."""
        root = tree.grow(tree.flattened(markup))
        if root is None:
            return
        deep = Survey(token="", max_links=self._max_links, want_text=self._want_text, hidden=set())
        deep.walk(root)
        known = {link.href for link in self.links}
        new = [link for link in deep.links if link.href not in known]
        room = self._max_links - len(self.links)
        self.links_cut = self.links_cut or deep.links_cut or len(new) > room
        self.links += new[:room]

    def add_leads(self, root: Element) -> None:
        """Add where scripts lead, if the page has no link to follow: it is there to send visitors on."""
        if any(link.kind != "link" for link in self.links):
            return
        for script in root.iter("script"):
            for found in _LEADS.finditer((script.text or "")[:_LEADS_CHARS]):
                href = (found["set"] or found["call"]).strip(_WHITESPACE)
                if href and not _is_no_page(href) and len(self.links) < self._max_links:
                    self.links.append(Link(href, kind="refresh"))

    def on_anchor(self, element: Element, kind: str) -> None:
        get = element.get
        href = get("href") or self._href_of_drawing(element)
        if not href or not (href := href.strip(_WHITESPACE)) or (href[0] in _NO_PAGE_STARTS and _is_no_page(href)):
            return
        words = _anchor_text(element) if self._want_text else ""
        rel = get("rel")
        # Empty, and hidden from screen readers too: no person can use it.
        hidden = self._may_hide and (element in self._hidden or (get("aria-hidden") == "true" and _is_empty(element)))
        # Its own constructor would take three times as long.
        self.links.append(tuple.__new__(Link, (href, words, _tokens(rel) if rel else (), hidden, kind)))

    def _href_of_drawing(self, element: Element) -> str | None:
        """The link of an <a> of SVG as older files write it."""
        href = element.get("xlink:href")
        return href if href and tree.is_drawn(element, self._drawn) else None

    def on_frame(self, element: Element, kind: str) -> None:
        src = (element.get("src") or "").strip(_WHITESPACE)
        if src and not _is_no_page(src):
            self.links.append(Link(src, hidden=element in self._hidden, kind=kind))

    def on_link(self, element: Element, _tag: str) -> None:
        rel = _tokens(element.get("rel"))
        leads = _leads_to_pages(rel)
        if not leads and "canonical" not in rel:  # a style sheet, mostly
            return
        href = (element.get("href") or "").strip(_WHITESPACE)
        if not href or _is_no_page(href) or tree.is_drawn(element, self._drawn):
            return
        if leads:
            type_ = element.get("type") or "text/html"
            if _PAGE_TYPE.match(type_):
                self.links.append(Link(href, rel=rel, kind="link"))
            elif "license" in rel and type_.strip().lower() == RSL_TYPE and element not in self._inert:
                self.tdm["license"] = f"{self.tdm.get('license', '')} {href}".strip()[:MAX_FIELD_CHARS]
        elif element not in self._inert:
            self.canonical = self.canonical or href

    def on_meta(self, element: Element, _tag: str) -> None:
        content = element.get("content")
        if not content:
            return
        name = (element.get("name") or "").strip().lower()
        if name in self._directive_names:
            self.robots.update(islice(_directives(content), max(MAX_DIRECTIVES - len(self.robots), 0)))
        elif name in {"tdm-reservation", "tdm-policy"}:  # TDMRep of 10 May 2024: `app.policy.tdm`
            joined = f"{self.tdm[name]}, {content}" if name in self.tdm else content
            self.tdm[name] = joined[:MAX_FIELD_CHARS]
        elif name == "description":
            self.description = self.description or content
        match (element.get("http-equiv") or "").strip().lower():
            case "refresh":
                self._refresh(content)
            case "content-language":
                self.language = self.language or content

    def _refresh(self, content: str) -> None:
        if link := refreshed(content):
            self.links.append(link)

    def on_base(self, element: Element, _tag: str) -> None:
        href = element.get("href")
        if self.base is not None or href is None or element in self._inert:
            return
        if not tree.is_drawn(element, self._drawn):
            self.base = href.strip(_WHITESPACE)

    def on_stating(self, element: Element, _tag: str) -> None:
        self.stating.append(element)

    def on_stating_meta(self, element: Element, tag: str) -> None:
        self.stating.append(element)
        self.on_meta(element, tag)

    def on_template(self, element: Element, _tag: str) -> None:
        """Hide a <template>'s content, which only a script would use. A declarative shadow root is shown.

        https://html.spec.whatwg.org/#the-template-element"""
        if element not in self._inert:
            self._inert.update(element.iter("base", "link", "template"))
        if element.get("shadowrootmode") is None and element not in self._hidden:
            self._may_hide = True
            self._hidden.update(element.iter())


_STEPS: dict[str, Callable[[Survey, Element, str], None]] = {
    "a": Survey.on_anchor,
    "area": Survey.on_anchor,
    "frame": Survey.on_frame,
    "iframe": Survey.on_frame,
    "link": Survey.on_link,
    "meta": Survey.on_meta,
    "base": Survey.on_base,
    "template": Survey.on_template,
}
_STEPS_WITH_TEXT = _STEPS | dict.fromkeys(said.TAGS, Survey.on_stating) | {"meta": Survey.on_stating_meta}


def _is_no_page(href: str) -> bool:
    return _NO_PAGE.match(href) is not None


def refreshed(content: str) -> Link | None:
    """The document that a <meta http-equiv=refresh>, or a header field Refresh, leads to; None: it leads to none."""
    found = _REFRESH.match(content)
    href = next(filter(None, found.groups()), "").strip(_WHITESPACE) if found else ""
    return Link(href, kind="refresh") if href and not _is_no_page(href) else None


def _tokens(rel: str | None) -> tuple[str, ...]:
    return _split(rel[:_MAX_TOKENS_CHARS]) if rel else ()


@lru_cache(maxsize=256)
def _split(rel: str) -> tuple[str, ...]:
    return tuple(rel.lower().split())


def _leads_to_pages(rel: tuple[str, ...]) -> bool:
    return not _PAGE_RELS.isdisjoint(rel) and _NEVER_PAGE_RELS.isdisjoint(rel)


def _anchor_text(element: Element) -> str:
    """The element's text, else the first image's alt, folded and cut. Bounded, and in C, because anchors can nest."""
    children = len(element)
    if not children:
        return _words(element.text or element.get("alt"))
    if children == 1 and not len(child := element[0]):  # half the time of what follows
        words = _words((element.text or "") + (child.text or "") + (child.tail or ""))
    else:  # an eighth of the time of joining itertext()
        words = _words(etree.tostring(element, method="text", encoding="unicode", with_tail=False))
    if not words and (image := next(element.iter("img"), None)) is not None:
        return _words(image.get("alt"))
    return words


def _words(written: str | None) -> str:
    return " ".join(written[:_ANCHOR_LOOK_CHARS].split())[:MAX_ANCHOR_CHARS].rstrip() if written else ""


def _is_empty(element: Element) -> bool:
    """Whether it shows nothing. A picture counts as shown."""
    return not len(element) and not fold(element.text)


def _directives(content: str) -> Iterator[str]:
    """Split at commas or semicolons; at white space too, unless a value ("max-snippet: 20") follows a colon."""
    for rule in _SEPARATORS.split(content[:MAX_FIELD_CHARS].lower()):
        yield from [fold(rule)] if ":" in rule else rule.split()
