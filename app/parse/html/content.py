"""Judges which blocks of a page are its content, and which are navigation, teasers, comments and the like around it.

Evidence is weighed. A name (class, id, role), the share of linked text and titles that are links speak against a block;
headings, sentences and what introduces a list speak for it, and outvote them: a block that holds a heading with
sentences under it stays. Each judgement is undone as a whole where too little would be left: a list of links *is* the
content of an index page. Comments are the content of a page that declares itself a discussion. The thresholds are our
own; `bench/main_text_sample.py` shows what they yield. Link density: Kohlschütter et al.,
Boilerplate Detection using Shallow Text Features (2010).
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from app.parse.html.blocks import (
    CELLS,
    ENOUGH_CHARS,
    HEADINGS,
    QUESTIONS,
    THREAD,
    Blocks,
    is_named_main,
)

# Words of class names, ids and roles. Anything but a letter parts them: "related-posts", "post_related", "js-share".
# The first kind says what a block is; the second, used for parts of an article too, yields to sentences.
_AROUND = re.compile(
    r"""(?<![a-z])(?:
    comments?|commentlist|disqus|respond|replies|reactions?|cookies?|consent|gdpr|modal|dialog|alertdialog|popup
    |newsletter|subscribe|subscription|related|relatedposts|recommend(?:ed|ations?|s)?|recirc|recirculation|trending
    |ads?|advert|advertisement|advertising|adslot|adsense|outbrain|taboola|sponsor|sponsored|sponsors|teasers?
    |shar(?:e|es|ing|ebar|ethis|edaddy)|socials?|addthis|addtoany|footer|ft|navheader|navfooter|sidebar|sphinxsidebar
    |breadcrumbs?|crumbs?|pagination|pager|copyright|disclaimer
    )(?![a-z])""",
    re.VERBOSE,
)
_PERHAPS_AROUND = re.compile(
    r"""(?<![a-z])(?:
    nav|navbar|navbox|navigation|menu|menubar|submenu|mainmenu|paging|skip|masthead|topbar|header|hd|rail|banner
    |contentinfo|complementary|search|toolbar|toolbox|toc|overlay|tooltip|toast|follow|print(?:footer|only)|noprint
    |popular|latest|promos?|promotion|most(?=[-_]?(?:read|viewed|popular))
    |more(?=[-_](?:from|stories|news|articles|posts|links|on|in|like))
    |(?:read|see)[-_](?:more|next|also)|also[-_]read|up[-_]next|next[-_]up
    |sign[-_]?up|log[-_]?in|sign[-_]?in|register|donate|(?<!elementor-)widgets?
    |tags?|taglist|tagcloud|catlinks|byline|authors?|bio|dateline|timestamp|meta|postmeta|editsection|hatnote
    |credits?|legal|ratings?|votes?
    )(?![a-z])""",
    re.VERBOSE,
)
_TALK = re.compile(r"(?<![a-z])(?:comments?|commentlist|replies|respond)(?![a-z])", re.IGNORECASE)
_ANY = re.compile(f"(?:{_AROUND.pattern})|(?:{_PERHAPS_AROUND.pattern})", re.VERBOSE)
_BODY = re.compile(
    r"""(?<![a-z])(?:
    (?:article|entry|post|story|content|body|news|blog|page)[-_]{0,2}(?:body|content|text|copy)
    |e-content|markdown-body|rich-?text)(?![a-z-])""",
    re.VERBOSE,
)
_WORD = re.compile(r"[^\W_]+")
# What is judged by its links. An item or a paragraph of a list is not: a list is kept or left as a whole.
_BOXES = frozenset(
    {"ul", "ol", "dl", "div", "section", "table", "tbody", "tr", "td", "p", "form", "article", "figure", "header"}
)
_SUBHEADINGS = HEADINGS - {"h1"}
# A table that holds one of these is there for the looks; its cells are judged like other blocks.
_LAYOUT = frozenset({"table", "h1", "h2", "h3", "form", "article", "main"})
_LEAST_SHARE = 8  # of the sentences, one part in so many must stay; of the text of a page without, twice that
_FAIR_SHARE = 4  # <main> counts when it holds at least one part in so many of the page's text
_INDEX_SHARE = 4  # where sentences are a smaller part of what holds the content, titles and links are it
_FEWEST_CARDS, _CARD_PROSE = 3, 200  # teasers: at least so many, and so many characters after the title of each
_PART_PROSE = 300  # of a block whose name may be that of a part of the article
_TITLE_LINES = 2
_LINES_BEFORE = 20  # of a comment: blocks that nest look no farther back, each of them
_LEAST = 2  # rows of a table of data without a header, and cells of a row
_CELL_CHARS = 80  # a cell with fewer is no column of navigation
_INTRODUCING = frozenset(":：；;")  # ends of a text
_NONE, _PERHAPS, _SURE = 0, 1, 2  # what names say of a block: whether it stands around the content


def kept(blocks: Blocks) -> list[bool]:
    """Whether each block is content. Never none of them, as long as there is text."""
    if blocks.is_all or not blocks.sizes[0]:
        return [True] * len(blocks.tags)
    outside = shown(blocks)
    top = _scope(blocks, outside)
    if blocks.thread != THREAD:
        keep = _judged(blocks, outside, top)
        if blocks.thread != QUESTIONS or _prose(blocks, keep) * 2 >= blocks.prose[top]:
            return keep
    blocks.names = [names and _TALK.sub("", names) for names in blocks.names]
    return _judged(blocks, outside, top)


def _judged(blocks: Blocks, outside: list[bool], top: int) -> list[bool]:
    """Judge the blocks within one by names and links; by fewer of these where too little would be left."""
    within = _within(blocks, top)
    scoped = [False] * top + outside[top : within.stop] + [False] * (len(blocks.tags) - within.stop)
    is_index = top and blocks.prose[top] * _INDEX_SHARE < blocks.sizes[top]
    by_links = not is_index
    for rules in (_Rules(True, by_links), _Rules(False, by_links), _Rules(True, False)):
        keep = _without(blocks, scoped, within, rules)
        if _is_enough(blocks, keep, top):
            return keep
    return scoped


class _Rules(NamedTuple):
    """Blocks are judged by their names, by the links in them, or by both."""

    by_names: bool
    by_links: bool


def shown(blocks: Blocks) -> list[bool]:
    """Whether each block stands outside the landmarks that are left out."""
    outside = [True] * len(blocks.tags)
    for at in blocks.left:
        outside[at] = False
    if blocks.left:
        for at, above in enumerate(blocks.parents):
            if not outside[above]:
                outside[at] = False
    return outside


def _is_enough(blocks: Blocks, keep: list[bool], top: int) -> bool:
    if blocks.prose[top] >= ENOUGH_CHARS:
        return _prose(blocks, keep) >= max(ENOUGH_CHARS // 2, blocks.prose[top] // _LEAST_SHARE)
    left = sum([len(text) for at, text, _, _, _ in blocks.lines if keep[at]])
    return left > 0 and left * _LEAST_SHARE >= blocks.sizes[top] * 2


def _prose(blocks: Blocks, keep: list[bool]) -> int:
    """The characters of the sentences that are kept."""
    return sum([prose for at, _, _, prose, _ in blocks.lines if prose and keep[at]])


def _scope(blocks: Blocks, outside: list[bool]) -> int:
    """The block that holds the content: main, then the article in it, then what is named an article's body.

    0, the whole page, if none stands out.
    """
    tags, names, prose = blocks.tags, blocks.names, blocks.prose
    top = _lone(blocks, _mains(blocks, outside))
    within = _within(blocks, top)
    articles = [n for n in range(top, within.stop) if tags[n] == "article" and outside[n]] if "article" in tags else []
    if not top:
        top = _lone(blocks, articles)
        within = _within(blocks, top)
    article = _most_of(blocks, within, articles)
    in_article = within if article == top else _within(blocks, article)
    most = prose[article] * 7  # few blocks hold so much of the sentences: names are looked at last
    bodies = [
        n for n in range(top, within.stop) if prose[n] * 10 >= most and names[n] and outside[n] and _is_body(names[n])
    ]
    return _most_of(blocks, in_article, bodies)


def _mains(blocks: Blocks, outside: list[bool]) -> list[int]:
    """Blocks that are, or else are named, the main part of the page."""
    tags, names = blocks.tags, blocks.names
    mains = [n for n, tag in enumerate(tags) if tag == "main" and outside[n]] if "main" in tags else []
    if not mains and "main" in " ".join(names):
        return [n for n, tag in enumerate(tags) if outside[n] and is_named_main(tag, names[n])]
    return mains


def _lone(blocks: Blocks, found: Sequence[int]) -> int:
    """The only one of these blocks, if it holds a fair share of the page's text; else 0."""
    is_fair = len(found) == 1 and blocks.sizes[found[0]] * _FAIR_SHARE >= blocks.sizes[0]
    return found[0] if is_fair else 0


