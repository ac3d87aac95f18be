"""Grows a tree from any markup, in time bounded by the markup's length.

libxml2 bounds nesting by itself, at 256 levels. The tree of a deeper document ends there: `is_cut` reports it, and
`flattened` recovers its links. libxml2 does not bound attributes: appending one walks all earlier ones of its tag, so a
tag with 40,000 takes a second and one with 200,000 took 51. A document that may hold such a tag is first parsed by a
linear census of attributes that builds nothing; if it does hold one, it is not read. The parser itself finds the tags
there, so no scanner of ours can misjudge where one begins or ends.

Names that a thread has seen are bounded by `app.parse.dictionary`.
"""

import re
import threading
from itertools import islice
from typing import TypeAlias

from lxml import etree

from app.parse import dictionary

Element: TypeAlias = etree._Element  # noqa: SLF001  # lxml documents it under no other name

MAX_ATTRIBUTES = 1000
# Below this a census costs more than it saves: the worst tag that fits takes 0.03 s.
_HARMLESS_BYTES = 32 * 1024
# libxml2 stops at 256 open elements (xmlParserMaxDepth).
_DEEPEST = 250
# https://html.spec.whatwg.org/#parsing-main-inhead: all that a head may hold. Any other element begins the body.
_OF_HEAD = frozenset(
    "base basefont bgsound link meta noframes noscript script style template title".split()  # noqa: SIM905  # a list literal takes a line per word
)
# Markup that is no part of the document, up to its end.
_ENDS = {
    b"<!--": re.compile(b"-->"),
    b"<script": re.compile(b"</script", re.IGNORECASE),
    b"<style": re.compile(b"</style", re.IGNORECASE),
    b"<textarea": re.compile(b"</textarea", re.IGNORECASE),
}
_UNSHOWN = re.compile(b"|".join(_ENDS), re.IGNORECASE)
_LINK = re.compile(rb"<(?:a|area|i?frame|link)\s[^<>]{0,4096}+>[^<]{0,200}+", re.IGNORECASE)
# https://html.spec.whatwg.org/#parsing-main-inforeign: start tags at which a drawing ends; and what holds HTML in one.
_ENDS_FOREIGN = frozenset(
    """b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta
    nobr ol p pre ruby s small span strong strike sub sup table tt u ul var foreignobject desc""".split()  # noqa: SIM905  # a list literal takes a line per word
)
_LONG_TAG_BYTES = 2 * MAX_ATTRIBUTES  # more distinct names than that, each with a separator, take at least so much
_QUOTES = (b'"', b"'")
_BEFORE_VALUE = b"= \t\n\r\v\f"
_MOST_QUOTED = 16
# No Char by https://www.w3.org/TR/xml/#charsets: lxml reads them from broken pages, and refuses them in a text.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_BLANKS_BYTES = 64  # between "=" and a value, as far as we look for the former
_OPENING = re.compile(rb"<[A-Za-z]")
# The declarations of XHTML's document type, which a parser of HTML takes for text from their first ">" on.
_DECLARED = re.compile(
    rb"(?:\s++|<\?[^>]{0,200}+>|<!--[^>]{0,2000}+>)*+<!DOCTYPE[^\[>]{0,500}+(\[[^\]]{0,8000}+\])\s{0,9}>",
    re.IGNORECASE,
)
_SCRIPT = re.compile(rb"<script[\s>]", re.IGNORECASE)
_SCRIPT_TAG_BYTES = 1000
_SEPARATORS = b"\t\n\f\r /\"'"  # an attribute begins after one of these
_NAME = re.compile(rb"(?<=[\s/\"'])[^\s/\"']")  # its first letter: linear in blanks that no name follows


def grow(markup: bytes) -> Element | None:
    """The root element of UTF-8 markup; None when there is nothing in it, or a tag with over `MAX_ATTRIBUTES`
    attributes.

    Raises MemoryError, which libxml2 reports like a fault of the markup.
    """
    try:
        if not is_cheap(markup):
            return None
        if declared := _DECLARED.match(markup):
            markup = markup[: declared.start(1)] + markup[declared.end(1) :]
        root: Element | None = etree.fromstring(markup, _own.parser)
    except etree.LxmlError as error:
        if getattr(error, "code", None) == etree.ErrorTypes.ERR_NO_MEMORY:
            raise MemoryError from error
        return None
    return None if root is None else _whole(root)


