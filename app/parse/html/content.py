"""Judges which blocks of a page are its content, and which are navigation, teasers, comments and the like around it.

Evidence is weighed. A name (class, id, role), the share of linked text and titles that are links speak against a block;
headings, sentences and what introduces a list speak for it, and outvote them: a block that holds a heading with
sentences under it stays. Each judgement is undone as a whole where too little would be left: a list of links *is* the
content of an index page. Comments are the content of a page that declares itself a discussion. The thresholds are our
own; `bench/main_text_sample.py` shows what they yield. Link density: Kohlschütter et al.,
Boilerplate Detection using Shallow Text Features (2010).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from app.parse.html import names
from app.parse.html.blocks import CELLS, ENOUGH_CHARS, HEADINGS, QUESTIONS, THREAD, Blocks, is_named_main

# What is judged by its links. An item or a paragraph of a list is not: a list is kept or left as a whole.
_BOXES = frozenset(
    {"ul", "ol", "dl", "div", "section", "table", "tbody", "tr", "td", "p", "form", "article", "figure", "header"}
)
_SUBHEADINGS = HEADINGS - {"h1"}
# A table that holds one of these is there for the looks; its cells are judged like other blocks.
_LAYOUT = frozenset({"table", "h1", "h2", "h3", "form", "article", "main"})
_LEAST_SHARE = 8  # of the sentences, one part in so many must stay; of the text of a page without, twice that
_FAIR_SHARE = 4  # <main> counts when it holds at least one part in so many of the page
_INDEX_SHARE = 4  # where sentences are a smaller part of what holds the content, titles and links are it
_FEWEST_CARDS, _CARD_PROSE = 3, 200  # teasers: at least so many, and so many characters after the title of each
_TITLE_LINES = 2
_WRAPS_MOST = 20  # of a list, that hold little else
_LEAST = 2  # rows of so many cells and more, in a table of data that nothing heads; half of its rows are such
_INTRODUCING = frozenset(":：；;")  # ends of a text


def kept(blocks: Blocks) -> list[bool]:
    """Whether each block is content. Never none of them, as long as there is text."""
    if blocks.is_all or not blocks.sizes[0]:
        return [True] * len(blocks.tags)
    outside = shown(blocks)
    top = _scope(blocks, outside)
    if blocks.thread != THREAD:
        keep = _judged(blocks, outside, top)
        if blocks.thread != QUESTIONS or _prose(blocks, keep) * 2 >= blocks.prose[top]:
            return _with_title(blocks, keep, top)
    blocks.names = list(map(names.without_talk, blocks.names))
    return _with_title(blocks, _judged(blocks, outside, top), top)


def _with_title(blocks: Blocks, keep: list[bool], top: int) -> list[bool]:
    """With the page's only h1, if this stands before what holds the content, or in a header where nothing does."""
    if not blocks.titles[top] and len(found := _h1s(blocks)) == 1:
        (first,), end = found, _end(blocks, found[0])
        if end <= top or (not top and any(blocks.tags[n] == "header" for n in _around(blocks, first, 0))):
            keep[first:end] = [True] * (end - first)
    return keep


def _around(blocks: Blocks, at: int, top: int) -> Iterator[int]:
    """A block, and those around it, up to `top`."""
    while at > top:
        yield at
        at = blocks.parents[at]


def _h1s(blocks: Blocks) -> list[int]:
    """The h1 that are no links."""
    found = [at for at, text, linked, *_ in blocks.lines if blocks.tags[at] == "h1" and linked * 10 < len(text) * 9]
    return list(dict.fromkeys(found))


def _judged(blocks: Blocks, outside: list[bool], top: int) -> list[bool]:
    """Judge the blocks within one by names and links; by fewer of these where too little would be left."""
    within = _within(blocks, top)
    scoped = [False] * top + outside[top : within.stop] + [False] * (len(blocks.tags) - within.stop)
    is_index = top and blocks.prose[top] * _INDEX_SHARE < blocks.sizes[top]
    by_links = not is_index
    for rules in (_Rules(True, by_links), _Rules(False, by_links), _Rules(True, False)):
        keep = _without(blocks, scoped, within, rules)
        if rules.by_names:
            _drop_hollow(blocks, keep, within)
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


def _drop_hollow(blocks: Blocks, keep: list[bool], within: range) -> None:
    """Leave out blocks that are named for comments and the like, and have their heading left: what is under it went."""
    found = [
        n
        for n in within
        if keep[n] and blocks.headed[n] and (said := names.of(blocks.names[n])) and said.by_class == names.SURE
    ]
    if not found:
        return
    left = [0] * len(keep)
    for at, _, _, prose, _ in blocks.lines:
        left[at] += prose * keep[at]
    _with_inner(blocks, left)
    for n in found:
        if keep[n] and not left[n]:  # not one in another that went: that would be quadratic where they nest
            end = _end(blocks, n)
            keep[n:end] = [False] * (end - n)