def _most_of(blocks: Blocks, within: range, found: Sequence[int]) -> int:
    """The one of these blocks with most sentences, if it stands in another and holds 0.7 of its; else the other."""
    top, prose = within.start - 1, blocks.prose
    best = max(found, key=lambda n: prose[n], default=top)
    return best if prose[best] and prose[best] * 10 >= prose[top] * 7 and best in within else top


def _within(blocks: Blocks, top: int) -> range:
    """The blocks in `top`: in document order they follow it."""
    return range(top + 1, _end(blocks, top))


def _end(blocks: Blocks, top: int) -> int:
    """The index after the last block within `top`."""
    if not top:
        return len(blocks.tags)
    return next((n for n in range(top + 1, len(blocks.tags)) if blocks.parents[n] < top), len(blocks.tags))


def _without(blocks: Blocks, scoped: list[bool], within: range, rules: _Rules) -> list[bool]:
    """Leave out blocks that stand around the content, with all that is in them."""
    keep = scoped.copy()
    parents, tags, names, prose = blocks.parents, blocks.tags, blocks.names, blocks.prose
    sizes, links, headed = blocks.sizes, blocks.links, blocks.headed
    half = prose[within.start - 1] / 2  # of the sentences: what holds more is the content
    most = sizes[within.start - 1] / 2  # of the text: what holds more, and sentences, is the content for all its links
    tables = _tables(blocks) if "table" in tags else _Tables()
    inner, held = tables.inner, _held(blocks, tables)
    for n in within:
        if not keep[n] or not keep[parents[n]]:
            keep[n] = False
        elif not sizes[n] or headed[n] or prose[n] > half or n in inner or tags[parents[n]] == "pre":
            continue
        elif rules.by_names and (
            (names[n] and (said := _said(names[n])) and _is_named_around(blocks, n, said, is_most=sizes[n] > most))
            or (tags[parents[n]] == "header" and _is_beside_title(blocks, n))
        ):
            keep[n] = False
        elif sizes[n] > most and prose[n] >= ENOUGH_CHARS:
            continue
        elif rules.by_links and links[n] and tags[n] in _BOXES and not _is_part(blocks, n):
            keep[n] = not (_is_dense(blocks, n, tables, held) or _is_cards(blocks, n, held))
    return keep


