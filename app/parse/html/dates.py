"""Reads when a page was published and modified, from what it says itself, and where it says so.

The most deliberate source counts: JSON-LD (https://schema.org/datePublished), <meta>, <time datetime>, then a date that
a person reads beside the headline, then one in the URL. A date without a zone counts as UTC; the day stays as written.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from html import unescape
from itertools import islice
from typing import Any, Final

from app.model.page import Dated
from app.parse.html.tree import Element

_MAX_NODES = 2000  # of JSON-LD, all its blocks together
_YEARS = range(1970, 2101)  # a page's date outside them is a slip, or a thing that it writes about
# Values of property, name and itemprop, best first: Open Graph, schema.org, Dublin Core, and names that publishers
# share.
_PUBLISHED = (
    "article:published_time", "og:article:published_time", "datepublished", "og:published_time", "dc.date.issued",
    "dcterms.issued", "dcterms.created", "dc.date.created", "parsely-pub-date", "sailthru.date",
    "citation_publication_date",
    "citation_date", "pubdate", "publishdate", "publish_date", "publication_date", "date", "dc.date", "dcterms.date",
)  # fmt: skip
_MODIFIED = (
    "article:modified_time", "og:article:modified_time", "datemodified", "og:updated_time", "og:modified_time",
    "dcterms.modified", "dc.date.modified", "last-modified", "lastmod", "revised",
)  # fmt: skip
_META_NAMES = frozenset((*_PUBLISHED, *_MODIFIED))
_PUBLISHED_TIME = re.compile(
    r"(?<![a-z])(?:datepublished|datecreated|pubdate|published|entry-date|dt-published)(?![a-z])"
)
_MODIFIED_TIME = re.compile(r"(?<![a-z])(?:datemodified|modified|updated|dt-updated)(?![a-z])")
# A date for people: the first words of an element that is named so, else what follows the headline of an article.
_NAMED = (b"date", b"osted", b"ublish", b"byline", b"meta", b"timestamp")
_LOOKED_AT_BYTES = 150_000  # of the body: the date stands near the headline
_AN_ATTRIBUTE = re.compile(
    rb"""<[a-z][^<>]{0,300}(?:class|id|itemprop|property)=["']?[^"'<>]{0,200}\Z""", re.IGNORECASE
)
_NAMES = re.compile(
    rb"(?<![a-z])(?:date|dateline|pubdate|posted|publish|published|datepublished|datecreated|byline|timestamp|time"
    rb"|(?:post|entry|article)[-_]?(?:meta|info|date))(?![a-z])",
    re.IGNORECASE,
)
_IN_BROKEN_JSON = re.compile(r'"(datePublished|dateModified)"\s{0,9}:\s{0,9}"([^"]{8,40})"')
_OF_ARTICLE = (b"<article", b'Posting"', b'Article"', b'content="article"', b"content='article'")
MOST_NAMED, _TAG_BYTES, _NAMED_BYTES, _NAMED_CHARS = 40, 600, 600, 120
_PHRASE_CHARS = 40  # "Published on Friday, 21 September 2024"
_BEHIND_BYTES, _BEHIND_CHARS = 6_000, 400
_SCRIPTS = re.compile(rb"<(script|style|svg)\b.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
TAGS = re.compile(rb"<[^<>]*>")
_IN_PATH = re.compile(r"/(\d{4})[/-](\d{1,2})[/-](\d{1,2})(?=[/-]|\Z)")
_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar janvier enero ene gennaio gen janeiro januari",
            "february feb februar février fev fév febrero febbraio fevereiro februari",
            "march mar märz mrz mars marzo março maart mrt",
            "april apr avril avr abril abr aprile",
            "may mai mayo maggio mag maio mei",
            "june jun juni juin junio giugno giu junho",
            "july jul juli juillet juil julio luglio lug julho",
            "august aug août aou agosto ago augustus",
            "september sep sept septembre septiembre settembre set setembro",
            "october oct oktober okt octobre octubre ottobre ott outubro out",
            "november nov novembre noviembre novembro",
            "december dec dezember dez décembre déc diciembre dic dicembre dezembro",
        ),
        1,
    )
    for name in names.split()
}
_YEAR = re.compile(r"\d{4}")
_DAY = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_ARTICLE = re.compile(
    r"Article|Posting|Report|WebPage|Recipe|Review|Product|Course|Event|JobPosting|VideoObject|Dataset"
)


