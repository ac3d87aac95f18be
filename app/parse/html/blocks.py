"""Lays a tree out as blocks and lines: which text stands in which block, and how much of it is linked.

The traversal is an XSLT stylesheet, compiled once per thread: libxslt walks the tree in C, without the GIL. It writes
the text with marks where blocks and links begin and end; one loop over these marks makes the lists that
`app.parse.html.content` judges. What elements mean comes from the HTML standard. Linear in the length of the document.
"""

import re
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from lxml import etree

from app.parse import dictionary
from app.parse.html.tree import Element

# `HIDDEN` is our own: what hidden elements are renamed to.
HIDDEN = "hidden"
# Never read by anybody: https://html.spec.whatwg.org/#hidden-elements and the embedded content we do not render.
NEVER_READ = """script style noscript template head title svg iframe object audio video canvas datalist noframes
    noembed""".split()  # noqa: SIM905  # a list literal takes a line per word
UNREADABLE = (*NEVER_READ, "select", "button", "textarea", HIDDEN)
# A form that holds headings, paragraphs, or three long texts is the page itself (ASP.NET wraps all of it in one, SMF
# the posts of a topic).
_WORDS = "text()[not(parent::script or parent::style or parent::option or parent::textarea)]"
_LONG = "substring(normalize-space(.), 120)"
EMPTY_FORM = f"form[not(.//h1|.//h2|.//p|.//main|.//article) and not(descendant::{_WORDS}[{_LONG}][3])]"
# https://schema.org/DiscussionForumPosting: its comments are the posts. https://schema.org/QAPage: answers may be.
THREAD, QUESTIONS = "DiscussionForumPosting", "QAPage"
_ITEM_TYPES = etree.XPath("descendant-or-self::*/@itemtype", smart_strings=False)
_LINKED_DATA = etree.XPath("descendant::script[@type='application/ld+json']/text()", smart_strings=False)
# What stands around a page's content as a rule.
LANDMARKS = ("nav", "header", "footer", "aside", "menu")
# Blocks that may be named for what they are by class, id, role or itemprop.
_NAMED = (
    *("article", "div", "dl", "figure", "form", "main", "ol", "p", "section", "table", "td", "ul", "h2", "h3", "h4"),
    *LANDMARKS,
)
_PLAIN = """address blockquote body caption center dd details dialog dir dt fieldset figcaption h1 h5 h6 hgroup legend
    li option pre search summary tbody tfoot th thead tr""".split()  # noqa: SIM905  # a list literal takes a line per word
BLOCKS = frozenset((*_NAMED, *_PLAIN))
_WALKED = {tag: tag for tag in BLOCKS}  # the one string for each, whose hash is known
# Whoever changes what the stylesheet walks changes `app.parse.html.prune` too, which counts the same blocks.
CELLS = frozenset({"td", "th"})
_LANDMARKS = frozenset(LANDMARKS)
_HOLDERS = _LANDMARKS | {"main", "article"}
ENOUGH_CHARS = 250  # of sentences, for these to be what the page is about
_PARAGRAPHS = 3  # of a landmark, for it to hold content
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
# Control characters, those that stand for nothing in windows-1252 either: no text holds them by right, and one that
# does is only laid out oddly. They take a byte in Python's strings where others make every letter take two.
# A block is _OPEN, its tag and names, _NAMES_END, what is in it, _CLOSE. An _OPEN alone is a break.
_OPEN, _NAMES_END, _CLOSE, _LINK, _LINK_END = "\x8d\x81\x8f\x90\x9d"
_PERMALINKS = frozenset((*"¶#§🔗\u200b↑↩", "↩\ufe0e", *map(chr, range(0xE000, 0xF900))))  # alone in a link; icons
_SENTENCE_ENDS = frozenset(".!?…:;。！？”\"')»")
_MAX_NAME_CHARS = 300
_LONG_BYTES, _SENTENCE_BYTES = 80, 40  # of UTF-8: a script with fewer letters a word has more bytes a letter
_LEAST_PROSE = _SENTENCE_BYTES // 3  # characters
_NOTES = re.compile(r"(?<![a-z])(?:doc-)?(?:foot|end)?notes?(?![a-z])|(?<![a-z])(?:admonition|callout|topic)(?![a-z])")
_CODE = re.compile(r"\w[(<]|<\w+>")  # f(x), List<T>, a <type>
_COLUMNS = range(2, 7)  # of a table that is none by its elements
_CARD_WORDS, _CARD_CHARS = 4, 15  # of a title; the latter where words are not set apart


# Text between two edges: block, text, characters in links, characters outside if it reads like a sentence, and whether
# it continues the row of the line before. A plain tuple: a named one takes five times as long to make.
Line: TypeAlias = tuple[int, str, int, int, bool]