def _is_part(blocks: Blocks, n: int) -> bool:
    """Whether a block is a part of what is kept or left as a whole: a paragraph of an item, a small cell."""
    tag = blocks.tags[n]
    return (tag == "p" and blocks.tags[blocks.parents[n]] in {"li", "dd", "td", "blockquote"}) or (
        tag == "td" and blocks.sizes[n] < _CELL_CHARS
    )


def _is_beside_title(blocks: Blocks, n: int) -> bool:
    """Whether it stands in the header of an article, and is neither heading nor sentence: author, date, buttons."""
    return not blocks.prose[n] and HEADINGS.isdisjoint(blocks.tags[n : _end(blocks, n)])


def _is_dense(blocks: Blocks, n: int, tables: "_Tables", held: "Mapping[int, _Amounts]") -> bool:
    """Whether a block is links for the most part, and nothing introduces them; tables of data in it aside."""
    size, links = blocks.sizes[n], blocks.links[n]
    if n in held and n not in tables.headed:
        size, links = size - held[n].chars, links - held[n].linked
    if links * 2 <= size or blocks.prose[n] * 3 >= size:
        return False
    if _wraps_one(blocks, n) or blocks.is_grid(blocks.parents[n]):
        return False  # the one, or the whole grid, is judged
    first = blocks.starts[n]
    if _is_titled(blocks, n, first):
        return False
    is_list = blocks.tags[n] in {"ul", "ol", "dl", "table"}
    return not (is_list and (n in tables.headed or _is_introduced(blocks, n, first)))


