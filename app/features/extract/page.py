"""A page as a handler gets it: the archived answer, and its parts, each read when it is first asked for.

Where a browser has opened the page, its parts are those of the document that it made. The answer is as it was.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from app.errors import ArchiveMissing, InputError
from app.extras import to_install
from app.features.rights.purpose import UNKNOWN
from app.model.page import RENDERED_TYPE

if TYPE_CHECKING:
    from parsel import Selector, SelectorList

    from app.model.page import Page

OF_THE_ANSWER: Final = ("headers", "body")


class PageLink(NamedTuple):
    """A link of a page.

    url     absolute, as it would be sent
    text    anchor text, white space folded, at most 200 characters
    rel     lower-case rel tokens
    hidden  no person can see it
    """

    url: str
    text: str
    rel: tuple[str, ...]
    hidden: bool


class Headers(Mapping[str, str]):
    """The headers of an answer, found in any case. Lines of one name are joined by commas (RFC 9110 section 5.3)."""

    def __init__(self, lines: Mapping[str, str] | Sequence[tuple[str, str]] = ()) -> None:
        self._values: dict[str, str] = {}
        for name, value in lines.items() if isinstance(lines, Mapping) else lines:
            before = self._values.get(name.lower())
            self._values[name.lower()] = value if before is None else f"{before}, {value}"

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Headers({self._values!r})"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CrawledPage:
    """A page that was crawled.

    html, css, xpath, title, language, text, markdown and links are those of the document that a browser made, where
    one did; else of the answer.

    url         as it was sent
    crawl       name of the crawl
    status      HTTP status
    headers     of the answer, found in any case
    fetched_at  when, in UTC
    body        the answer's body, its content encoding undone
    is_cut      the body is the beginning of a longer one
    rendered_at when a browser made its document; None: none has
    rights      what its owner allows, as it stands: "allowed", "refused" or "unknown" for each of "archive", "search",
                "ai-input" and "ai-train"
    """

    url: str
    crawl: str
    status: int
    headers: Headers
    fetched_at: datetime
    body: bytes
    is_cut: bool = False
    rendered_at: datetime | None = None
    rights: Mapping[str, str] = field(default_factory=lambda: dict(UNKNOWN))
    _document: bytes = b""  # that a browser made, in UTF-8
    _document_url: str | None = None  # at the end, where its scripts changed it
    _earlier: "Callable[[], CrawledPage | None]" = field(default=lambda: None)

    @property
    def is_rendered(self) -> bool:
        """Whether its parts are those of a document that a browser made."""
        return self.rendered_at is not None

    @cached_property
    def plain(self) -> "CrawledPage":
        """The page as the site answered, without what a browser made of it; itself where none did."""
        if not self.is_rendered:
            return self
        return CrawledPage(
            url=self.url,
            crawl=self.crawl,
            status=self.status,
            headers=self.headers,
            fetched_at=self.fetched_at,
            body=self.body,
            is_cut=self.is_cut,
            rights=self.rights,
        )

    @cached_property
    def html(self) -> str:
        """The document as text; an answer's in its encoding: that of the header, of the document, or the likeliest."""
        from app.parse import charset

        return charset.decode(*self._markup)[0]

    @cached_property
    def selector(self) -> "Selector":
        """The document's tree, as parsel has it; empty where a tag has over 1,000 attributes: it would take minutes."""
        try:
            from parsel import Selector
        except ModuleNotFoundError:
            raise InputError("page.css and page.xpath", f"need parsel; {to_install('extract')}") from None
        from app.parse import charset
        from app.parse.html import tree

        markup, _ = charset.to_utf8(*self._markup)
        return Selector(
            body=markup if markup and tree.is_cheap(markup) else b" ",
            encoding="utf-8",
            type="html",
            base_url=self._own_url,
        )

    def css(self, query: str) -> "SelectorList[Selector]":
        """Find the elements of a CSS selector; `::text` and `::attr(name)` select text and attributes."""
        return self.selector.css(query)

    def xpath(self, query: str) -> "SelectorList[Selector]":
        """Find what an XPath expression selects."""
        return self.selector.xpath(query)

    @property
    def title(self) -> str | None:
        """The <title>, white space folded."""
        return self._read.title

    @property
    def language(self) -> str | None:
        """BCP 47 tag in lower case: as the page declares it, else as detected in its text."""
        return self._read.language or self._read.language_detected

    @property
    def text(self) -> str:
        """The main text, without navigation, header and footer."""
        return self._read.main_text

    @cached_property
    def markdown(self) -> str:
        """The content as Markdown: headings, lists, tables, code, links. Needs the extra `text`. Raises InputError."""
        from app.parse import markdown

        octets, content_type = self._markup
        return markdown.of(octets, self._own_url, content_type)

    @cached_property
    def full_text(self) -> str:
        """All that a reader of the page sees, as text: navigation, header and footer too."""
        from app.parse.html import html

        return html.full_text(*self._markup)

    @cached_property
    def full_markdown(self) -> str:
        """All that a reader of the page sees, as Markdown. Needs the extra `text`. Raises InputError."""
        from app.parse import markdown

        octets, content_type = self._markup
        return markdown.of(octets, self._own_url, content_type, whole=True)

    @cached_property
    def links(self) -> tuple[PageLink, ...]:
        """The links that can be crawled, in document order."""
        from app.model import Url
        from app.policy.url import Canon, in_encoding, without_fragment

        canon, read = Canon(), self._read
        base = canon.join(self._own_url, read.base) if read.base else None
        against = base.text if isinstance(base, Url) else self._own_url
        joined = [
            (canon.join(against, without_fragment(in_encoding(link.href, read.charset))), link) for link in read.links
        ]
        return tuple(
            PageLink(url.text, link.text, link.rel, link.hidden) for url, link in joined if isinstance(url, Url)
        )

    @cached_property
    def previous(self) -> "CrawledPage | None":
        """The page as the archive has it from before, with another document; None where it has none."""
        return self._earlier()

    @cached_property
    def _read(self) -> "Page":
        from app.parse.html import html

        octets, content_type = self._markup
        language = self.__dict__.get("headers", {}).get("content-language")  # they may be on another machine
        return html.read(octets, content_type=content_type, content_language=language)

    @property
    def _markup(self) -> tuple[bytes, str | None]:
        """The document's octets, and their type."""
        if self.is_rendered:
            return self._document, RENDERED_TYPE
        return self.body, self.headers.get("content-type")

    @property
    def _own_url(self) -> str:
        """That relative links start from."""
        return self._document_url or self.url

    if not TYPE_CHECKING:  # a type checker is to find names that no page has

        def __getattr__(self, name: str) -> Any:
            """Say why the answer is not there, of a page whose rendered document is (app.features.extract.child)."""
            if name in OF_THE_ANSWER:
                raise ArchiveMissing(self.url, "its answer is on another machine's disk")
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<Page {self.url}>"
