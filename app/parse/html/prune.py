"""Prunes a tree to its content, for what needs elements and not text alone. It takes longer than the text: on demand
only.
"""

from collections.abc import Iterable, Iterator

from lxml import etree

from app.parse.html import blocks, content, text, tree
from app.parse.html.tree import Element

MEDIA = ("iframe", "video", "audio")  # left in place, without what is in them: a writer may point to them
_FORMS = etree.XPath(f"descendant::{blocks.EMPTY_FORM}")  # a union of paths would be sorted, in quadratic time


def content_of(root: Element, *, whole: bool = False) -> Element:
    """The element that holds the page's content, in place, and nothing else in it: what `text.main_text` reads.

    whole  all that a reader of the page sees
    """
    text.prepare(root, text.hidden_roots(root))
    found = blocks.of(root, whole=whole)
    left_out = set(root.iter(*blocks.NEVER_READ)) if found.is_all else {*root.iter(*blocks.UNREADABLE), *_FORMS(root)}
    elements = [root, *_blocks(root, left_out)]
    top = root
    # Else the text holds marks of ours, which make blocks that are no elements.
    if [e.tag for e in elements] == found.tags:
        keep = content.shown(found) if whole else content.kept(found)
        tops = [at for at, is_kept in enumerate(keep) if is_kept and not (at and keep[found.parents[at]])]
        first = tops[0] and tops[-1]  # the page, or what holds its content
        top = elements[first]
        left_out.update(e for at, e in enumerate(elements) if at > first and not keep[at] and keep[found.parents[at]])
        for at in tops:  # the page's h1, which stands before what holds its content, or in what is left out of it
            if at < first:
                elements[at].tail, top.text = top.text, None
                top.insert(0, elements[at])
            elif at > first:
                around = next(e for e in elements[at].iterancestors() if e in left_out)
                elements[at].tail = None
                around.addprevious(elements[at])
    cut(left_out)
    cut([link for link in top.iter("a") if not len(link) and blocks.is_permalink(link.text or "")])
    for element in top.iter(*blocks.LANDMARKS, "form"):
        element.tag = "div"  # it is content: no writer shall leave it out
    return top


def cut(elements: Iterable[Element]) -> None:
    """Empty elements, and keep the text after each. To take them out would join texts again and again."""
    for element in elements:
        if element.tag in MEDIA:
            attributes = {name: tree.legal(value) for name, value in element.items()}
            if not element.get("src"):  # its sources are elements
                attributes["src"] = next((tree.legal(source.get("src", "")) for source in element.iter("source")), "")
            element.clear(keep_tail=True)
            element.attrib.update(attributes)
        else:
            element.clear(keep_tail=True)
            element.tag = "span"


def _blocks(root: Element, left_out: set[Element]) -> Iterator[Element]:
    """The elements that the stylesheet makes blocks of, in its order."""
    walk = etree.iterwalk(root, events=("start",))
    for _, element in walk:
        if element in left_out:
            walk.skip_subtree()
        elif element.tag in blocks.BLOCKS:
            yield element