def _scope(blocks: Blocks, outside: list[bool]) -> int:
    """The block that holds the content: main, then the article in it, then what is named an article's body.

    0, the whole page, if none stands out.
    """
    tags, named, prose = blocks.tags, blocks.names, blocks.prose
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
        n
        for n in range(top, within.stop)
        if prose[n] * 10 >= most and named[n] and outside[n] and names.is_body(named[n])
    ]
    return _most_of(blocks, in_article, bodies)


def _mains(blocks: Blocks, outside: list[bool]) -> list[int]:
    """Blocks that are, or else are named, the main part of the page."""
    tags, named = blocks.tags, blocks.names
    mains = [n for n, tag in enumerate(tags) if tag == "main" and outside[n]] if "main" in tags else []
    if not mains and "main" in " ".join(named):
        return [n for n, tag in enumerate(tags) if outside[n] and is_named_main(tag, named[n])]
    return mains


def _lone(blocks: Blocks, found: Sequence[int]) -> int:
    """The only one of these blocks, if it holds a fair share of the page's text, and of its sentences or sections.

    These are asked for where the page has enough sentences to tell.
    """
    if len(found) != 1:
        return 0
    text, prose, headed = (
        each[found[0]] * _FAIR_SHARE >= each[0] for each in (blocks.sizes, blocks.prose, blocks.headed)
    )
    return found[0] if text and (prose or headed or blocks.prose[0] < ENOUGH_CHARS) else 0


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
    parents, tags, named, prose = blocks.parents, blocks.tags, blocks.names, blocks.prose
    sizes, links, headed = blocks.sizes, blocks.links, blocks.headed
    half = prose[within.start - 1] / 2  # of the sentences: what holds more is the content
    most = sizes[within.start - 1] / 2  # of the text: what holds more, and sentences, is the content for all its links
    tables = _tables(blocks) if "table" in tags else _Tables()
    inner, held, titled = tables.inner, _held(blocks, tables), _titled(blocks, within)
    heads = _with_inner(blocks, [int(tag in HEADINGS) for tag in tags]) if "header" in tags else ()
    own = [sizes[n] * (tag == "pre") for n, tag in enumerate(tags)] if "pre" in tags else []
    code, comments = _with_inner(blocks, own) or [0] * len(tags), frozenset[int]()
    if "-comment" in " ".join(named):
        headings = [n for n, (at, *_) in enumerate(blocks.lines) if tags[at] in HEADINGS]
        comments = names.comments_of_code(named, blocks.starts, headings)
    for n in within:
        if not keep[n] or not keep[parents[n]]:
            keep[n] = False
        elif not sizes[n] or headed[n] or prose[n] > half or n in inner or tags[parents[n]] == "pre":
            continue
        elif rules.by_names and (
            (
                named[n]
                and n not in comments
                and names.is_around(
                    blocks,
                    n,
                    is_needed=sizes[n] > most or n in titled or code[n] * 2 > sizes[n] or _is_data(blocks, n, held),
                )
            )
            or (tags[parents[n]] == "header" and not (prose[n] or heads[n]))  # author, date, buttons of an article
        ):
            keep[n] = False
        elif sizes[n] > most and prose[n] >= ENOUGH_CHARS:
            continue
        elif rules.by_links and links[n] and tags[n] in _BOXES and n not in titled and not _is_part(blocks, n):
            keep[n] = not (_is_dense(blocks, n, tables, held) or _is_cards(blocks, n, held))
    return keep


def _titled(blocks: Blocks, within: range) -> frozenset[int]:
    """The title of what is `within`, a heading, and the blocks around it.

    It is the only h1; where there is none the first heading, before any sentence, unless a menu has it.
    """
    top = within.start - 1
    if blocks.titles[top]:
        h1s = [at for at in _h1s(blocks) if at in within]
        at = h1s[0] if len(h1s) == 1 else top
    else:
        at = _first_heading(blocks, within)
        around = blocks.parents[at]
        if not top and blocks.links[around] * 2 > blocks.sizes[around]:  # it may be a menu's
            at = top
    return frozenset(_around(blocks, at, top))


def _first_heading(blocks: Blocks, within: range) -> int:
    """The first heading that is no link, before any sentence; if there is none, the block around all of them."""
    for at, text, linked, read, _ in islice(blocks.lines, blocks.starts[within.start - 1], None):
        if at >= within.stop or read:
            break
        if blocks.tags[at] in HEADINGS and linked * 10 < len(text) * 9:
            return at
    return within.start - 1


def _is_part(blocks: Blocks, n: int) -> bool:
    """Whether a block is a part of what is kept or left as a whole.

    That is a part of a heading, a paragraph or a list of an item, a small cell, a caption.
    """
    tag, above = blocks.tags[n], blocks.tags[blocks.parents[n]]
    return (
        above in HEADINGS
        or (tag == "p" and above in {"li", "dd", "td", "blockquote"})
        or (tag in {"ul", "ol"} and above == "li")
        or (tag == "td" and blocks.sizes[n] < names.CELL_CHARS)
        or "caption" in blocks.names[n].split()
    )


