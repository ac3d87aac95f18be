"""Reads a document into a `Page`: links, robots directives and, when asked, title, description, language, dates, main
text.

It reports what is written and decides nothing: hrefs are neither joined nor canonical, and policy decides whether a
hidden or nofollow link is followed. Sources: the HTML standard, sections quoted beside the code.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from app.model.page import Dated, Page
from app.model.render import Evidence, ShellSign
from app.parse import charset, language
from app.parse.html import dates, said, shell, shell_data, text, tree
from app.parse.html.survey import MAX_FIELD_CHARS, Survey
from app.parse.html.text import fold
from app.parse.html.tree import Element
from app.policy import media_type
from app.words import scalar

# Two styles, and the attribute (not aria-hidden, not type="hidden"). They begin with letters: that is searched fast.
_DISPLAY_NONE = re.compile(rb"display\s*+:\s*+none")
_HIDDEN = (re.compile(rb"hidden(?<![-=\w]hidden)[\s=>/]"), re.compile(rb"visibility\s*+:\s*+hidden"))
# Well-formed by shape, RFC 5646 section 2.1; 35 is the length it asks implementations to support (4.4.1).
_LANGUAGE = re.compile(r"[a-z]{2,8}(?:-[a-z0-9]{1,8})*")
_MAX_LANGUAGE_CHARS = 35
# Raised whenever something else is read of a page than before: its text, title, language, dates, or what it says of
# itself. Stored texts of other versions are then read again from the archive, and are not compared with new ones.
READER = 12
# Types that `read` reads, the preferred first: the body of a page of any other type is not read. Beside these, XML that
# is XHTML by its root element.
MEDIA_TYPES = (media_type.HTML, media_type.XHTML, media_type.TEXT, "text/*")


def read(
    body: bytes,
    *,
    content_type: str | None,
    content_language: str | None = None,
    token: str = "tiptoe",
    max_links: int = 20_000,
    want_text: bool = True,
    want_language: bool = True,
) -> Page:
    """Read any bytes as a `Page`. The caller caps `body`.

    content_type      value of the header: charset, and whether it is text, which has no links (`policy.media_type`)
    content_language  value of the header, used when the document declares no language
    token             our product token: <meta name=token> counts like <meta name=robots>
    max_links         further links are ignored; the rest of the document is read for text only
    want_text         False: anchor texts, title, description, language and main text are "" or None
    want_language     False: the language is not detected where none is declared; the caller does it (`language`)
    """
    essence = media_type.of(content_type, body)
    if media_type.is_text(essence):
        return _plain(body, content_type, content_language, want_text=want_text, want_language=want_language)
    markup, encoding = charset.to_utf8(body, content_type)
    if essence == media_type.XHTML:
        markup = _without_prefixes(markup)
    root = tree.grow(markup)
    if root is None:
        return Page(charset=encoding)
    hidden = text.hidden_roots(root) if text.may_hide(markup) else None
    survey = Survey(token=token.lower(), max_links=max_links, want_text=want_text, hidden=_within(hidden))
    survey.walk(root)
    is_cut = tree.is_cut(root)
    if is_cut and not _may_hide(markup):
        survey.add_deep(markup)
    survey.add_leads(root)
    texts = _texts(root, markup, survey, hidden or [], content_language) if want_text else _Texts()
    if want_text and want_language and not texts["language"]:
        texts["language_detected"] = language.detect(texts["main_text"])
    return Page(
        truncated=is_cut,
        base=survey.base,
        links=tuple(survey.links),
        links_cut=survey.links_cut,
        canonical=survey.canonical,
        robots=frozenset(survey.robots),
        tdm=survey.tdm,
        charset=encoding,
        **texts,
    )


def full_text(body: bytes, content_type: str | None) -> str:
    """Read all that a reader of the page sees, navigation too, as text; what `read` calls main text is a part of it."""
    essence = media_type.of(content_type, body)
    if media_type.is_text(essence):
        return charset.decode(body, content_type)[0][: text.MAX_TEXT_CHARS]
    markup = charset.to_utf8(body, content_type)[0]
    if essence == media_type.XHTML:
        markup = _without_prefixes(markup)
    root = tree.grow(markup)
    return "" if root is None else text.main_text(root, text.hidden_roots(root), whole=True)


def _plain(
    body: bytes, content_type: str | None, content_language: str | None, *, want_text: bool, want_language: bool
) -> Page:
    decoded, encoding = charset.decode(body, content_type)
    if not want_text:
        return Page(charset=encoding)
    plain = decoded[: text.MAX_TEXT_CHARS]
    declared = _language(content_language)
    detected = language.detect(plain) if want_language and not declared else None
    return Page(language=declared, language_detected=detected, main_text=plain, charset=encoding)


class _Texts(TypedDict, total=False):
    """The fields of a page that are read from its text; none of them without `want_text`."""

    title: str | None
    headline: str | None
    author: str | None
    data: Mapping[str, Any] | None
    description: str | None
    language: str | None
    language_detected: str | None
    published: Dated | None
    modified: Dated | None
    main_text: str
    shell: Evidence


def _texts(root: Element, markup: bytes, survey: Survey, hidden: list[Element], content_language: str | None) -> _Texts:
    declared = _language(root.get("lang") or root.get("xml:lang") or survey.language or content_language)
    title = tree.title(root)
    titled = None if title is None else _field("".join(title.itertext()) if len(title) else title.text)
    stated = said.of(survey.stating, markup, titled)
    is_rich = stated.data is not None and not {"og", "json-ld"}.isdisjoint(stated.data)
    published = stated.published or dates.of_text(markup, declared, is_rich=is_rich)
    main_text = text.main_text(root, hidden)
    evidence = {} if len(main_text) >= shell.LITTLE_TEXT_CHARS else shell.evidence(root)
    if article := shell_data.article(root) if ShellSign.DATA in evidence else "":
        main_text, evidence = scalar(article[: text.MAX_TEXT_CHARS]), {**evidence, ShellSign.ARTICLE: "JSON-LD"}
    return _Texts(
        title=titled,
        headline=stated.headline,
        author=stated.author,
        data=stated.data,
        description=_field(survey.description),
        language=declared,
        published=published,
        modified=stated.modified,
        main_text=main_text,
        shell=evidence,
    )


def _may_hide(markup: bytes) -> bool:
    """Whether markup may hide elements, where there is no tree of it."""
    lower = markup.lower()
    return (b"display" in lower and _DISPLAY_NONE.search(lower) is not None) or (
        b"hidden" in lower and any(mark.search(lower) for mark in _HIDDEN)
    )


def _within(tops: Iterable[Element] | None) -> set[Element] | None:
    """The elements and all below them. Linear: in document order a nested one is known before it is reached.

    tops: in two such orders at most; None: nothing can hide"""
    if tops is None:
        return None
    elements: set[Element] = set()
    for top in tops:
        if top not in elements:
            elements.update(top.iter())
    return elements


def _field(value: str | None) -> str | None:
    return fold(value)[:MAX_FIELD_CHARS].rstrip() or None


def _language(declared: str | None) -> str | None:
    """The first of the languages declared, in lower case; None unless it has the shape of a tag."""
    if not declared:
        return None
    tag = declared.partition(",")[0].strip().lower().replace("_", "-")
    return tag if len(tag) <= _MAX_LANGUAGE_CHARS and _LANGUAGE.fullmatch(tag) else None


# XHTML with prefixed elements, made plain.


# XHTML served as XML may bind its elements to a prefix: https://www.w3.org/TR/xml-names/#ns-decl
_PREFIX = re.compile(rb"""xmlns:([A-Za-z_][\w.-]*)\s*=\s*["']http://www\.w3\.org/1999/xhtml["']""")
# Whatever the prefix is: a pattern of a document's own prefixes would try each of them at each tag.
_PREFIXED = re.compile(rb"<(/?+)([A-Za-z_][\w.-]*+):")


def _without_prefixes(markup: bytes) -> bytes:
    """Turn `<h:a>` into `<a>`, where `h` is bound to XHTML. Linear in the markup."""
    prefixes = {found[1] for found in _PREFIX.finditer(markup)}
    if not prefixes:
        return markup
    return _PREFIXED.sub(lambda found: b"<" + found[1] if found[2] in prefixes else found[0], markup)
