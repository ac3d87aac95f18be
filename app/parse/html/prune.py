"""Prunes a tree to its content, for what needs elements and not text alone. It takes longer than the text: on demand
only.
"""

import re
from collections.abc import Iterable, Iterator

from lxml import etree

from app.parse.html import blocks, content, text
from app.parse.html.tree import Element

_UNREADABLE = etree.XPath(" | ".join(f"//{pattern}" for pattern in blocks.UNREADABLE))  # as the stylesheet leaves out
# No Char by https://www.w3.org/TR/xml/#charsets
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def content_of(root: Element) -> Element:
    """The element that holds the page's content, in place, and nothing else in it: what `text.main_text` reads."""
    text.hide(text.hidden_roots(root))
    found = blocks.of(root)
    left_out = set(_UNREADABLE(root))
    elements = [root, *_blocks(root, left_out)]
    top = root
    # Else the text holds marks of ours, which make blocks that are no elements.
    if [e.tag for e in elements] == found.tags:
        keep = content.kept(found)
        first = keep.index(True)
        top = elements[first]
        left_out.update(e for at, e in enumerate(elements) if at > first and not keep[at] and keep[found.parents[at]])
    cut(left_out)
    cut_permalinks(top)
    for element in top.iter(*blocks.LANDMARKS):
        element.tag = "div"  # it is content: no writer shall leave it out
    return top


def _blocks(root: Element, left_out: set[Element]) -> Iterator[Element]:
    """The elements that the stylesheet makes blocks of, in its order."""
    walk = etree.iterwalk(root, events=("start",))
    for _, element in walk:
        if element in left_out:
            walk.skip_subtree()
        elif element.tag in blocks.BLOCKS:
            yield element


def cut(elements: Iterable[Element]) -> None:
    """Remove elements, and keep the text after each."""
    for element in list(elements):
        above, tail = element.getparent(), element.tail
        if above is None:
            continue
        if tail:
            before = element.getprevious()
            if before is None:
                above.text = _legal((above.text or "") + tail)
            else:
                before.tail = _legal((before.tail or "") + tail)
            element.tail = None
        above.remove(element)


def _legal(text: str) -> str:
    """A text that lxml takes: it refuses what it reads from broken pages, control characters."""
    return _ILLEGAL.sub(" ", text)


def cut_permalinks(root: Element) -> None:
    """Remove links that lead to where they stand, by a sign alone."""
    cut([link for link in root.iter("a") if not len(link) and blocks.is_permalink(link.text or "")])