def is_cheap(markup: bytes) -> bool:
    """Whether no tag has over `MAX_ATTRIBUTES` attributes. Shrinks the dictionary: ask before any markup is parsed."""
    dictionary.shrink()
    return not is_suspect(markup) or _most_attributes(markup) <= MAX_ATTRIBUTES


def title(root: Element) -> Element | None:
    """The element that titles the document. A drawing may have one, too.

    It is mostly in the head, and an iterator walks on to the next one before it gives the first. XPath would let go of
    the interpreter for so little.
    """
    head = root[0] if len(root) and root[0].tag == "head" else root
    first = next(head.iter("title"), None)
    if first is None or is_drawn(first):
        known: dict[Element, bool] = {}
        first = next((each for each in root.iter("title") if not is_drawn(each, known)), None)
    return first


def is_drawn(element: Element, known: dict[Element, bool] | None = None) -> bool:
    """Whether it belongs to a drawing or a formula, and so is none of HTML's, whatever its name.

    known: the answers for what is around others of the page, by which many questions take linear time together
    """
    known = {} if known is None else known
    passed, is_found = list[Element](), False
    above = element.getparent()  # mostly the last that is asked for: an iterator takes five times as long
    while above is not None and above.tag not in _ENDS_FOREIGN:
        is_found = above.tag in {"svg", "math"} or known.get(above, False)
        if is_found or above in known:
            break
        passed.append(above)
        above = above.getparent()
    known.update(dict.fromkeys(passed, is_found))
    return is_found


def is_cut(root: Element) -> bool:
    """Whether the document nests deeper than libxml2 follows: the tree ends there, with everything still open."""
    depth = 0
    while len(root):
        root, depth = root[-1], depth + 1
    return depth >= _DEEPEST


def flattened(markup: bytes) -> bytes:
    """The links of markup without the elements around them, so that no nesting hides them.

    Linear. Comments and scripts are left out, and so is a tag with "<" or ">" in a value."""
    shown, at = [], 0
    while opening := _UNSHOWN.search(markup, at):
        shown.append(markup[at : opening.start()])
        closing = _ENDS[opening[0].lower()].search(markup, opening.end())
        at = closing.end() if closing else len(markup)
    shown.append(markup[at:])
    return b"\n".join(found[0] + b"</a>" for part in shown for found in _LINK.finditer(part))


def is_suspect(markup: bytes) -> bool:
    """Whether some tag may hold too many attributes.

    Errs towards yes: it suspects 4 of the 229 pages of over 32 KiB in the WCXB sample. A tag that it lets pass has at
    most `MAX_ATTRIBUTES` in a step from one ">" to another, and `_MOST_QUOTED` values in which its steps end: 17,000
    take 0.2 s.
    """
    size = len(markup)
    if size < _HARMLESS_BYTES:
        return False
    at = 0
    last, around, values = dict.fromkeys(_QUOTES, -1), list[bytes](), set[int]()
    while at + _LONG_TAG_BYTES < size:
        end = markup.rfind(b">", at, at + _LONG_TAG_BYTES)
        if end < 0:
            end = markup.find(b">", at)
            end = size if end < 0 else end
            opening = _OPENING.search(markup, _after_script(markup, at, end), end)
            begins = [] if opening is None else [opening.start()]
            begins += [closing for quote in around if (closing := markup.find(quote, at, end)) >= 0]
            if any(_may_flood(markup[begin:end]) for begin in begins):
                return True
        around = _around(markup, at, end, last)
        if around:
            values.update([last[quote] for quote in around])  # one that goes on for several steps counts once
            if len(values) > _MOST_QUOTED:
                return True
        at = end + 1
    return False


def _around(markup: bytes, at: int, end: int, last: dict[bytes, int]) -> list[bytes]:
    """The quotes of values that the ">" which ends a step may stand in.

    It is no end of a tag then: the last quote of that kind before it opens the value.   last: of each kind
    """
    found = []
    for quote in _QUOTES:
        place = markup.rfind(quote, at, end)
        if place < 0:
            place = last[quote]
        else:
            last[quote] = place
        if place < 0 or (place and markup[place - 1] not in _BEFORE_VALUE):  # it closes one, or is an apostrophe
            continue
        if markup[max(place - _BLANKS_BYTES, 0) : place].rstrip()[-1:] in (b"=", b""):
            found.append(quote)
    return found


