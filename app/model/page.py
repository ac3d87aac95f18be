"""The parts of a document that we read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from hashlib import sha256
from typing import Any, NamedTuple

from app.model.render import Evidence

RENDERED_TYPE = "text/html; charset=utf-8"  # of a document that a browser made
NO_BYTES = sha256(b"").digest()  # the digest of an empty body, or text


class Link(NamedTuple):
    """A link as written in its document.

    href    as written, white space stripped (not joined, not canonical)
    text    anchor text, white space folded, at most 200 characters
    rel     lower-case rel tokens
    hidden  no person can see it (hidden attribute, display:none, visibility:hidden, aria-hidden with no text, in a
            template …)
    kind    "a", "area", "frame", "iframe", "link" or "refresh" (of a <meta>, or of a script that leads on)
    """

    href: str
    text: str = ""
    rel: tuple[str, ...] = ()
    hidden: bool = False
    kind: str = "a"


class Dated(NamedTuple):
    """A point in time that a page names, in UTC; where: "json-ld", "meta", "time", "text" or "url"; the day it says.

    The day is that of the page's own zone: 23:30 in New York is tomorrow in UTC.
    """

    at: datetime
    source: str
    day: date


@dataclass(slots=True, kw_only=True)  # not frozen: that takes three times as long, once a page
class Page:
    """A document read: `app.parse.html.html.read`. Nothing of it is set again: `replace` makes another.

    base         value of the first <base href>, as written, or None
    links        in document order;   links_cut: it has more, which were not read
    canonical    href of <link rel=canonical>, as written, or None
    title, description   white space folded, None when absent; at most 1,000 characters
    headline     what stands over the page: an h1 that its titles share, else the title without the site's name
    author       as JSON-LD, <meta> or a link name it
    data         {"og": …, "meta": …, "json-ld": […]} without texts of articles; at most 16 KiB, then "cut" is true
    language     BCP 47 tag in lower case as declared (html lang, Content-Language), else None
    language_detected    ISO 639 code of the main text's language where none is declared, None where that is not clear
    published, modified  as the page says, None where it does not
    main_text    readable text of the page, without navigation, teasers, comments, scripts …; "" when not asked for
    robots       lower-case tokens of <meta name=robots> (and of our product token)
    tdm          contents of <meta name=tdm-reservation> and <meta name=tdm-policy>, by name; several joined by ", ".
                 license: hrefs of <link rel=license type=application/rsl+xml>, joined by a blank
    rows         {plugin: {table: rows}} of the plugin that read it
    charset      the encoding that was used, canonical name
    shell        evidence that it is empty without JavaScript; none for a plain page
    truncated    it nests deeper than its tree: text is missing, and where elements may be hidden links are, too
    """

    base: str | None = None
    links: tuple[Link, ...] = ()
    canonical: str | None = None
    title: str | None = None
    headline: str | None = None
    author: str | None = None
    data: Mapping[str, Any] | None = None
    description: str | None = None
    language: str | None = None
    language_detected: str | None = None
    published: Dated | None = None
    modified: Dated | None = None
    main_text: str = ""
    robots: frozenset[str] = frozenset()
    tdm: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]] = field(default_factory=dict)
    charset: str = "utf-8"
    shell: Evidence = field(default_factory=dict)
    truncated: bool = False
    links_cut: bool = False