def _is_titled(blocks: Blocks, n: int, first: int) -> bool:
    """Whether a heading that is no link is among the first lines of a block."""
    left = blocks.sizes[n]
    for at, text, linked, _, _ in blocks.lines[first : first + _TITLE_LINES]:
        if blocks.tags[at] in _SUBHEADINGS and linked * 10 < len(text) * 9:
            return True
        left -= len(text)
        if left <= 0:
            break
    return False


def _wraps_one(blocks: Blocks, n: int) -> bool:
    """Whether all of its text is that of one box in it."""
    inner = n + 1
    if inner == len(blocks.tags) or blocks.parents[inner] != n:
        return False
    return blocks.sizes[inner] == blocks.sizes[n] and blocks.tags[inner] in _BOXES


def _is_introduced(blocks: Blocks, n: int, first: int) -> bool:
    """Whether a list follows a heading, or a sentence beside it, or begins with a term that introduces: "Overrides:".

    first  the list's first line
    """
    at, text, linked, _, _ = blocks.lines[first]
    if blocks.tags[at] == "dt" and not linked and text[-1] in _INTRODUCING:
        return True
    if not first:
        return False
    at, text, linked, read, _ = blocks.lines[first - 1]
    if linked * 2 >= len(text):
        return False
    if blocks.tags[at] in _SUBHEADINGS:
        return True
    while blocks.sizes[blocks.parents[n]] == blocks.sizes[n] and n:  # what only wraps it
        n = blocks.parents[n]
    is_beside = blocks.parents[n] in (at, blocks.parents[at]) and blocks.tags[at] not in CELLS
    return is_beside and (read > 0 or text[-1] in _INTRODUCING)


def _is_cards(blocks: Blocks, n: int, held: "Mapping[int, _Amounts]") -> bool:
    """Whether a block is teasers, tables of data in it aside."""
    cards = blocks.cards[n] - (held[n].cards if n in held else 0)
    return cards >= _FEWEST_CARDS and blocks.prose[n] < _CARD_PROSE * cards


class _Tables(NamedTuple):
    """Tables of data.

    headed   those with a header
    inner    blocks in any of them, which are kept or left with it
    """

    all: frozenset[int] = frozenset()
    headed: frozenset[int] = frozenset()
    inner: frozenset[int] = frozenset()


def _tables(blocks: Blocks) -> _Tables:
    parents, tags = blocks.parents, blocks.tags
    around: dict[int, int] = {}  # blocks in tables, and the table of each
    layout: set[int] = set()
    counts: dict[str, dict[int, int]] = {"th": {}, "td": {}, "tr": {}}  # how many of each table
    for start in [n for n, tag in enumerate(tags) if tag == "table"]:
        if start in around:  # in another one
            continue
        around[start] = start
        for n in range(start + 1, len(tags)):
            above = around.get(parents[n])
            if above is None:  # behind it
                break
            tag = tags[n]
            if tag in _LAYOUT:
                layout.add(above)
            around[n] = n if tag == "table" else above
            if tag in counts:
                counts[tag][above] = counts[tag].get(above, 0) + 1
    headed, cells, rows = counts["th"], counts["td"], counts["tr"]
    of_data = {n for n, most in rows.items() if n in headed or (most >= _LEAST and cells.get(n, 0) >= _LEAST * most)}
    data = frozenset(of_data - layout)
    inner = frozenset(n for n, table in around.items() if n != table and table in data)
    return _Tables(data, frozenset(data & headed.keys()), inner)


