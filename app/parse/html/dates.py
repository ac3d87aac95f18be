"""Reads when a page was published and modified, from what it says itself, and where it says so.

Three sources, the most deliberate first: JSON-LD (https://schema.org/datePublished), <meta>, and <time datetime>. Dates
in prose or in URLs are not guessed at: htmldate does, at 2 ms a page. A date without a zone counts as UTC.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import orjson

from app.model.page import Dated
from app.parse.html.tree import Element

TAGS = ("meta", "script", "time")
_MAX_JSON_CHARS = 200_000
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
_PUBLISHED_TIME = re.compile(r"(?<![a-z])(?:datepublished|pubdate|published|entry-date|dt-published)(?![a-z])")
_MODIFIED_TIME = re.compile(r"(?<![a-z])(?:datemodified|modified|updated|dt-updated)(?![a-z])")
_DAY = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_ARTICLE = re.compile(
    r"Article|Posting|Report|WebPage|Recipe|Review|Product|Course|Event|JobPosting|VideoObject|Dataset"
)


def of(elements: Iterable[Element]) -> tuple[Dated | None, Dated | None]:
    """When the page was published, and when it was modified; None where it does not say.

    elements: its elements of TAGS, in document order
    """
    metas: dict[str, str] = {}
    scripts: list[str] = []
    times: list[Element] = []
    for element in elements:
        if element.tag == "meta":
            if content := element.get("content") or element.get("datetime"):
                name = element.get("property") or element.get("name") or element.get("itemprop")
                metas.setdefault((name or "").strip().lower(), content)
        elif element.tag == "time":
            times.append(element)
        elif (element.get("type") or "").strip().lower() == "application/ld+json" and element.text:
            scripts.append(element.text)
    if not scripts and not times and _META_NAMES.isdisjoint(metas):  # most pages
        return None, None
    published, modified = _of_json(scripts)
    published = published or _of_meta(metas, _PUBLISHED) or _of_times(times, _PUBLISHED_TIME) or _of_only(times)
    return published, modified or _of_meta(metas, _MODIFIED) or _of_times(times, _MODIFIED_TIME)


def _of_json(scripts: list[str]) -> tuple[Dated | None, Dated | None]:
    """The dates of the first thing that is an article or the like, else of the first that has any."""
    dated = [node for node in _nodes(scripts) if "datePublished" in node or "dateModified" in node]
    dated.sort(key=lambda node: _ARTICLE.search(str(node.get("@type"))) is None)
    for node in dated:
        published, modified = (_dated(node.get(name), "json-ld") for name in ("datePublished", "dateModified"))
        if published or modified:
            return published, modified
    return None, None


def _nodes(scripts: list[str]) -> Iterator[dict[str, object]]:
    """Things at the top of each script, in lists, @graph and mainEntity; what lies deeper is about something else."""
    waiting: list[object] = []
    for script in scripts:
        if len(script) <= _MAX_JSON_CHARS and ("datePublished" in script or "dateModified" in script):
            try:
                waiting.append(orjson.loads(script.encode("utf-8", "replace")))
            except orjson.JSONDecodeError:
                continue  # theirs is no JSON: it says nothing
    for count, thing in enumerate(waiting):
        if count >= _MAX_NODES:
            return
        if isinstance(thing, list):
            waiting += thing[:_MAX_NODES]
        elif isinstance(thing, dict):
            yield thing
            waiting += [thing[name] for name in ("@graph", "mainEntity") if name in thing]


def _of_meta(metas: dict[str, str], names: tuple[str, ...]) -> Dated | None:
    return next((found for name in names if name in metas and (found := _dated(metas[name], "meta"))), None)


def _of_times(times: list[Element], named: re.Pattern[str]) -> Dated | None:
    """The first <time> that is named so."""
    for element in times:
        names = f"{element.get('itemprop')} {element.get('class')} {'pubdate' if 'pubdate' in element.attrib else ''}"
        if named.search(names[:300].lower()) and (found := _dated(element.get("datetime"), "time")):
            return found
    return None


def _of_only(times: list[Element]) -> Dated | None:
    """The page's only <time>, unless it says that it is of a change."""
    if len(times) != 1 or _of_times(times, _MODIFIED_TIME):
        return None
    return _dated(times[0].get("datetime"), "time")


def _dated(written: object, source: str) -> Dated | None:
    at = parsed(written) if isinstance(written, str) else None
    return Dated(at, source) if at else None


def parsed(written: str) -> datetime | None:
    """A date as ISO 8601, as mail writes it, or at least with year, month and day in this order; in UTC."""
    written = written.strip()[:40]
    for read in (datetime.fromisoformat, parsedate_to_datetime, _day):
        try:
            at = read(written)
            at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        except (ValueError, OverflowError, IndexError, TypeError):
            continue
        return at if at.year in _YEARS else None
    return None


def _day(written: str) -> datetime:
    found = _DAY.search(written)
    if found is None:
        raise ValueError(written)
    return datetime(int(found[1]), int(found[2]), int(found[3]), tzinfo=UTC)