@dataclass
class Blocks:
    """Blocks in document order, as parallel lists; block 0 is the document. All sizes are characters.

    parents       the index of the block around each; of block 0, itself
    tags, names   element name; class, role, itemprop and "#" with the id in one string, of 300 characters at most
    starts        how many lines stand before each
    sizes, links, prose   of the block and all below: text, linked text, and what outside links reads like sentences
    cards         titles that are links from end to end, as teasers have them, of the block and all below
    headed        headings with sentences under them, of the block and all below
    titles        h1 that are no links, of the block and all below
    paragraphs    those that read like sentences, of the block and all below
    mains         main, and articles of some length, of the block and all below
    left          landmarks that are left out; nothing of them counts in the blocks above
    is_all        nothing is left out but `NEVER_READ`: there was nothing else
    thread        THREAD or QUESTIONS where the page declares one, and blocks are named for comments; else ""
    """

    parents: list[int] = field(default_factory=lambda: [0])
    tags: list[str] = field(default_factory=lambda: ["html"])
    names: list[str] = field(default_factory=lambda: [""])
    starts: list[int] = field(default_factory=lambda: [0])
    lines: list[Line] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    links: list[int] = field(default_factory=list)
    prose: list[int] = field(default_factory=list)
    cards: list[int] = field(default_factory=list)
    headed: list[int] = field(default_factory=list)
    titles: list[int] = field(default_factory=list)
    paragraphs: list[int] = field(default_factory=list)
    mains: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    is_all: bool = False
    thread: str = ""
    _grids: dict[int, bool] = field(default_factory=dict)

    @cached_property
    def texts(self) -> frozenset[int]:
        """Blocks with two and more paragraphs right below them that read like sentences."""
        found = {at for at, _, _, read, _ in self.lines if read and self.tags[at] in ("p", "div")}
        return frozenset(above for above, count in Counter(self.parents[at] for at in found).items() if count > 1)

    @cached_property
    def lone_comments(self) -> frozenset[int]:
        """Blocks whose class, role or id is the word itself, and none beside them."""
        found = [
            at
            for at, names in enumerate(self.names)
            if "comment" in names and not {"comment", "#comment"}.isdisjoint(names.split())
        ]
        beside = Counter([self.parents[at] for at in found])
        return frozenset(at for at in found if beside[self.parents[at]] == 1)

    @cached_property
    def _named(self) -> dict[int, list[str]]:
        """The names of what stands right in each block, where all of it is named."""
        named: dict[int, list[str]] = {}
        bare = {above for above, names in zip(self.parents[1:], self.names[1:], strict=True) if not names}
        for above, names in zip(self.parents, self.names, strict=True):
            if names and above not in bare:
                named.setdefault(above, []).append(names)
        return named

    def is_grid(self, at: int) -> bool:
        """Whether a block's children are the cells of a table by their classes, in rows of two columns and more."""
        if at not in self._grids:
            self._grids[at] = _is_grid(self._named.get(at, ()))
        return self._grids[at]

    def is_aside(self, at: int) -> bool:
        """Whether it is a sidebar that stands among the paragraphs of a text, as manuals have them."""
        return "sidebar" in self.names[at].split() and self.parents[at] in self.texts


def _is_grid(names: Sequence[str]) -> bool:
    """Whether classes repeat in rows (first, second, first, second): each column has some that no other has."""
    if len(names) < 2 * min(_COLUMNS):
        return False
    classes = [frozenset(each.split()) for each in names]
    for width in _COLUMNS:
        if len(names) % width == 0 and len(names) >= 2 * width:
            columns = [frozenset.intersection(*classes[at::width]) for at in range(width)]
            common = Counter(word for column in columns for word in column)
            if all(any(common[word] == 1 for word in column) for column in columns):
                return True
    return False


def of(root: Element, *, whole: bool = False) -> Blocks:
    """The blocks of the tree. Landmarks are left out unless they hold content, or nothing else does.

    whole  leaves nothing out that is shown

    Hidden elements and noscript are renamed in the tree where they hold what the page is about: a script would show it.
    """
    shown = _content(root, whole=whole)
    shown.thread = _declared_thread(root, " ".join(shown.names))
    return shown


def _declared_thread(root: Element, names: str) -> str:
    """The kind of discussion that schema.org types declare, in JSON-LD or microdata; asked where names say comments."""
    if not any(word in names for word in ("omment", "epl", "espond")):
        return ""
    types = " ".join([*_ITEM_TYPES(root), *_LINKED_DATA(root)])
    return next((each for each in (THREAD, QUESTIONS) if each in types), "")