def _with_inner(blocks: Blocks, own: list[int]) -> list[int]:
    """A number for each block, with those of the blocks in it."""
    for n in range(len(own) - 1, 0, -1):
        own[blocks.parents[n]] += own[n]
    return own


def _is_dense(blocks: Blocks, n: int, tables: "_Tables", held: "Mapping[int, _Amounts]") -> bool:
    """Whether a block is links for the most part, and nothing introduces them; tables of data in it aside."""
    size, links = blocks.sizes[n], blocks.links[n]
    if _is_data(blocks, n, held):
        return False
    if n in held and n not in tables.headed:
        size, links = size - held[n].chars, links - held[n].linked
    if links * 2 <= size or blocks.prose[n] * 3 >= size:
        return False
    if _wraps_one(blocks, n) or blocks.is_grid(blocks.parents[n]):
        return False  # the one, or the whole grid, is judged
    first = blocks.starts[n]
    at, text, *_ = blocks.lines[first]
    if blocks.tags[at] in HEADINGS and len(text) == size:
        return False  # what wraps a heading alone, of an entry of a list
    if _is_titled(blocks, n, first):
        return False
    is_list = blocks.tags[n] in {"ul", "ol", "dl", "table"}
    return not (is_list and (n in tables.headed or _is_introduced(blocks, n, first)))


def _is_titled(blocks: Blocks, n: int, first: int) -> bool:
    """Whether a heading that is no link, or names a section, is among the first lines of a block."""
    left = blocks.sizes[n]
    for at, text, linked, _, _ in blocks.lines[first : first + _TITLE_LINES]:
        if blocks.tags[at] in _SUBHEADINGS and (linked * 10 < len(text) * 9 or names.is_heading(blocks.names[n], text)):
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
    for _ in range(_WRAPS_MOST):  # what only wraps it, with a caption
        above = blocks.parents[n]
        if not n or blocks.starts[above] != first or blocks.sizes[n] * 5 < blocks.sizes[above] * 4:
            break
        n = above
    is_beside = blocks.parents[n] in (at, blocks.parents[at]) and blocks.tags[at] not in CELLS
    return is_beside and (read > 0 or text[-1] in _INTRODUCING)


def _is_cards(blocks: Blocks, n: int, held: "Mapping[int, _Amounts]") -> bool:
    """Whether a block is teasers, tables of data in it aside."""
    cards = blocks.cards[n] - (held[n].cards if n in held else 0)
    return cards >= _FEWEST_CARDS and blocks.prose[n] < _CARD_PROSE * cards


class _Tables(NamedTuple):
    """Tables of data.

    headed   those with a header, or that something introduces
    inner    blocks in any of them, which are kept or left with it
    """

    all: frozenset[int] = frozenset()
    headed: frozenset[int] = frozenset()
    inner: frozenset[int] = frozenset()


def _tables(blocks: Blocks) -> _Tables:
    parents, tags = blocks.parents, blocks.tags
    around: dict[int, int] = {}  # blocks in tables, and the table of each
    layout: set[int] = set()
    headed: set[int] = set()
    cells = Counter[int]()  # of each row
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
            if tag == "th":
                headed.add(above)
            cells[n if tag == "tr" else parents[n]] += tag in CELLS
    rows = Counter(around[row] for row in cells if tags[row] == "tr")
    wide = Counter(around[row] for row, most in cells.items() if tags[row] == "tr" and most >= _LEAST)
    even = {n: most for n, most in wide.items() if most * 2 >= rows[n] and n not in layout}
    said = {n for n in even.keys() - headed if blocks.sizes[n] and _is_introduced(blocks, n, blocks.starts[n])}
    headed = headed - layout | said
    data = frozenset(headed | {n for n, most in even.items() if most >= _LEAST})
    inner = frozenset(n for n, table in around.items() if n != table and table in data)
    return _Tables(data, frozenset(headed), inner)


class _Amounts(NamedTuple):
    """Contents of tables: characters, those in links, and titles that are links."""

    chars: int
    linked: int
    cards: int


def _held(blocks: Blocks, tables: _Tables) -> dict[int, _Amounts]:
    """Contents of the `headed` tables of data in each block that holds some, or is one."""
    held = {n: _Amounts(blocks.sizes[n], blocks.links[n], blocks.cards[n]) for n in tables.headed}
    if held:
        for n in range(max(held), 0, -1):
            above = blocks.parents[n]
            if n in held and above not in tables.all and above not in tables.inner:
                before = held.get(above, _Amounts(0, 0, 0))
                held[above] = _Amounts(*map(sum, zip(before, held[n], strict=True)))
    return held


def _is_data(blocks: Blocks, n: int, held: Mapping[int, _Amounts]) -> bool:
    """Whether a block is for the most part `headed` tables of data, which are no links."""
    return n in held and held[n].chars * 2 > blocks.sizes[n] and held[n].linked * 2 < held[n].chars