def of(
    metas: Mapping[str, str], documents: Sequence[object], broken: Sequence[str], times: Sequence[Element]
) -> tuple[Dated | None, Dated | None]:
    """When the page was published, and when it was modified; None where it does not say.

    metas: values of its <meta> elements by name;   documents, broken: JSON-LD, and scripts that should be;   times: its
    <time> elements
    """
    if not documents and not broken and not times and _META_NAMES.isdisjoint(metas):  # most pages
        return None, None
    published, modified = _of_json([*documents, *map(_of_broken, broken)])
    published = published or _of_meta(metas, _PUBLISHED) or _of_times(times, _PUBLISHED_TIME) or _of_only(times)
    return published, modified or _of_meta(metas, _MODIFIED) or _of_times(times, _MODIFIED_TIME)


def _of_json(documents: list[object]) -> tuple[Dated | None, Dated | None]:
    """The dates of the first thing that is an article or the like, else of the first that has any."""
    nodes = things(documents, within=("@graph", "mainEntity"))
    dated = [node for node in nodes if "datePublished" in node or "dateModified" in node]
    articles_first(dated)
    for node in dated:
        published, modified = (_dated(node.get(name), "json-ld") for name in ("datePublished", "dateModified"))
        if published or modified:
            return published, modified
    return None, None


def _of_broken(script: str) -> object:
    """The dates in a script that is no JSON: the first of each name."""
    return {found[1]: found[2] for found in reversed(list(_IN_BROKEN_JSON.finditer(script)))}


def articles_first(things: list[dict[str, Any]]) -> None:
    """Sort things: those that are articles or the like stand first."""
    things.sort(key=lambda thing: not _is_article(thing.get("@type")))


def _is_article(type_: object) -> bool:
    """Whether a type, or one of a list, is an article or the like. What is nested deeper is no type."""
    names = type_ if isinstance(type_, list) else [type_]
    return any(isinstance(name, str) and _ARTICLE.search(name) for name in names)


