"""Walks over the elements of a sitemap, one tag or text at a time, and collects its items.

It decides what the elements of each format mean, which parts of a broken file still count, and where a walk takes too
much memory: its depth, its names and its texts are bounded. A parser (`app.parse.sitemap.markup`) feeds it;
`app.parse.sitemap.entry` reads the dates. Sources: https://www.sitemaps.org/protocol.html, RSS 2.0 and 1.0, RFC 4287
(Atom).
"""

from collections.abc import Mapping
from urllib.parse import urljoin

from app.parse.sitemap.entry import Child, Entry, SitemapKind, as_child, as_entry, is_url

_MAX_DEPTH = 60_000  # of elements, 35 bytes each: one for every entry, should none be closed
_MAX_NAMES_BYTES = 128 * 1024  # libxml2 keeps every name for as long as the thread lives
_NAME_BYTES = 32  # that a name costs beside its letters
MAX_FIELD_CHARS = 100  # of fields other than a location
_BASE = "{http://www.w3.org/XML/1998/namespace}base"  # RFC 4287, section 2: of a feed, an entry and a link

# Elements around the file's own, so that an end tag too many does not end the document.
_FLOOR_TAG = "_"
_FLOOR_DEPTH = 1000
FLOOR = f"<{_FLOOR_TAG}>" * _FLOOR_DEPTH

_ROOTS = {
    "urlset": SitemapKind.URLSET,
    "sitemapindex": SitemapKind.INDEX,
    "rss": SitemapKind.RSS,
    "rdf": SitemapKind.RSS,  # RSS 1.0: https://web.resource.org/rss/1.0/spec
    "feed": SitemapKind.ATOM,
}
_ITEMS = {
    SitemapKind.URLSET: ("url", "sitemap"),  # the wrong root is put around either
    SitemapKind.INDEX: ("sitemap", "url"),
    SitemapKind.RSS: ("item",),
    SitemapKind.ATOM: ("entry",),
}
# The children of an item that are kept, and the names of their fields.
_FIELDS = {
    "url": {"loc": "loc", "lastmod": "lastmod", "changefreq": "changefreq", "priority": "priority"},
    "sitemap": {"loc": "loc", "lastmod": "lastmod"},
    "item": {"link": "loc", "guid": "guid", "pubdate": "lastmod", "date": "lastmod"},  # <dc:date> in RSS 1.0
    "entry": {"link": "href", "updated": "lastmod"},
}