def _content(root: Element, *, whole: bool) -> Blocks:
    shown = _laid_out(_own.sheets().content(root), whole=whole)
    if not shown.lines:  # nothing but forms, or what is hidden
        shown = _laid_out(_own.sheets().everything(root), whole=True)
        shown.is_all = True
    if shown.prose[0] >= ENOUGH_CHARS:
        return shown
    unshown = list(root.iter("noscript", HIDDEN))
    chars = sum([len(etree.tostring(e, method="text", encoding="unicode", with_tail=False)) for e in unshown])
    if chars < ENOUGH_CHARS:
        return shown
    tags = [element.tag for element in unshown]
    for element in unshown:
        element.tag = "div"
    everything = _laid_out(_own.sheets().content(root), whole=whole)
    if everything.prose[0] >= shown.prose[0] + ENOUGH_CHARS:
        return everything
    for element, tag in zip(unshown, tags, strict=True):
        element.tag = tag
    return shown


def _laid_out(result: etree._XSLTResultTree, *, whole: bool) -> Blocks:  # lxml documents no other name
    blocks = Blocks()
    _lay_out(blocks, result.getroot().text or "")
    _add_up(blocks, frozenset() if whole else _LANDMARKS)
    return blocks


def _lay_out(blocks: Blocks, marked: str) -> None:
    """Turn marks into blocks and lines. Every piece of text lies between two edges, so it is one line."""
    parents, tags, names, lines, starts = blocks.parents, blocks.tags, blocks.names, blocks.lines, blocks.starts
    at, in_link, glued, in_pre = 0, False, False, 0
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
            starts.append(len(lines))
            if tag == "pre" and not in_pre:
                in_pre = at
            glued = glued and tag in CELLS
        else:
            rest, glued = piece, False
        is_first = True
        for run in rest.split(_CLOSE):
            if is_first:
                is_first = False
            else:
                glued = glued and tags[at] in CELLS
                if at == in_pre:
                    in_pre = 0
                at = parents[at]
            if run and not run.isspace():
                linked = 0
                if in_link or (not run.isascii() and (_LINK in run or _LINK_END in run)):
                    run, linked, in_link = _unlinked(run, in_link)
                if text := _lines_of(run) if in_pre else " ".join(run.split()):
                    own = len(text) - linked
                    if own < linked or own < _LEAST_PROSE or not (own >= _LONG_BYTES or _is_prose(text, own)):
                        own = 0
                    lines.append((at, text, linked and _leading(text, linked), own, glued))
                    glued = True


def is_permalink(text: str) -> bool:
    """Whether a link of such a text leads to where it stands."""
    return text.strip() in _PERMALINKS


def _leading(text: str, linked: int) -> int:
    """The characters of a line in links that lead elsewhere: none in code, such as a function whose types are links.
    Linear."""
    if linked == len(text):
        return linked
    typed = text.partition("::")[2]  # f :: A -> B
    is_code = (
        text.startswith(("::", "->"))
        or "->" in typed
        or "=>" in typed
        or (("(" in text or "<" in text) and _CODE.search(text))
    )
    return 0 if is_code else linked


def _lines_of(run: str) -> str:
    """The text of a pre: its lines, without the white space at their ends."""
    return "\n".join([line.rstrip() for line in run.split("\n")]).strip("\n")


def _unlinked(run: str, in_link: bool) -> tuple[str, int, bool]:
    """The run without marks of links and without permalinks, how many characters are linked, and whether a link goes on
    after it.
    """
    if not in_link:
        before, _, rest = run.partition(_LINK)
        inner, ends, after = rest.partition(_LINK_END)
        if ends and _LINK not in rest and _LINK_END not in before + after:  # one link, as mostly
            linked = inner.strip()
            return (before + after, 0, False) if linked in _PERMALINKS else (before + inner + after, len(linked), False)
    first, *parts = run.split(_LINK)
    texts, size, goes_on = [first], 0, False
    if in_link:
        texts, parts = [], [first, *parts]
    for n, part in enumerate(parts):
        inner, end, after = part.partition(_LINK_END)
        goes_on = not end
        linked, is_whole = inner.strip(), end and (n > 0 or not in_link)
        if is_whole and linked in _PERMALINKS:
            inner, linked = "", ""
        size += len(linked)
        texts += [inner, after]
    return "".join(texts).replace(_LINK_END, ""), size, goes_on