class _Amounts(NamedTuple):
    """Contents of tables: characters, those in links, and titles that are links."""

    chars: int
    linked: int
    cards: int


def _held(blocks: Blocks, tables: _Tables) -> dict[int, _Amounts]:
    """Contents of the tables of data with a header in each block that holds some, or is one."""
    held = {n: _Amounts(blocks.sizes[n], blocks.links[n], blocks.cards[n]) for n in tables.headed}
    if held:
        for n in range(max(held), 0, -1):
            above = blocks.parents[n]
            if n in held and above not in tables.all and above not in tables.inner:
                before = held.get(above, _Amounts(0, 0, 0))
                held[above] = _Amounts(*map(sum, zip(before, held[n], strict=True)))
    return held


class _Said(NamedTuple):
    """Verdicts of the names of a block: of its classes and role, and of its id, which is `anchor`."""

    by_class: int
    by_id: int
    anchor: str


def _is_named_around(blocks: Blocks, n: int, names: _Said, *, is_most: bool) -> bool:
    """Whether the names of a block say that it stands around the content, and nothing in it outvotes them."""
    is_heading = blocks.tags[n] in HEADINGS
    said = names.by_class if names.by_class == _SURE or not is_heading else _NONE  # a heading may be a header
    if names.by_id > names.by_class and not is_heading and not _is_slug(blocks, n, names.anchor):
        said = names.by_id
    if said == _SURE:
        return not (blocks.prose[n] and (_is_aside(blocks, n) or _is_lone_comment(blocks, n)))
    if said == _NONE or is_most or blocks.prose[n] >= _PART_PROSE or blocks.titles[n]:
        return False
    return blocks.sizes[n] >= _CELL_CHARS or not blocks.is_grid(blocks.parents[n])


def _is_aside(blocks: Blocks, n: int) -> bool:
    """Whether it is a sidebar of sentences that stands among the paragraphs of a text, as manuals have them."""
    return "sidebar" in blocks.names[n].split() and blocks.parents[n] in blocks.texts


def _is_lone_comment(blocks: Blocks, n: int) -> bool:
    """Whether it is named a comment, alone beside it, and no sentence stands before it there: one of the code's author,
    as references have them. Those of readers follow what they are about, or each other."""
    if n not in blocks.lone_comments:
        return False
    first = blocks.starts[n]
    before = blocks.lines[max(blocks.starts[blocks.parents[n]], first - _LINES_BEFORE) : first]
    return not any(read for _, _, _, read, _ in before)


def _is_slug(blocks: Blocks, n: int, anchor: str) -> bool:
    """Whether the id of a block is made of the heading that it begins with."""
    at, text, *_ = blocks.lines[blocks.starts[n]]
    if blocks.tags[at] not in HEADINGS and blocks.tags[at] != "dt":
        return False
    return "".join(_WORD.findall(anchor)).rstrip("0123456789") in "".join(_WORD.findall(text.lower()))


@lru_cache(maxsize=4096)
def _said(names: str) -> _Said | None:
    """None: nothing."""
    if not _ANY.search(names.lower()):
        return None
    classes, _, rest = names.lower().partition("#")
    anchor, _, more = rest.partition(" ")
    return _Said(_heard(f"{classes} {more}"), _heard(anchor), anchor)


def _heard(names: str) -> int:
    return _SURE if _AROUND.search(names) else _PERHAPS if _PERHAPS_AROUND.search(names) else _NONE


def _is_body(names: str) -> bool:
    return _BODY.search(names.lower()) is not None