def _after_script(markup: bytes, at: int, end: int) -> int:
    """Where tags may begin in a part without ">": behind the text of a script, if it is one's.   at: its beginning"""
    opening = markup.rfind(b"<", max(0, at - _SCRIPT_TAG_BYTES), at)
    if opening < 0 or not _SCRIPT.match(markup, opening) or markup.endswith(b"/>", opening, at):
        return at
    closing = markup.find(b"</", at, end)
    return end if closing < 0 else closing


def _may_flood(part: bytes) -> bool:
    """Whether a part of a tag may hold too many attributes: by how many names there may be, and by a census if so."""
    if len(part) - len(part.translate(None, _SEPARATORS)) <= MAX_ATTRIBUTES:
        return False
    if next(islice(_NAME.finditer(part), MAX_ATTRIBUTES, None), None) is None:
        return False
    return _most_attributes(b"<a " + part + b">") > MAX_ATTRIBUTES


def _whole(root: Element) -> Element:
    """Join the parts after </html> to the page (https://html.spec.whatwg.org/#the-after-after-body-insertion-mode).

    libxml2 2.14 makes a second root of them, beside the first, where no search from the first finds it. It also leaves
    in the head what it does not know from HTML 4, such as <main>, where neither </head> nor <body> is written.
    """
    while (astray := root.getnext()) is not None:
        root.append(astray)
    head = root[0] if len(root) and root[0].tag == "head" else None
    if head is not None and (first := next((each for each in head if each.tag not in _OF_HEAD), None)) is not None:
        _begin_body(root, [first, *first.itersiblings()])
    return root


def legal(words: str) -> str:
    """Words that lxml takes as a text: a blank stands for each character that XML does not have."""
    return _ILLEGAL.sub(" ", words)


def _begin_body(root: Element, shown: list[Element]) -> None:
    """Move elements of the head to the beginning of the body, in front of its text."""
    body = root.find("body")
    if body is None:
        body = etree.SubElement(root, "body")
    shown[-1].tail, body.text = legal((shown[-1].tail or "") + (body.text or "")) or None, None
    body[:0] = shown  # one after another, lxml would count to each place from the first


class _Census:
    """Source and target of a parse: keeps nothing but the largest number of attributes of a tag.

    The source ends where elements nest twice as deep as the tree can. libxml2 sets a target no such bound, and looks
    through all open elements at each stray end tag: 100,000 of both would take 20 s. Nothing but the end of its source
    stops it.
    """

    def __init__(self) -> None:
        self.begin(b"")

    def begin(self, markup: bytes) -> None:
        self.most = self._depth = self._at = 0
        self._markup = markup

    def read(self, size: int) -> bytes:
        part = self._markup[self._at : self._at + size] if self._depth <= 2 * _DEEPEST else b""
        self._at += len(part)
        return part

    def start(self, _tag: str, attributes: dict[str, str]) -> None:
        self.most = max(self.most, len(attributes))
        self._depth += 1

    def end(self, _tag: str) -> None:
        self._depth -= 1

    def close(self) -> None:
        """Required of a target."""


def _most_attributes(markup: bytes) -> int:
    census = _own.census
    census.begin(markup)
    try:
        etree.parse(census, _own.counting)
    finally:
        most = census.most
        census.begin(b"")  # it keeps no document
    return most


def _parser(target: _Census | None = None) -> etree.HTMLParser:
    return etree.HTMLParser(
        encoding="utf-8",  # the encoding that we pass; a <meta charset> no longer counts
        recover=True,
        no_network=True,
        huge_tree=False,
        collect_ids=False,
        remove_comments=True,
        remove_pis=True,
        target=target,
    )


class _ThreadParser(threading.local):
    """Parsers of a thread: lxml locks a parser while it works.

    Each keeps its dictionary until it parses again, and one with a target until the next collection of garbage."""

    def __init__(self) -> None:
        self.parser = _parser()
        self.census = _Census()
        self.counting = _parser(target=self.census)


_own = _ThreadParser()