def _add_up(blocks: Blocks, left_out: frozenset[str]) -> None:
    """Sum up what is in each block.   left_out: tags that do not count in the blocks above, unless they are outvoted"""
    count, parents, tags = len(blocks.tags), blocks.parents, blocks.tags
    sizes, links, prose, cards = [0] * count, [0] * count, [0] * count, [0] * count
    headed, titles, paragraphs, mains = [0] * count, [0] * count, [0] * count, [0] * count
    blocks.sizes, blocks.links, blocks.prose, blocks.cards = sizes, links, prose, cards
    blocks.headed, blocks.titles, blocks.paragraphs, blocks.mains = headed, titles, paragraphs, mains
    blocks.left = []
    _count_lines(blocks)
    within = _within_content(blocks)
    for at in range(count - 1, 0, -1):
        if size := sizes[at]:  # most blocks have no links
            tag, above = tags[at], parents[at]
            if tag in _HOLDERS:
                if tag in left_out and not _is_outvoted(blocks, at, is_within=within[at]):
                    blocks.left.append(at)
                    continue
                mains[at] += tag == "main" or (tag == "article" and prose[at] >= ENOUGH_CHARS)
            sizes[above] += size
            if mains[at]:
                mains[above] += mains[at]
            if read := prose[at]:
                prose[above] += read
                paragraphs[above] += paragraphs[at]
                headed[above] += headed[at]
            if titles[at]:
                titles[above] += titles[at]
            if linked := links[at]:
                links[above] += linked
                cards[above] += cards[at]


def _count_lines(blocks: Blocks) -> None:
    parents, tags, sizes, links, prose = blocks.parents, blocks.tags, blocks.sizes, blocks.links, blocks.prose
    heading = 0  # the last one, as long as no sentence followed
    for at, text, linked, read, _ in blocks.lines:
        size, tag = len(text), tags[at]
        sizes[at] += size
        if linked and tag != "pre":  # links within code lead to what it names
            links[at] += linked
            if linked * 10 >= size * 9:
                if tag in HEADINGS:
                    heading = 0
                if tag != "h1" and (tag in HEADINGS or _is_title(text)):
                    blocks.cards[at] += 1
                continue
        if tag in HEADINGS:
            heading = at
            blocks.titles[at] += tag == "h1"
        if read:
            prose[at] += read
            blocks.paragraphs[at] += tag == "p"
            if heading:
                above = _above_both(parents, heading, at)
                while heading != above:  # what wraps the heading alone
                    blocks.headed[heading] += 1
                    heading = parents[heading]
                blocks.headed[above] += 1
                heading = 0


def _is_outvoted(blocks: Blocks, at: int, *, is_within: bool) -> bool:
    """Whether a landmark holds content.   is_within: it stands in main or an article"""
    is_title = blocks.tags[at] == "header" and (is_within or min(blocks.titles[at], blocks.prose[at]) > 0)
    if blocks.tags[at] == "aside" and (_NOTES.search(blocks.names[at].lower()) or blocks.is_aside(at)):
        return blocks.prose[at] > 0 or blocks.links[at] * 3 < blocks.sizes[at] * 2
    return is_title or blocks.mains[at] > 0 or blocks.paragraphs[at] >= _PARAGRAPHS


def _within_content(blocks: Blocks) -> list[bool]:
    """Whether each block stands in main or an article."""
    within = [False] * len(blocks.tags)
    if "header" in blocks.tags:
        for at, (tag, names, above) in enumerate(zip(blocks.tags, blocks.names, blocks.parents, strict=True)):
            within[at] = within[above] or tag in ("main", "article") or ("main" in names and is_named_main(tag, names))
    return within


def is_named_main(tag: str, names: str) -> bool:
    """Whether a class, an id or a role says that a block is the page's main one."""
    return "main" in names and tag in ("div", "section", "article") and not {"main", "#main"}.isdisjoint(names.split())


def _above_both(parents: list[int], one: int, other: int) -> int:
    """The block around both. Each step leaves a block that closed, or opened, between the two: linear in all."""
    while one != other:
        if one > other:
            one = parents[one]
        else:
            other = parents[other]
    return one


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


def _stylesheet(left_out: Iterable[str]) -> etree.XSLT:
    templates = "".join(map(_block, (*_NAMED, *_PLAIN)))
    return etree.XSLT(
        regexp=False,  # lxml would register functions for them with each page
        xslt_input=etree.fromstring(
            f"""<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
            <xsl:template match="/"><marked><xsl:apply-templates/></marked></xsl:template>{templates}
            <xsl:template match="@*"/>
            <xsl:template match="@class|@role|@itemprop"><xsl:text> </xsl:text><xsl:value-of select="."/></xsl:template>
            <xsl:template match="@id"><xsl:text> #</xsl:text><xsl:value-of select="."/></xsl:template>
            <xsl:template match="a[@href]">
                <xsl:text>{_LINK}</xsl:text><xsl:apply-templates/><xsl:text>{_LINK_END}</xsl:text>
            </xsl:template>
            <xsl:template match="br|hr"><xsl:text>{_OPEN}</xsl:text></xsl:template>
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
        self.content = _stylesheet((*UNREADABLE, EMPTY_FORM))
        self.everything = _stylesheet(NEVER_READ)

    def sheets(self) -> "_Stylesheets":
        if self._dictionary != dictionary.number():
            self.__init__()  # type: ignore[misc]  # as for a new thread
        return self


_own = _Stylesheets()
