"""Judges which blocks of a page are its content, and which are navigation, teasers, comments and the like around it.

Three kinds of evidence, none of them enough alone: what a block is named (class, id, role), how much of it is linked, and how
much of it reads like sentences. Each judgement is undone as a whole where too little would be left: a list of links *is* the
content of an index page, and comments are that of a forum. The thresholds are our own; `bench/main_text.py` shows what they
yield. Link density: Kohlschütter et al., Boilerplate Detection using Shallow Text Features (2010).
"""

import re
from functools import lru_cache

from app.parse.html.blocks import HEADINGS, Blocks

_NAME_LOOK_CHARS = 300
# Words that names begin with or consist of. Boundaries are anything but letters: "related-posts", "post_related", "js-share".
_AROUND = re.compile(
    r"""(?<![a-z])(?:
    (?:nav|navbar|navbox|navigation|menu|submenu|mainmenu|breadcrumbs?|crumbs?|pagination|pager|paging|skip|masthead|topbar
    |navheader|navfooter|header|footer|sidebar|sphinxsidebar|hd|ft|rail|banner|contentinfo|search|menubar|dialog|alertdialog
    |complementary|toolbar|toolbox
    |cookies?|consent|gdpr|modal|popup|overlay|tooltip|toast
    |shar(?:e|es|ing|ebar|ethis|edaddy)|social|socials|addthis|addtoany|follow
    |related|relatedposts|recommend(?:ed|ations?|s)?|recirc|recirculation|trending|popular|most(?=[-_]?(?:read|viewed|popular))
    |more(?=[-_](?:from|stories|news|articles|posts|links|on|in|like))|(?:read|see)[-_](?:more|next|also)|also[-_]read|up[-_]next|next[-_]up|latest
    |teasers?|promos?|promotion|newsletter|subscribe|subscription|signup|sign[-_]up|paywall|outbrain|taboola
    |ads?|advert|advertisement|advertising|adslot|adsense|sponsor|sponsored|sponsors|donate
    |widgets?|tags?|taglist|tagcloud|catlinks|byline|author|authors|bio|dateline|timestamp|posted|published|meta|postmeta|entry[-_]meta
    |toc|print|printfooter|noprint|login|signin|register|editsection|hatnote|credits?|copyright|legal|disclaimer|rating|ratings|vote|votes
    |comments?|commentlist|disqus|respond|replies|reactions?
    )(?![a-z]))""",
    re.VERBOSE,
)
_BODY = re.compile(
    r"""(?<![a-z])(?:articlebody|(?:article|entry|post|story|content|body|news|blog|page)(?:__|[-_])?(?:body|content|text|copy)
    |e-content|markdown-body|rich-?text)(?![a-z-])""",
    re.VERBOSE,
)
_LISTS = frozenset(
    {"ul", "ol", "dl", "div", "section", "table", "tbody", "tr", "td", "p", "li", "form", "article", "figure"}
)
_ENOUGH_CHARS = 250  # of sentences, for these to be what the page is about
_LEAST_SHARE = 8  # of the sentences, one part in so many must stay; of the text of a page without, twice that
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
        left = sum(line.prose for line in blocks.lines if keep[line.block])
        return left >= max(_ENOUGH_CHARS // 2, blocks.prose[top] // _LEAST_SHARE)
    left = sum(len(line.text) for line in blocks.lines if keep[line.block])
    return left > 0 and left * _LEAST_SHARE >= blocks.sizes[top] * 2


def _scope(blocks: Blocks) -> int:
    """The block that holds the content: main, then the article in it, then what is named the body of one."""
    at = 0
    tags, names, prose, sizes = blocks.tags, blocks.names, blocks.prose, blocks.sizes
    mains = [
        n
        for n, tag in enumerate(tags)
        if tag == "main" or (tag in ("div", "section", "article") and "main" in names[n] and _is_main(names[n]))
    ]
    if len(mains) == 1 and sizes[mains[0]] * 4 >= sizes[0]:
        at = mains[0]
    articles = [n for n, tag in enumerate(tags) if tag == "article" and _is_below(blocks, n, at)]
    if articles:
        best = max(articles, key=lambda n: (prose[n], sizes[n]))
        if (len(articles) == 1 and sizes[best] * 4 >= sizes[at] and not at) or (
            prose[best] * 10 >= prose[at] * 6 and prose[best]
        ):
            at = best
    bodies = [n for n, named in enumerate(names) if named and _is_body(named) and _is_below(blocks, n, at)]
    if bodies:
        best = max(bodies, key=lambda n: (prose[n], -n))
        if prose[best] * 10 >= prose[at] * 6 and prose[best]:
            at = best
    return at


def _is_below(blocks: Blocks, at: int, top: int) -> bool:
    if not top:
        return True
    while at > top:
        at = blocks.parents[at]
    return at == top


def _inside(blocks: Blocks, top: int) -> list[bool]:
    if not top:
        return [True] * len(blocks.tags)
    inside = [False] * len(blocks.tags)
    inside[top] = True
    for n in range(top + 1, len(inside)):
        inside[n] = inside[blocks.parents[n]]
    return inside


def _without(blocks: Blocks, scoped: list[bool], top: int, rules: int) -> list[bool]:
    keep = scoped.copy()
    total = blocks.prose[top]
    parents, tags = blocks.parents, blocks.tags
    for n in range(top + 1, len(keep)):
        keep[n] = keep[n] and keep[parents[n]] and not _is_around(blocks, n, tags[n], total, rules)
    return keep


def _is_around(blocks: Blocks, n: int, tag: str, total: int, rules: int) -> bool:
    prose, size, links = blocks.prose[n], blocks.sizes[n], blocks.links[n]
    if not size:
        return False
    if rules & _NAMES and blocks.names[n] and prose * 2 <= total and _is_named_around(blocks.names[n]):
        return True
    if tag in _LISTS:
        if rules & _DENSE and links * 2 > size and prose * 3 < size:
            return True
        if (
            rules & _CARDS
            and blocks.cards[n]
            and prose * 2 <= total
            and prose < 400 * blocks.cards[n]
            and tag not in HEADINGS
        ):
            return True
    return False


@lru_cache(maxsize=4096)
def _named_around(names: str) -> bool:
    return _AROUND.search(names) is not None


def _is_named_around(names: str) -> bool:
    return _named_around(names[:_NAME_LOOK_CHARS].lower())


@lru_cache(maxsize=4096)
def _named_body(names: str) -> bool:
    return _BODY.search(names.lower()) is not None


def _is_body(names: str) -> bool:
    return _named_body(names[:_NAME_LOOK_CHARS])


def _is_main(names: str) -> bool:
    return "main" in names.split()
