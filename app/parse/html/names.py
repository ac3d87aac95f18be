"""Reads the names of a block (class, id, role), which say that it stands around the content, or holds it."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from app.parse.html.blocks import HEADINGS, Blocks

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
    |taglist|tagcloud|catlinks|byline|authors?|bio|dateline|timestamp|meta|postmeta|editsection|hatnote
    |credits?|legal|ratings?|votes?
    )(?![a-z])""",
    re.VERBOSE,
)
# Articles list their tags so, as links or in a few words; references what they say of a parameter.
_TAGS = re.compile(r"(?<![a-z])(?<!at-)tags?(?![a-z]|_title)")
WORD = re.compile(r"[^\W_]+")
_TALK = re.compile(r"(?<![a-z])(?:comments?|commentlist|replies|respond)(?![a-z])", re.IGNORECASE)
_ANY = re.compile(f"(?:{_AROUND.pattern})|(?:{_PERHAPS_AROUND.pattern})|(?:{_TAGS.pattern})", re.VERBOSE)
_BODY = re.compile(
    r"""(?<![a-z])(?:
    (?:article|entry|post|story|content|body|news|blog|page)[-_]{0,2}(?:body|content|text|copy)
    |e-content|markdown-body|rich-?text)(?![a-z-])""",
    re.VERBOSE,
)
# What makers of stylesheets put behind a class to make it the only one: `codeBlock_t_Hd`, where "Hd" is no word.
_SUFFIX = re.compile(r"(?<=[^\W_])_{1,2}(?=[\w+-]{0,5}[A-Z])(?=[\w+-]{0,5}[\d_+-])[\w+-]{4,6}(?=\s|$)", re.ASCII)
# The head of a class, a call, or that of a function: not "Comments(3)", nor "comment(s)".
_SIGNATURE = re.compile(r"^(?:class|struct|enum|interface|trait) (\w++)|(?<!\w)(\w++)[?!=]?\((?!\d|s\))")
_SIGNATURE_CHARS = 500
CELL_CHARS = 80  # a cell with fewer is no column of navigation
_PART_PROSE = 300  # of a block whose name may be that of a part of the article
_LINES_BEFORE = 20  # of a comment: blocks that nest look no farther back, each of them
NONE, TAGS, PERHAPS, SURE = range(4)  # whether a block stands around the content


class Verdicts(NamedTuple):
    """Whether a block stands around the content, by its classes and role, and by its id, which is `anchor`."""

    by_class: int
    by_id: int
    anchor: str


@lru_cache(maxsize=4096)
def of(names: str) -> Verdicts | None:
    """Verdicts of the names of a block, as `Blocks` has them. None: they say nothing."""
    if not _ANY.search(names.lower()):
        return None
    names = _SUFFIX.sub("", names)
    others, anchor = _parted(names)
    return Verdicts(_heard(others), _heard(anchor), anchor)


def is_around(blocks: Blocks, n: int, *, is_needed: bool) -> bool:
    """Whether the names of a block say that it stands around the content, and nothing in it outvotes them.

    is_needed: it holds most of the text, or the title, or is a table of data, or code
    """
    if (said := of(blocks.names[n])) is None:
        return False
    is_heading, (first, text, *_) = blocks.tags[n] in HEADINGS, blocks.lines[blocks.starts[n]]
    is_header = is_heading or (blocks.tags[first] in HEADINGS and len(text) == blocks.sizes[n])
    verdict = said.by_class if said.by_class == SURE or not is_header else NONE
    if said.by_id > said.by_class and not is_heading and not _is_made_of_text(blocks, n, said.anchor):
        verdict = said.by_id
    if verdict == SURE:
        is_aside = blocks.is_aside(blocks.parents[n]) or (blocks.prose[n] and blocks.is_aside(n))
        return not (is_aside or (blocks.prose[n] and _is_lone_comment(blocks, n)))
    if verdict == NONE or is_needed or blocks.prose[n] >= _PART_PROSE or blocks.titles[n]:
        return False
    if verdict == TAGS and blocks.links[n] * 2 < blocks.sizes[n] >= CELL_CHARS:
        return False  # what a reference says of parameters
    above = blocks.parents[n]
    is_cell = blocks.is_grid(above) or "table" in WORD.findall(blocks.names[above].lower())
    return blocks.sizes[n] >= CELL_CHARS or not is_cell


def _is_lone_comment(blocks: Blocks, n: int) -> bool:
    """Whether it is named a comment, alone beside it, and no sentence stands before it there: one of the code's author,
    as references have them. Those of readers follow what they are about, or each other."""
    if n not in blocks.lone_comments:
        return False
    first = blocks.starts[n]
    before = blocks.lines[max(blocks.starts[blocks.parents[n]], first - _LINES_BEFORE) : first]
    return not any(read for _, _, _, read, _ in before)


def _is_made_of_text(blocks: Blocks, n: int, anchor: str) -> bool:
    """Whether the id of a block is made of the heading that it begins with, or of the code."""
    at, text, *_ = blocks.lines[blocks.starts[n]]
    is_heading = blocks.tags[at] in HEADINGS or blocks.tags[at] in ("dt", "caption") or blocks.names[at] == "title"
    return is_slug(anchor, text, is_heading=is_heading)


def comments_of_code(names: Sequence[str], starts: Sequence[int], headings: Sequence[int]) -> frozenset[int]:
    """Blocks that are named a comment of something (`x-comment`) and have a heading each, as references have them.

    Comments of readers have one heading together.

    names, starts  of all blocks;   headings: lines that are some, in order
    """
    found = [at for at, named in enumerate(names) if any(each.endswith("-comment") for each in named.split())]
    before = [0, *[bisect_left(headings, starts[at]) for at in found]]
    headed = [at for at, (last, count) in zip(found, pairwise(before), strict=True) if count > last]
    return frozenset(headed if len(headed) * 2 > len(found) > 1 else ())


def anchor_of(names: str) -> str:
    """The id among them, in lower case; "" where there is none."""
    return _parted(names)[1]


def _parted(names: str) -> tuple[str, str]:
    """Classes and role, and the id."""
    classes, _, rest = names.lower().partition("#")
    anchor, _, more = rest.partition(" ")
    return f"{classes} {more}", anchor


def _heard(names: str) -> int:
    if _AROUND.search(names):
        return SURE
    return PERHAPS if _PERHAPS_AROUND.search(names) else TAGS if _TAGS.search(names) else NONE


def is_heading(names: str, heading: str) -> bool:
    """Whether the id among the names of a section is its heading, as manuals have them."""
    words = WORD.findall(anchor_of(names))
    return bool(words) and words == WORD.findall(heading.lower())


def is_slug(anchor: str, text: str, *, is_heading: bool) -> bool:
    """Whether an id is made of the heading that a block begins with, or names the member of code that it describes:
    `add(Cookie)`, `Jar.set_cookie`.

    anchor  the id in lower case;   text: the block's first line;   is_heading: whether that is one, or a term
    """
    said = text[:_SIGNATURE_CHARS].lower()
    signature, (_, dot, member) = _SIGNATURE.search(said), anchor.rpartition(".")
    if "(" in anchor or (signature and anchor.endswith(signature[signature.lastindex or 0])):
        return True
    if (dot or "_" in member) and member in said:
        return True
    return is_heading and "".join(WORD.findall(anchor)).rstrip("0123456789") in "".join(WORD.findall(text.lower()))


def is_body(names: str) -> bool:
    """Whether they are those of an article's body."""
    return _BODY.search(names.lower()) is not None


def without_talk(names: str) -> str:
    """The names without those of comments."""
    return names and _TALK.sub("", names)
