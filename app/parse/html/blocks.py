"""Lays a tree out as blocks and lines: which text stands in which block, and how much of it is linked.

The traversal is an XSLT stylesheet, compiled once per thread: libxslt walks the tree in C, without the GIL. It writes
the text with marks where blocks and links begin and end; one loop over these marks makes the lists that
`app.parse.html.content` judges. What elements mean comes from the HTML standard. Linear in the length of the document.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from lxml import etree

from app.parse import dictionary
from app.parse.html.tree import Element

# Never read by anybody: https://html.spec.whatwg.org/#hidden-elements and the embedded content we do not render.
UNREADABLE = """script style noscript template head title svg math iframe object audio video canvas datalist noframes
    noembed""".split()  # noqa: SIM905  # a list literal takes a line per word
_LANDMARKS = ("nav", "header", "footer", "aside", "menu")
# A form that holds headings or paragraphs is the page itself (ASP.NET wraps all of it in one).
BOILERPLATE = (
    *(*_LANDMARKS, "select", "button", "textarea"),
    "form[not(.//h1|.//h2|.//p|.//main|.//article)]",
)
# Blocks that may be named for what they are by class, id, role or itemprop.
_NAMED = ("article", "div", "dl", "figure", "form", "main", "ol", "p", "section", "table", "td", "ul", "h2", "h3", "h4")
_PLAIN = """address blockquote body caption center dd details dialog dir dt fieldset figcaption h1 h5 h6 hgroup legend
    li option pre search summary tbody tfoot th thead tr""".split()  # noqa: SIM905  # a list literal takes a line per word
_NAMES = "@class|@id|@role|@itemprop"
_BREAKS = "br|hr"
BLOCKS = frozenset((*_NAMED, *_PLAIN))
_WALKED = {tag: tag for tag in (*BLOCKS, *_LANDMARKS)}  # the one string for each, whose hash is known
# Whoever changes what the stylesheet walks changes `app.parse.html.prune` too, which counts the same blocks.
CELLS = frozenset({"td", "th"})
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
# Control characters, those that stand for nothing in windows-1252 either: no text holds them by right, and one that
# does is only laid out oddly. They take a byte in Python's strings where others make every letter take two.
# A block is _OPEN, its tag and names, _NAMES_END, what is in it, _CLOSE. An _OPEN alone is a break.
_OPEN, _NAMES_END, _CLOSE, _LINK, _LINK_END = "\x8d\x81\x8f\x90\x9d"
_SENTENCE_ENDS = frozenset(".!?…:;。！？”\"')»")
_MAX_NAME_CHARS = 300
_LONG_BYTES, _SENTENCE_BYTES = 80, 40  # of UTF-8: a script with fewer letters a word has more bytes a letter
_LEAST_PROSE = _SENTENCE_BYTES // 3  # characters
_CARD_WORDS, _CARD_CHARS = 4, 15  # of a title; the latter where words are not set apart


# Text between two edges: block, text, characters in links, characters outside if it reads like a sentence, and whether
# it continues the row of the line before. A plain tuple: a named one takes five times as long to make.
Line: TypeAlias = tuple[int, str, int, int, bool]


@dataclass(slots=True)
class Blocks:
    """Blocks in document order, as parallel lists; block 0 is the document. All sizes are characters.

    parents       the index of the block around each; of block 0, itself
    tags, names   element name; class, id, role and itemprop in one string, of 300 characters at most
    sizes, links, prose   of the block and all below: text, linked text, and what outside links reads like sentences
    cards         titles that are links from end to end, as teasers have them, of the block and all below
    """

    parents: list[int] = field(default_factory=lambda: [0])
    tags: list[str] = field(default_factory=lambda: ["html"])
    names: list[str] = field(default_factory=lambda: [""])
    lines: list[Line] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    links: list[int] = field(default_factory=list)
    prose: list[int] = field(default_factory=list)
    cards: list[int] = field(default_factory=list)


def of(root: Element, *, with_boilerplate: bool = False) -> Blocks:
    """The blocks of the tree; `with_boilerplate`: with nav, header, footer and their like, which are left out else."""
    result = _own.of(with_boilerplate=with_boilerplate)(root)
    blocks = Blocks()
    _lay_out(blocks, result.getroot().text or "")
    _add_up(blocks)
    return blocks


def _lay_out(blocks: Blocks, marked: str) -> None:
    """Turn marks into blocks and lines. Every piece of text lies between two edges, so it is one line."""
    parents, tags, names, lines = blocks.parents, blocks.tags, blocks.names, blocks.lines
    at, in_link, glued = 0, False, False
    for piece in marked.split(_OPEN):
        head, is_block, rest = piece.partition(_NAMES_END)
        tag, named = _WALKED.get(head), ""
        if tag is None:
            head, _, named = head.partition(" ")
            tag = _WALKED.get(head)
        if is_block and tag is not None:
            parents.append(at)
            at = len(tags)
            tags.append(tag)
            names.append(named and named[:_MAX_NAME_CHARS])
            if glued and tag not in CELLS:
                glued = False
        else:
            rest, glued = piece, False
        while rest:
            run, closes, rest = rest.partition(_CLOSE)
            if run:
                linked = 0
                if in_link or _LINK in run or _LINK_END in run:
                    run, linked, in_link = _unlinked(run, in_link)
                if text := " ".join(run.split()):
                    own = len(text) - linked
                    if own < linked or own < _LEAST_PROSE or not (own >= _LONG_BYTES or _is_prose(text, own)):
                        own = 0
                    lines.append((at, text, linked, own, glued))
                    glued = True
            if closes:
                if glued and tags[at] not in CELLS:
                    glued = False
                at = parents[at]


def _unlinked(run: str, in_link: bool) -> tuple[str, int, bool]:
    """The run without marks of links, how many characters are linked, and whether a link goes on after it."""
    if not in_link:
        before, _, rest = run.partition(_LINK)
        inner, ends, after = rest.partition(_LINK_END)
        if ends and _LINK not in rest and _LINK_END not in before + after:  # one link, as mostly
            return before + inner + after, len(inner.strip()), False
    first, *parts = run.split(_LINK)
    texts, linked = [first], 0
    if in_link:
        texts, parts = [], [first, *parts]
    for part in parts:
        inner, end, after = part.partition(_LINK_END)
        linked += len(inner.strip())
        in_link = not end
        texts += [inner, after]
    return "".join(texts).replace(_LINK_END, ""), linked, in_link


def _add_up(blocks: Blocks) -> None:
    count, parents, tags = len(blocks.tags), blocks.parents, blocks.tags
    sizes, links, prose, cards = [0] * count, [0] * count, [0] * count, [0] * count
    for at, text, linked, read, _ in blocks.lines:
        size = len(text)
        sizes[at] += size
        if read:
            prose[at] += read
        if linked:
            links[at] += linked
            if linked * 10 >= size * 9 and tags[at] != "h1" and (tags[at] in HEADINGS or _is_title(text)):
                cards[at] += 1
    for at in range(count - 1, 0, -1):
        if size := sizes[at]:  # most blocks have no links
            above = parents[at]
            sizes[above] += size
            if read := prose[at]:
                prose[above] += read
            if linked := links[at]:
                links[above] += linked
                cards[above] += cards[at]
    blocks.sizes, blocks.links, blocks.prose, blocks.cards = sizes, links, prose, cards


def _is_title(text: str) -> bool:
    return text.count(" ") >= _CARD_WORDS or (len(text) >= _CARD_CHARS and not text.isascii() and " " not in text)


def _is_prose(text: str, own: int) -> bool:
    """Whether a line reads like a sentence, though it is not long.   own: its characters outside links"""
    weight = own if text.isascii() else own * len(text.encode("utf-8", "replace")) // len(text)
    return weight >= _LONG_BYTES or (weight >= _SENTENCE_BYTES and text[-1] in _SENTENCE_ENDS)


def _block(tag: str) -> str:
    names = '</xsl:text><xsl:apply-templates select="@*"/><xsl:text>' if tag in _NAMED else ""
    return (
        f'<xsl:template match="{tag}"><xsl:text>{_OPEN}{tag}{names}{_NAMES_END}</xsl:text>'
        f"<xsl:apply-templates/><xsl:text>{_CLOSE}</xsl:text></xsl:template>"
    )


def _stylesheet(left_out: Iterable[str], walked: Iterable[str] = ()) -> etree.XSLT:
    templates = "".join(map(_block, (*_NAMED, *_PLAIN, *walked)))
    return etree.XSLT(
        regexp=False,  # lxml would register functions for them with each page
        xslt_input=etree.fromstring(
            f"""<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
            <xsl:template match="/"><marked><xsl:apply-templates/></marked></xsl:template>{templates}
            <xsl:template match="@*"/>
            <xsl:template match="{_NAMES}"><xsl:text> </xsl:text><xsl:value-of select="."/></xsl:template>
            <xsl:template match="a">
                <xsl:text>{_LINK}</xsl:text><xsl:apply-templates/><xsl:text>{_LINK_END}</xsl:text>
            </xsl:template>
            <xsl:template match="{_BREAKS}"><xsl:text>{_OPEN}</xsl:text></xsl:template>
            <xsl:template match="{"|".join(left_out)}" priority="1"/>
            </xsl:stylesheet>"""
        ),
    )


class _Stylesheets(threading.local):
    """Compiled objects, one set per thread and dictionary: lxml locks them while they work, and recompiles those of
    another thread or dictionary each time.
    """

    def __init__(self) -> None:
        self._dictionary = dictionary.number()
        self.content = _stylesheet((*UNREADABLE, *BOILERPLATE))
        self.everything = _stylesheet(UNREADABLE, walked=_LANDMARKS)

    def of(self, *, with_boilerplate: bool) -> etree.XSLT:
        if self._dictionary != dictionary.number():
            self.__init__()  # type: ignore[misc]  # as for a new thread
        return self.everything if with_boilerplate else self.content


_own = _Stylesheets()
