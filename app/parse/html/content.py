"""Judges which blocks of a page are its content, and which are navigation, teasers, comments and the like around it.

Three kinds of evidence, none of them enough alone: what a block is named (class, id, role), how much of it is linked,
and how much of it reads like sentences. Each judgement is undone as a whole where too little would be left: a list of
links *is* the content of an index page, and comments are that of a forum. The thresholds are our own;
`bench/main_text.py` shows what they yield. Link density: Kohlschütter et al., Boilerplate Detection using Shallow Text
Features (2010).
"""

import re
from functools import lru_cache

from app.parse.html.blocks import Blocks

# Words of class names, ids and roles. Anything but a letter parts them: "related-posts", "post_related", "js-share".
_AROUND = re.compile(
    r"""(?<![a-z])(?:
    nav|navbar|navbox|navigation|navheader|navfooter|menu|menubar|submenu|mainmenu|breadcrumbs?|crumbs?|pagination|pager
    |paging|skip|masthead|topbar|header|footer|hd|ft|sidebar|sphinxsidebar|rail|banner|contentinfo|complementary|search
    |toolbar|toolbox|toc|dialog|alertdialog|modal|popup|overlay|tooltip|toast|cookies?|consent|gdpr
    |shar(?:e|es|ing|ebar|ethis|edaddy)|socials?|addthis|addtoany|follow|print(?:footer|only)|noprint
    |related|relatedposts|recommend(?:ed|ations?|s)?|recirc|recirculation|trending|popular|latest|teasers?|promos?|promotion
    |most(?=[-_]?(?:read|viewed|popular))|more(?=[-_](?:from|stories|news|articles|posts|links|on|in|like))
    |(?:read|see)[-_](?:more|next|also)|also[-_]read|up[-_]next|next[-_]up
    |newsletter|subscribe|subscription|sign[-_]?up|log[-_]?in|sign[-_]?in|register|donate
    |ads?|advert|advertisement|advertising|adslot|adsense|outbrain|taboola|sponsor|sponsored|sponsors|(?<!elementor-)widgets?
    |tags?|taglist|tagcloud|catlinks|byline|authors?|bio|dateline|timestamp|meta|postmeta|editsection|hatnote
    |credits?|copyright|legal|disclaimer|ratings?|votes?|comments?|commentlist|disqus|respond|replies|reactions?
    )(?![a-z])""",
    re.VERBOSE,
)
_BODY = re.compile(
    r"""(?<![a-z])(?:
    (?:article|entry|post|story|content|body|news|blog|page)[-_]{0,2}(?:body|content|text|copy)
    |e-content|markdown-body|rich-?text)(?![a-z-])""",
    re.VERBOSE,
)
_BOXES = frozenset(
    {"ul", "ol", "dl", "div", "section", "table", "tbody", "tr", "td", "p", "li", "form", "article", "figure"}
)
_ENOUGH_CHARS = 250  # of sentences, for these to be what the page is about
_LEAST_SHARE = 8  # of the sentences, one part in so many must stay; of the text of a page without, twice that
_FAIR_SHARE = 4  # <main> counts when it holds at least one part in so many of the page's text
_CARD_PROSE = 400  # characters that follow the title of a teaser, at most
_NAMES, _DENSE, _CARDS = 1, 2, 4


def kept(blocks: Blocks) -> list[bool]:
    """Whether each block is content. Never none of them, as long as there is text."""
    top = _scope(blocks)
    scoped = _inside(blocks, top)
    for rules in (_NAMES | _DENSE | _CARDS, _DENSE | _CARDS, _NAMES):
        keep = _without(blocks, scoped, top, rules)
        if _is_enough(blocks, keep, top):
            return keep
    return scoped


def _is_enough(blocks: Blocks, keep: list[bool], top: int) -> bool:
    if blocks.prose[top] >= _ENOUGH_CHARS:
        left = sum([prose for at, _, _, prose, _ in blocks.lines if keep[at]])
        return left >= max(_ENOUGH_CHARS // 2, blocks.prose[top] // _LEAST_SHARE)
    left = sum([len(text) for at, text, _, _, _ in blocks.lines if keep[at]])
    return left > 0 and left * _LEAST_SHARE >= blocks.sizes[top] * 2


def _scope(blocks: Blocks) -> int:
    """The block that holds the content: main, then the article in it, then what is named an article's body."""
    tags, names, prose, sizes = blocks.tags, blocks.names, blocks.prose, blocks.sizes
    top, end = 0, len(tags)
    mains = [n for n, tag in enumerate(tags) if tag == "main"] if "main" in tags else []
    if not mains and "main" in " ".join(names):
        mains = [n for n, tag in enumerate(tags) if "main" in names[n] and _is_main(tag, names[n])]
    if len(mains) == 1 and sizes[mains[0]] * _FAIR_SHARE >= sizes[0]:
        top, end = mains[0], _end(blocks, mains[0])
    articles = [n for n in range(top, end) if tags[n] == "article"] if "article" in tags else []
    if len(articles) == 1 and not top and sizes[articles[0]] * _FAIR_SHARE >= sizes[0]:
        top, end = articles[0], _end(blocks, articles[0])
    for candidates in (articles, [n for n, name in enumerate(names[top:end], top) if name and _is_body(name)]):
        if not candidates:
            continue
        best = max(candidates, key=lambda n: prose[n])
        if prose[best] and prose[best] * 10 >= prose[top] * 7 and top < best < end:
            top, end = best, _end(blocks, best)
    return top


def _end(blocks: Blocks, top: int) -> int:
    """The index after the last block within `top`: in document order they follow it."""
    if not top:
        return len(blocks.tags)
    return next((n for n in range(top + 1, len(blocks.tags)) if blocks.parents[n] < top), len(blocks.tags))


def _inside(blocks: Blocks, top: int) -> list[bool]:
    end = _end(blocks, top)
    return [False] * top + [True] * (end - top) + [False] * (len(blocks.tags) - end)


def _without(blocks: Blocks, scoped: list[bool], top: int, rules: int) -> list[bool]:
    keep = scoped.copy()
    parents, tags, names, prose, links = blocks.parents, blocks.tags, blocks.names, blocks.prose, blocks.links
    by_name, by_links, by_cards = rules & _NAMES, rules & _DENSE, rules & _CARDS
    total = prose[top]
    for n, size in enumerate(blocks.sizes):
        if n <= top or not keep[n]:
            continue
        read = prose[n]
        if not keep[parents[n]] or (by_name and names[n] and size and read * 2 <= total and _is_named_around(names[n])):
            keep[n] = False
        elif size and links[n] and tags[n] in _BOXES:  # without links it is neither dense nor holds cards
            cards = by_cards and blocks.cards[n]
            is_dense = by_links and links[n] * 2 > size and read * 3 < size
            keep[n] = not (is_dense or (cards and read * 2 <= total and read < _CARD_PROSE * cards))
    return keep


@lru_cache(maxsize=4096)
def _is_named_around(names: str) -> bool:
    return _AROUND.search(names.lower()) is not None


@lru_cache(maxsize=4096)
def _is_body(names: str) -> bool:
    return _BODY.search(names.lower()) is not None


def _is_main(tag: str, names: str) -> bool:
    return tag in ("div", "section", "article") and "main" in names.split()
