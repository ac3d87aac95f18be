"""Reads what a page says about itself: headline, author, dates, and its own data (OpenGraph, <meta>, JSON-LD).

The headline is what stands over the page, not the title of its tab, which has the site's name in it too.
Sources: https://ogp.me, https://schema.org/Article, HTML standard 4.2.5 (standard metadata names).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from itertools import islice
from typing import Any, Final

import orjson

from app.model.page import Dated
from app.parse.html import dates, tree
from app.parse.html.blocks import is_permalink
from app.parse.html.text import fold
from app.parse.html.tree import Element
from app.words import scalar

TAGS: Final = ("meta", "script", "time", "h1")
DATA_BYTES: Final = 16 * 1024  # of `data` as JSON; more is left out, and said
MOST_H1: Final = 20
_VALUE_CHARS: Final = 1_000
_MOST_METAS: Final = 200
_MAX_JSON_CHARS: Final = 200_000  # of all scripts together
_BODIES: Final = frozenset({"articlebody", "text", "reviewbody", "transcript", "description_html"})  # the text has them
_OPEN_GRAPH: Final = re.compile(r"(?:og|article|product|book|profile|video|music|twitter|fb):")
_META_AUTHORS: Final = (
    "author",
    "article:author",
    "dc.creator",
    "dcterms.creator",
    "parsely-author",
    "sailthru.author",
)
_BETWEEN: Final = re.compile(r"\s+[-–—|·»:/]\s+")  # dashes that part a title from its site's name
_SIGNED: Final = re.compile(rb"""<(?:a\b[^>]*\srel|([a-z0-9]+)\b[^>]*\sitemprop)=["']?author\b""", re.IGNORECASE)
_HOME: Final = re.compile(r"(?:(?:https?:)?//[^/?#]+)?/?(?:\.\.?/)*(?:\.\.?|index\.\w+)?")
_TAG_BYTES: Final = 600
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """headline, author: white space folded;   data: {"og": …, "meta": …, "json-ld": […]}, None where there is none."""

    headline: str | None = None
    author: str | None = None
    published: Dated | None = None
    modified: Dated | None = None
    data: Mapping[str, Any] | None = None


@dataclass(slots=True)
class _Found:
    """documents: its JSON-LD, each script once;   broken: scripts that are no JSON;   things: the documents' own"""

    metas: dict[str, str] = field(default_factory=dict)
    documents: list[object] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    times: list[Element] = field(default_factory=list)
    headings: list[Element] = field(default_factory=list)
    things: list[dict[str, Any]] = field(default_factory=list)


def of(elements: Iterable[Element], markup: bytes, title: str | None) -> Stated:
    """Read what a page says.   elements: its elements of TAGS, in document order;   title: of the document"""
    found = _found(elements)
    published, modified = dates.of(found.metas, found.documents, found.broken, found.times)
    return Stated(
        headline=_headline(found, title),
        author=_stated_author(found) or _signature(markup),
        published=published,
        modified=modified,
        data=_data(found),
    )


def _found(elements: Iterable[Element]) -> _Found:
    found, chars = _Found(), 0
    for element in elements:
        match element.tag:
            case "meta":
                _meta(element, found.metas)
            case "time":
                found.times.append(element)
            case "h1":
                found.headings.append(element)
            case _ if _is_json_ld(element) and (script := element.text) and chars + len(script) <= _MAX_JSON_CHARS:
                chars += len(script)
                try:
                    document = orjson.loads(script.encode("utf-8", "replace"))
                except orjson.JSONDecodeError:
                    found.broken.append(script)
                else:
                    found.documents.append(document)
                    found.things += dates.things([document], within=("@graph",))
    dates.articles_first(found.things)
    return found


def _meta(element: Element, metas: dict[str, str]) -> None:
    content = element.get("content") or element.get("datetime")
    name = (element.get("property") or element.get("name") or element.get("itemprop") or "").strip().lower()
    if content and name and len(name) <= 100 and len(metas) < _MOST_METAS:
        metas.setdefault(name, fold(content[: 2 * _VALUE_CHARS])[:_VALUE_CHARS])


def _is_json_ld(element: Element) -> bool:
    return (element.get("type") or "").strip().lower() == "application/ld+json"


def _written(heading: Element) -> str:
    """The text of a heading, as much as counts, without the signs that link to where it stands."""
    signs = {link.text for link in heading.iter("a") if link.text and is_permalink(link.text)}
    texts = (text for text in heading.itertext() if text not in signs)
    return "".join(islice(texts, _VALUE_CHARS))[:_VALUE_CHARS]  # none of them is empty