class Walk:
    """A parser target: receives tags and text in turn, and keeps the current item.

    Names are compared without name space, but a field's must be its item's: <image:loc> is no <loc>. Lenient where the
    meaning is plain: items within items, two <loc> in one, tags that are never closed.
    """

    def __init__(self, max_loc_chars: int, max_joined_chars: int) -> None:
        self.kind = SitemapKind.UNKNOWN
        self.found: list[Entry | Child] = []
        self.skipped = 0
        self.refusal: str | None = None
        self.events = 0
        self.depth = -_FLOOR_DEPTH
        self._max_loc_chars = max_loc_chars
        self._names: dict[str, tuple[str, str]] = {}  # tag or attribute: (name space, local name in lower case)
        self._names_left = _MAX_NAMES_BYTES
        self._item = self._space = ""
        self._item_depth = 0
        self._values: dict[str, str] = {}  # of the item's fields
        self._field = ""
        self._field_depth = 0
        self._written: list[str] = []  # of the field, without leading blanks
        self._room = 0
        self._is_shut = False  # whether the field takes no more
        self._root_base = self._base = ""  # of a feed, and of its entry
        self._joined_left = max_joined_chars

    def start_ns(self, prefix: str, uri: str) -> None:
        if (written := f"{prefix}={uri}") not in self._names:
            self._learn(written)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.events += 1
        self.depth += 1
        space, name = self._names.get(tag) or self._learn(tag)
        for key in attributes:
            if key not in self._names:
                self._learn(key)
        if self.depth > _MAX_DEPTH:
            self._refuse(f"elements nested over {_MAX_DEPTH:,} deep")
        if tag == _FLOOR_TAG or self.refusal:
            return
        if self.kind is SitemapKind.UNKNOWN:
            self._start_root(name)
            self._root_base = self._based("", attributes)
        elif self._field:
            self._start_within_field(space, name)
        elif name in _ITEMS[self.kind]:
            self._start_item(space, name)
            self._base = self._based(self._root_base, attributes)
        elif self._item and self.depth == self._item_depth + 1:
            self._start_field(space, name, attributes)

    def data(self, text: str) -> None:
        self.events += 1
        if not self._field or self._is_shut or not (self._written or (text := text.lstrip())):
            return
        taken, beyond = text[: self._room], text[self._room :]
        self._room -= len(taken)
        self._written.append(taken)
        if beyond and beyond.strip():
            self._is_shut = True
            if self._field in ("loc", "guid"):
                self._written = [""]

    def end(self, _tag: str) -> None:
        self.events += 1
        if self._field and self.depth == self._field_depth:
            self._end_field()
        elif self._item and self.depth == self._item_depth:
            self._end_item()
            self._item = ""
        self.depth -= 1

    def close(self) -> None:
        """End the file: the item that it ended in counts if its location is whole."""
        if self._values.get("loc"):
            self._end_item()

    def _learn(self, written: str) -> tuple[str, str]:
        space, _, name = written.rpartition("}")
        self._names_left -= len(written) + _NAME_BYTES
        if self._names_left < 0:
            self._refuse("too many names of elements and attributes")
        else:
            self._names[written] = space, name.lower()
        return space, name.lower()

    def _refuse(self, reason: str) -> None:
        self.refusal = self.refusal or reason
        self._item = self._field = ""
        self._values = {}

    def _based(self, outer: str, attributes: Mapping[str, str]) -> str:
        """The base of an element's URLs; empty: the file's own."""
        written = attributes.get(_BASE, "").strip()
        return self._joined(outer, written) if 0 < len(written) <= self._max_loc_chars else outer

    def _joined(self, base: str, written: str) -> str:
        """A URL, relative to its base; as written where either is none, or it is longer than any location."""
        if not base or not 0 < len(written) <= self._max_loc_chars:
            return written
        self._joined_left -= len(base) + len(written)
        if self._joined_left < 0:
            self._refuse("too many bases of URLs")
            return ""
        try:
            return urljoin(base, written)
        except ValueError:  # [ in a host, say
            return written

    def _start_root(self, name: str) -> None:
        kind = _ROOTS.get(name)
        if kind:
            self.kind = kind
        else:
            self._refuse(f"no sitemap: its first element is <{name[:40]}>")

    def _start_within_field(self, space: str, name: str) -> None:
        """Handle a tag within a field: <loc><url>text</url></loc> occurs; after text, the tag belongs to another
        element."""
        if not self._written:
            return
        self._is_shut = True
        if name in _ITEMS[self.kind]:
            self._end_field()
            self._start_item(space, name)

    def _start_item(self, space: str, name: str) -> None:
        if self._item and space != self._space:
            return
        if self._item:
            self._end_item()
        self._item, self._space, self._item_depth = name, space, self.depth

    def _end_item(self) -> None:
        values, self._values = self._values, {}
        if not values.get("loc") and is_url(guid := values.get("guid", "")):
            values["loc"] = guid
        if not 0 < len(values.get("loc", "")) <= self._max_loc_chars:
            self.skipped += 1
        else:
            self.found.append(as_child(values) if self._item == "sitemap" else as_entry(values))

    def _start_field(self, space: str, name: str, attributes: Mapping[str, str]) -> None:
        field = _FIELDS[self._item].get(name)
        if field is None or (space != self._space and name != "date"):
            return
        if field == "href":
            if attributes.get("rel", "alternate").strip().lower() == "alternate" and not self._values.get("loc"):
                self._values["loc"] = self._joined(
                    self._based(self._base, attributes), attributes.get("href", "").strip()
                )
            return
        if field == "guid" and attributes.get("isPermaLink", "").strip().lower() == "false":
            return
        if name == "loc" and self._values.get("loc"):
            self._end_item()
        self._field, self._field_depth, self._written, self._is_shut = field, self.depth, [], False
        self._room = self._max_loc_chars if field in ("loc", "guid") else MAX_FIELD_CHARS

    def _end_field(self) -> None:
        if value := "".join(self._written).rstrip():
            self._values.setdefault(self._field, value)
        self._field = ""