def things(waiting: list[object], within: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Things at the top of each document, in lists, and in these names; what lies deeper is about something else."""
    for count, thing in enumerate(waiting):
        if count >= _MAX_NODES:
            return
        if isinstance(thing, list):
            waiting += thing[:_MAX_NODES]
        elif isinstance(thing, dict):
            yield thing
            waiting += [thing[name] for name in within if name in thing]


def _of_meta(metas: Mapping[str, str], names: tuple[str, ...]) -> Dated | None:
    return next((found for name in names if name in metas and (found := _dated(metas[name], "meta"))), None)


def _of_times(times: Sequence[Element], named: re.Pattern[str]) -> Dated | None:
    """The first <time> that is named so."""
    for element in times:
        names = f"{element.get('itemprop')} {element.get('class')} {'pubdate' if 'pubdate' in element.attrib else ''}"
        if named.search(names[:300].lower()) and (found := _dated(element.get("datetime"), "time")):
            return found
    return None


def _of_only(times: Sequence[Element]) -> Dated | None:
    """The page's only <time>, unless it says that it is of a change."""
    if len(times) != 1 or _of_times(times, _MODIFIED_TIME):
        return None
    return _dated(times[0].get("datetime"), "time")


def _dated(written: object, source: str) -> Dated | None:
    at = parsed(written) if isinstance(written, str) else None
    return Dated(at.astimezone(UTC), source, at.date()) if at else None


def parsed(written: str) -> datetime | None:
    """A date as ISO 8601, as mail writes it, or with year, month and day in this order; in its own zone, else UTC."""
    written = written.strip()[:40]
    for read in (datetime.fromisoformat, parsedate_to_datetime, _day):
        try:
            at = read(written)
            at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
            year = at.astimezone(UTC).year
        except (ValueError, OverflowError, IndexError, TypeError):
            continue
        return at if year in _YEARS else None
    return None


def _day(written: str) -> datetime:
    found = _DAY.search(written)
    if found is None:
        raise ValueError(written)
    return datetime(int(found[1]), int(found[2]), int(found[3]), tzinfo=UTC)


def of_text(markup: bytes, language: str | None, *, is_rich: bool) -> Dated | None:
    """When the page was published, by a date that a person reads: in an element named so, else behind the headline of
    an article.   is_rich: it says more of itself, by OpenGraph or JSON-LD
    """
    if not is_rich and b"ublished" not in markup and b"byline" not in markup:  # most pages of manuals
        return None
    begin = max(markup.find(b"<body"), 0)
    markup = markup[begin : begin + _LOOKED_AT_BYTES]
    for start in named(markup):
        most = _PHRASE_CHARS if markup[start : start + 1] in b"pP" else _NAMED_CHARS
        if day := written_day(_text(markup[start : start + _NAMED_BYTES], most), language):
            return _on(day, "text")
    headline = markup.find(b"</h1>")
    if headline < 0:
        return None
    behind = markup[headline + 5 : headline + _BEHIND_BYTES]
    day = written_day(_text(behind, _BEHIND_CHARS), language)
    return _on(day, "text") if day and any(mark in markup for mark in _OF_ARTICLE) else None


def named(markup: bytes) -> list[int]:
    """Where the words of elements begin that are named as dates are, or that begin with "Published"."""
    found = set()
    for name in _NAMED:
        at = -1
        for _ in range(MOST_NAMED):
            at = markup.find(name, at + 1)
            if at < 0:
                break
            least = max(at - _TAG_BYTES, 0)
            begin = markup.rfind(b"<", least, at)
            if begin > markup.rfind(b">", least, at):
                end = markup.find(b">", at, at + _TAG_BYTES)
                if end > 0 and _is_named(markup[begin : end + 1], at - begin):
                    found.add(end + 1)
            elif markup[at - 1 : at] in b"pP" and not markup[max(at - 60, 0) : at - 1].rpartition(b">")[2].strip():
                found.add(at - 1)
    return sorted(found)[:MOST_NAMED]


def _is_named(tag: bytes, at: int) -> bool:
    """Whether what stands there names the element: a whole word of its class, id or the like."""
    return _AN_ATTRIBUTE.match(tag[:at]) is not None and _NAMES.search(tag) is not None


def of_url(path: str) -> Dated | None:
    """The day in a path, as blogs have it: /2024/03/21/."""
    found = _IN_PATH.search(path)
    day = _made(int(found[1]), int(found[2]), int(found[3])) if found else None
    return _on(day, "url") if day else None


def written_day(text: str, language: str | None = None) -> date | None:
    """The first day that is written in a text: "21 March 2024", "March 21st, 2024", "21.03.2024", "2024-03-21".

    language: decides what 3/4/2024 is: April for most, March for English but British and its kin
    """
    if _YEAR.search(text) is None:
        return None
    best: tuple[int, date] | None = None
    for pattern, read in _WRITTEN:
        for found in islice(pattern.finditer(text), 3):
            day = read(found, language)
            if day and (best is None or found.start() < best[0]):
                best = found.start(), day
                break
    return best[1] if best else None


def _text(markup: bytes, most: int) -> str:
    """The words of a piece of markup, which may begin and end anywhere."""
    bare = TAGS.sub(b" ", _SCRIPTS.sub(b" ", markup)).partition(b"<")[0]
    return unescape(bare.decode("utf-8", "ignore"))[:most]


def _on(day: date, source: str) -> Dated:
    return Dated(datetime(day.year, day.month, day.day, tzinfo=UTC), source, day)


def _made(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day) if year in _YEARS else None
    except ValueError:
        return None


def _with_month(year: str, month: str, day: str) -> date | None:
    number = _MONTHS.get(month.lower()) or _MONTHS.get(month.lower()[:3])
    return _made(int(year), number, int(day)) if number else None


def _by_slashes(found: re.Match[str], language: str | None) -> date | None:
    first, second, year = int(found[1]), int(found[2]), int(found[3])
    is_american = (language or "en") in ("en", "en-us", "en-ph")
    month, day = (first, second) if (is_american and first <= 12) or second > 12 else (second, first)
    return _made(year, month, day)


_WRITTEN: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], str | None], date | None]], ...]] = (
    (
        re.compile(
            r"\b(\d{1,2})(?:st|nd|rd|th|er|\.|º)?\s{1,3}(?:de\s|of\s)?([^\W\d_]{3,12})\.?,?\s{1,3}(?:de\s|del\s)?(\d{4})\b"
        ),
        lambda found, _: _with_month(found[3], found[2], found[1]),
    ),
    (
        re.compile(r"\b([^\W\d_]{3,12})\.?\s{1,3}(\d{1,2})(?:st|nd|rd|th)?,?\s{1,3}(\d{4})\b"),
        lambda found, _: _with_month(found[3], found[1], found[2]),
    ),
    (
        re.compile(r"(?<!\d)(\d{4})(?:[-/.]|年\s?)(\d{1,2})(?:[-/.]|月\s?)(\d{1,2})(?!\d)"),
        lambda found, _: _made(int(found[1]), int(found[2]), int(found[3])),
    ),
    (
        re.compile(r"(?<![\d.])(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?![\d.]\d)"),
        lambda found, _: _made(int(found[3]), int(found[2]), int(found[1])),
    ),
    (re.compile(r"(?<!\d)(\d{1,2})[/-](\d{1,2})[/-](\d{4})(?!\d)"), _by_slashes),
)
