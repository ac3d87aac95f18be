"""Reads a document into a `Page`: links, directives for robots and, when asked, title, description, language and main text.

It reports what is written and decides nothing: hrefs are neither joined nor canonical, and whether a hidden or nofollow link
is followed is policy. Only what can never be a page is left out: fragments of the same page, schemes without a server
(`javascript:` …), and <link>s to style sheets, icons and the like. Sources: the HTML standard, sections quoted beside the code.
"""

import re
from collections.abc import Collection, Iterator
from itertools import islice

from app.model.page import Link, Page
from app.parse import charset, text, tree
from app.parse.tree import Element

MAX_ANCHOR_CHARS = 200
MAX_FIELD_CHARS = 1000

_LINK_TAGS = ("a", "area", "frame", "iframe", "link", "meta", "base")
_FRAMES = frozenset({"frame", "iframe"})
# https://infra.spec.whatwg.org/#ascii-whitespace
_WHITESPACE = "\t\n\f\r "
_NOT_A_PAGE = re.compile(r"#|(?:javascript|mailto|tel|data|about|blob):", re.IGNORECASE)
# https://html.spec.whatwg.org/#linkTypes and the older ones of HTML 4 (6.12) that lead to pages.
_PAGE_RELS = frozenset(
    """alternate amphtml appendix archives author bookmark chapter contents copyright first glossary help home index last
    license me next prev previous privacy-policy search section start subsection tag terms-of-service toc top up""".split()
)
_NEVER_PAGE_RELS = frozenset({"stylesheet", "icon", "canonical", "pingback", "shortlink"})
# <link type>: an OpenSearch description or an oEmbed answer is no page, a feed leads to pages.
_PAGE_TYPE = re.compile(r"\s*(?:text/|application/(?:xhtml|rss|atom)\+xml)", re.IGNORECASE)
# https://html.spec.whatwg.org/#shared-declarative-refresh-steps
_REFRESH = re.compile(r"\s*[\d.]+[\s;,]+(?:url\s*=\s*)?(?:'([^']*)|\"([^\"]*)|(.*))", re.IGNORECASE | re.DOTALL)
# Well-formed by shape, RFC 5646 section 2.1; 35 is the length it asks implementations to support (4.4.1).
_LANGUAGE = re.compile(r"[a-z]{2,8}(?:-[a-z0-9]{1,8})*")
_MAX_LANGUAGE_CHARS = 35


def read(
    body: bytes,
    *,
    content_type: str | None,
    content_language: str | None = None,
    token: str = "tiptoe",
    max_links: int = 5000,
    want_text: bool = True,
) -> Page:
    """The document as a `Page`; whatever the bytes are, it returns one. The caller caps `body`.

    content_type      value of the header: charset, and whether it is text/plain, which is text without links
    content_language  value of the header, used when the document declares no language
    token             our product token: <meta name=token> counts like <meta name=robots>
    max_links         links beyond are not looked at, nor is the rest of the document for anything but text
    want_text         without, anchor texts, title, description and main text are "" or None, and so is language
    """
    decoded, encoding = charset.decode(body, content_type)
    if _is_plain(content_type):
        plain = decoded[: text.MAX_TEXT_CHARS] if want_text else ""
        return Page(language=_language(content_language) if want_text else None, main_text=plain, charset=encoding)
    markup = decoded.encode("utf-8", "replace")
    root = tree.grow(markup)
    if root is None:
        return Page(charset=encoding)
    hidden = text.hidden_roots(root) if _may_hide(markup) else []
    survey = _Survey(token=token.lower(), max_links=max_links, want_text=want_text, hidden=_below(hidden))
    survey.walk(root)
    page = Page(
        base=survey.base,
        links=tuple(survey.links),
        canonical=survey.canonical,
        robots=frozenset(survey.robots),
        charset=encoding,
    )
    if not want_text:
        return page
    declared = root.get("lang") or root.get("xml:lang") or survey.language or content_language
    title = next(root.iter("title"), None)
    return replace(
        page,
        title=None if title is None else _field("".join(title.itertext())),
        description=_field(survey.description),
        language=_language(declared),
        main_text=text.main_text(root, hidden),
    )


class _Survey:
    """One walk over the elements that link or direct, in document order; the attributes are its findings."""

    def __init__(self, *, token: str, max_links: int, want_text: bool, hidden: Set[Element]) -> None:
        self._directive_names = {"robots", token}
        self._max_links = max_links
        self._want_text = want_text
        self._hidden = hidden
        self.links: list[Link] = []
        self.base: str | None = None
        self.canonical: str | None = None
        self.description: str | None = None
        self.language: str | None = None
        self.robots: set[str] = set()

    def walk(self, root: Element) -> None:
        for element in root.iter(*_STEPS):
            _STEPS[element.tag](self, element)
            if len(self.links) >= self._max_links:
                break

    def _anchor(self, element: Element) -> None:
        href = element.get("href")
        if not href or not (href := href.strip(_WHITESPACE)) or _NOT_A_PAGE.match(href):
            return
        rel = element.get("rel")
        self.links.append(
            Link(
                href,
                _anchor_text(element) if self._want_text else "",
                tuple(rel.lower().split()) if rel else (),
                bool(self._hidden) and self._is_hidden(element),
                element.tag,
            )
        )

    def _is_hidden(self, element: Element) -> bool: ...

    def _frame(self, element: Element) -> None:
        src = (element.get("src") or "").strip(_WHITESPACE)
        if src and not _NOT_A_PAGE.match(src):
            self.links.append(Link(src, hidden=element in self._hidden, kind=element.tag))

    def _link(self, element: Element) -> None:
        href = (element.get("href") or "").strip(_WHITESPACE)
        rel = tuple((element.get("rel") or "").lower().split())
        if not href or _NOT_A_PAGE.match(href):
            return
        if "canonical" in rel:
            self.canonical = self.canonical or href
        elif _PAGE_RELS.intersection(rel) and _NEVER_PAGE_RELS.isdisjoint(rel):
            if _PAGE_TYPE.match(element.get("type") or "text/html"):
                self.links.append(Link(href, fold(element.get("title"))[:MAX_ANCHOR_CHARS], rel, kind="link"))

    def _meta(self, element: Element) -> None:
        content = element.get("content")
        if not content:
            return
        name = (element.get("name") or "").strip().lower()
        if name in self._directive_names:
            self.robots.update(_directives(content))
        elif name == "description":
            self.description = self.description or content
        match (element.get("http-equiv") or "").strip().lower():
            case "refresh":
                self._refresh(content)
            case "content-language":
                self.language = self.language or content

    def _refresh(self, content: str) -> None:
        found = _REFRESH.match(content)
        href = next(filter(None, found.groups()), "").strip(_WHITESPACE) if found else ""
        if href and not _NOT_A_PAGE.match(href):
            self.links.append(Link(href, kind="refresh"))

    def _base(self, element: Element) -> None:
        href = element.get("href")
        if self.base is None and href is not None:
            self.base = href.strip(_WHITESPACE)
