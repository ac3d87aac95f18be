"""The readable text of a tree, without the boilerplate that surrounds it on every page of a site."""

import re
from collections.abc import Sequence

from app.parse.html import blocks, content
from app.parse.html.blocks import Blocks
from app.parse.html.tree import Element

MAX_TEXT_CHARS = 200_000
_HIDING_STYLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_DOCUMENT = ("html", "body")


def fold(text: str | None) -> str:
    """Fold white space, no-break spaces included, to single spaces and strip both ends; None becomes ""."""
    return " ".join(text.split()) if text else ""


def hidden_roots(root: Element) -> list[Element]:
    """Elements hidden by their own attributes, in document order: `hidden`, display:none, visibility:hidden."""
    return [e for e in root.iter() if e.get("hidden") is not None or _HIDING_STYLE.search(e.get("style", ""))]


def main_text(root: Element, hidden: Sequence[Element] = ()) -> str:
    """The text of the page: a line per block, white space folded, at most `MAX_TEXT_CHARS`.

    Navigation, teasers, comments and `hidden` elements are left out, unless too little else is left. Hidden elements
    are renamed in the tree, so read all else first.
    """
    hide(hidden)
    found = blocks.of(root)
    return _joined(found, content.kept(found))


def hide(hidden: Sequence[Element]) -> None:
    """Rename hidden elements to a tag that is left out."""
    for element in hidden:
        if element.tag not in _DOCUMENT:
            element.tag = blocks.HIDDEN


def _joined(found: Blocks, keep: Sequence[bool]) -> str:
    pieces: list[str] = []
    add = pieces.append
    for at, text, _, _, glued in found.lines:
        if keep[at]:
            add(" " if glued else "\n")
            add(text)
    return "".join(pieces).strip()[:MAX_TEXT_CHARS].rstrip()
