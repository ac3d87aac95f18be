"""Lays a tree out as blocks and lines: which text stands in which block, and how much of it is linked.

The traversal is an XSLT stylesheet, compiled once per thread: libxslt walks the tree in C, without the GIL. It writes the text
with marks where blocks and links begin and end; one loop over these marks makes the lists that `app.parse.html.content` judges.
What elements mean comes from the HTML standard. Linear in the length of the document.
"""

import re
import threading
from dataclasses import dataclass, field

from lxml import etree

from app.parse.html.tree import Element

# Never read by anybody: https://html.spec.whatwg.org/#hidden-elements and the embedded content we do not render.
UNREADABLE = (
    "script|style|noscript|template|head|title|svg|math|iframe|object|audio|video|canvas|datalist|noframes|noembed"
)
# A form that holds headings or paragraphs is the page itself (ASP.NET wraps all of it in one).
BOILERPLATE = "nav|header|footer|aside|menu|select|button|textarea|form[not(.//h1|.//h2|.//p|.//main|.//article)]"
# Blocks that may be named for what they are by class, id, role or itemprop.
_NAMED = ("article", "div", "dl", "figure", "form", "main", "ol", "p", "section", "table", "td", "ul", "h2", "h3", "h4")
_PLAIN = """address blockquote body caption center dd details dialog dir dt fieldset figcaption h1 h5 h6 hgroup legend li
    option pre search summary tbody tfoot th thead tr""".split()  # noqa: SIM905 (a list literal takes a line per word)
_BREAKS = "br|hr"
BLOCKS = frozenset((*_NAMED, *_PLAIN))
# Whoever changes what the stylesheet walks changes `app.parse.html.prune` too, which counts the same blocks.
CELLS = frozenset({"td", "th"})
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
# Noncharacters: no text holds them by right, and one that does is only laid out oddly.
_OPEN, _NAMES_END, _CLOSE, _LINK, _LINK_END, _BREAK = "\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5"
_MARKS = re.compile(f"([{_OPEN}{_CLOSE}{_LINK}{_LINK_END}{_BREAK}])")
_SENTENCE_ENDS = frozenset(".!?…:;。！？”\"')»")
_LONG_BYTES, _SENTENCE_BYTES = 80, 40  # of UTF-8: a script with fewer letters a word has more bytes a letter


@dataclass(slots=True)
class Line:
    """Text between two edges. `glued`: it continues the row of the line before."""

    block: int
    text: str
    linked: int
    prose: int
    glued: bool


@dataclass(slots=True)
class Blocks:
    """Blocks in document order, as parallel lists; block 0 is the document. All sizes are characters.

    parents       the index of the block around each; of block 0, itself
    tags, names   element name; class, id, role and itemprop in one string
    sizes, links, prose   of the block and all below: text, linked text, text of lines that read like sentences
    cards         headings that are links from end to end, of the block and all below
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
    marked = str((_own.everything if with_boilerplate else _own.content)(root))
    blocks = Blocks()
    _lay_out(blocks, marked)
    _add_up(blocks)
    return blocks


def _lay_out(blocks: Blocks, marked: str) -> None:
    """Turn marks into blocks and lines."""
    parents, tags, names, lines = blocks.parents, blocks.tags, blocks.names, blocks.lines
    pieces = _MARKS.split(marked)
    runs = [pieces[0]] if pieces[0] else []
    stack, at, linked, depth, glued = [0], 0, 0, 0, False
    for mark, run in zip(pieces[1::2], pieces[2::2], strict=True):
        if mark == _LINK:
            depth += 1
        elif mark == _LINK_END:
            depth = max(0, depth - 1)
        else:
            if runs:
                if text := " ".join("".join(runs).split()):
                    lines.append(Line(at, text, min(linked, len(text)), 0, glued))
                    glued = True
                runs, linked = [], 0
            tag = ""
            if mark == _OPEN:
                head, found, run = run.partition(_NAMES_END)
                tag, _, named = head.partition(" ")
                if found:
                    parents.append(at)
                    tags.append(tag)
                    names.append(named)
                    at = len(tags) - 1
                    stack.append(at)
                else:
                    run = head
            elif mark == _CLOSE and len(stack) > 1:
                tag = tags[stack.pop()]
                at = stack[-1]
            glued = glued and tag in CELLS
        if run:
            runs.append(run)
            if depth:
                linked += len(run.strip())
    if text := " ".join("".join(runs).split()):
        lines.append(Line(at, text, min(linked, len(text)), 0, glued))


def _add_up(blocks: Blocks) -> None:
    count = len(blocks.tags)
    sizes, links, prose, cards = ([0] * count for _ in range(4))
    for line in blocks.lines:
        at, size = line.block, len(line.text)
        sizes[at] += size
        links[at] += line.linked
        line.prose = _prose(line, size)
        prose[at] += line.prose
        if line.linked * 10 >= size * 9 and blocks.tags[at] in HEADINGS:
            cards[at] += 1
    parents = blocks.parents
    for at in range(count - 1, 0, -1):
        above = parents[at]
        sizes[above] += sizes[at]
        links[above] += links[at]
        prose[above] += prose[at]
        cards[above] += cards[at]
    blocks.sizes, blocks.links, blocks.prose, blocks.cards = sizes, links, prose, cards


def _prose(line: Line, size: int) -> int:
    """Characters of the line that stand outside links, if it reads like a sentence; else 0."""
    own = size - line.linked
    if own < line.linked or own < _SENTENCE_BYTES // 3:
        return 0
    weight = own if line.text.isascii() else own * len(line.text.encode("utf-8", "replace")) // size
    if weight >= _LONG_BYTES or (weight >= _SENTENCE_BYTES and line.text[-1] in _SENTENCE_ENDS):
        return own
    return 0


def _block(tag: str) -> str:
    named = "<xsl:value-of select=\"concat(' ', @class, ' ', @id, ' ', @role, ' ', @itemprop)\"/>"
    return (
        f'<xsl:template match="{tag}"><xsl:text>{_OPEN}{tag}</xsl:text>{named if tag in _NAMED else ""}'
        f"<xsl:text>{_NAMES_END}</xsl:text><xsl:apply-templates/><xsl:text>{_CLOSE}</xsl:text></xsl:template>"
    )


def _stylesheet(left_out: str, walked: str = "") -> etree.XSLT:
    templates = "".join(map(_block, (*_NAMED, *_PLAIN, *filter(None, walked.split("|")))))
    return etree.XSLT(
        etree.fromstring(
            f"""<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
            <xsl:output method="text"/>{templates}
            <xsl:template match="a"><xsl:text>{_LINK}</xsl:text><xsl:apply-templates/><xsl:text>{_LINK_END}</xsl:text></xsl:template>
            <xsl:template match="{_BREAKS}"><xsl:text>{_BREAK}</xsl:text></xsl:template>
            <xsl:template match="{left_out}" priority="1"/>
            </xsl:stylesheet>"""
        )
    )


class _Stylesheets(threading.local):
    """Compiled objects, one set per thread: lxml locks them while they work, and recompiles a stylesheet of another thread."""

    def __init__(self) -> None:
        self.content = _stylesheet(f"{UNREADABLE}|{BOILERPLATE}")
        self.everything = _stylesheet(UNREADABLE, "nav|header|footer|aside|menu")


_own = _Stylesheets()