def _headline(found: _Found, title: str | None) -> str | None:
    """The `h1` that shares most with the titles, else the headline of JSON-LD, else a title without the site's name.

    Of several that share as much it is the first that does not lead to the site's first page.
    """
    named = found.metas.get("og:title") or found.metas.get("twitter:title") or ""
    stated = next(
        (scalar(fold(thing["headline"])) for thing in found.things if isinstance(thing.get("headline"), str)), ""
    )
    texts = [
        (text, _leads_home(heading))
        for heading in found.headings[:MOST_H1]
        if not tree.is_drawn(heading) and (text := fold(_written(heading)))
    ]
    best = texts[0][0] if texts else ""
    if len(texts) > 1:
        titles = _words(f"{named} {stated} {title or ''}")
        best, _ = max(texts, key=lambda each: _fit(each[0], titles, is_home=each[1]))
    return (best or stated or _without_site(named or title or "", found.metas.get("og:site_name")))[
        :_VALUE_CHARS
    ] or None


def _fit(text: str, titles: set[str], *, is_home: bool) -> tuple[bool, float, bool]:
    """How well a heading fits the titles. One that leads home names the site, unless no other is half in them."""
    words = _words(text)
    share = len(words & titles) / (len(words) or 1)
    return share * 2 >= 1 and not is_home, share, not is_home


def _leads_home(heading: Element) -> bool:
    """Whether it holds a link to the site's first page, as a heading with the site's name does."""
    return any(_HOME.fullmatch((link.get("href") or "#").strip()) for link in islice(heading.iter("a"), MOST_H1))


def _words(text: str) -> set[str]:
    return set(map(str.casefold, _WORD.findall(text)))


def _without_site(title: str, site: str | None) -> str:
    """The longest part of a title, where the others are short: the site's name before or behind it."""
    parts = _BETWEEN.split(title)
    left = [part for part in parts if site is None or part.casefold() != site.casefold()]
    return max(left or parts, key=len)


def _stated_author(found: _Found) -> str | None:
    for thing in found.things:
        if names := [name for name in _names(thing.get("author")) if _is_name(name)]:
            return ", ".join(dict.fromkeys(names))[:_VALUE_CHARS]
    for name in _META_AUTHORS:
        if _is_name(written := found.metas.get(name, "")):
            return written
    return None


def _signature(markup: bytes) -> str | None:
    """The author that the text names by rel or itemprop. It is looked for in the markup: the tree has every element."""
    at, left = markup.find(b"author"), MOST_H1
    while at >= 0 and left:
        if markup.endswith(b"=", 0, at) or (markup.endswith(b'="', 0, at) and markup.startswith(b'"', at + 6)):
            left -= 1
            begin, end = markup.rfind(b"<", max(at - _TAG_BYTES, 0), at), markup.find(b">", at, at + _TAG_BYTES)
            if begin >= 0 and end >= 0 and (found := _SIGNED.match(markup[begin:end])):
                words = markup[end + 1 : end + 4 * _VALUE_CHARS].partition(b"</" + (found[1] or b"a"))[0]
                if _is_name(
                    written := fold(unescape(dates.TAGS.sub(b" ", words).decode("utf-8", "ignore")))[:_VALUE_CHARS]
                ):
                    return written
        at = markup.find(b"author", at + 1)
    return None


def _names(author: object) -> Iterator[str]:
    """Names of persons and organisations, as schema.org has them: text, things with a name, or lists of these."""
    for each in author[:20] if isinstance(author, list) else [author]:
        name = each.get("name") if isinstance(each, dict) else each
        for text in name[:5] if isinstance(name, list) else [name]:
            if isinstance(text, str):
                yield scalar(fold(text)).strip(" ,;|")


def _is_name(text: str) -> bool:
    return 1 < len(text) <= 200 and "://" not in text and not text.isdigit()


def _data(found: _Found) -> Mapping[str, Any] | None:
    """Give what was found, without texts of articles: OpenGraph first, and as much as fits."""
    og = {name: value for name, value in found.metas.items() if _OPEN_GRAPH.match(name)}
    left = DATA_BYTES - 64  # for the names of the parts
    kept: dict[str, Any] = {"og": {}, "meta": {}, "json-ld": []}
    for part, pairs in (("og", og), ("meta", {name: found.metas[name] for name in found.metas.keys() - og.keys()})):
        for name in sorted(pairs):
            left -= len(orjson.dumps({name: pairs[name]}))
            if left >= 0:
                kept[part][name] = pairs[name]
    for thing in found.things:
        bare = {} if "@graph" in thing or left < 0 else _without_bodies(thing, 0)
        left -= len(orjson.dumps(bare)) + 1
        if bare and left >= 0:
            kept["json-ld"].append(bare)
    made = {name: value for name, value in kept.items() if value}
    if left < 0:
        made["cut"] = True
    return made or None


def _without_bodies(thing: object, depth: int) -> object:
    if isinstance(thing, dict):
        if depth > 8:
            return {}
        return {
            scalar(str(name)[:100]): _without_bodies(value, depth + 1)
            for name, value in thing.items()
            if str(name).lower() not in _BODIES
        }
    if isinstance(thing, list):
        return [_without_bodies(each, depth + 1) for each in thing[:100]] if depth <= 8 else []
    return scalar(thing[:_VALUE_CHARS]) if isinstance(thing, str) else thing
