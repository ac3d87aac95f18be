"""The readable text of a tree, without the boilerplate that surrounds it on every page of a site."""

import re
from collections.abc import Sequence

from lxml import etree

from app.parse.html import blocks, content
from app.parse.html.blocks import Blocks
from app.parse.html.tree import Element

MAX_TEXT_CHARS = 200_000
_HIDING_STYLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
# Panels of tabs, and answers below their questions.
_OPENED = re.compile(
    r"(?<![a-z])(?:tab-?pan(?:e|el)s?|tab-?contents?|accordion|collaps(?:e|ed|ible)|faqs?|answers?|expand(?:able|ed)?)"
    r"(?![a-z])"
)
_DOCUMENT = ("html", "body")


def fold(text: str | None) -> str:
    """Fold white space, no-break spaces included, to single spaces and strip both ends; None becomes ""."""
    return " ".join(text.split()) if text else ""


def hidden_roots(root: Element) -> list[Element]:
    """Elements hidden by their own attributes, in document order: `hidden`, display:none, visibility:hidden."""
    return [
        element
        for element in root.iter()
        if ((style := element.get("style")) and _HIDING_STYLE.search(style)) or element.get("hidden") is not None
    ]


def main_text(root: Element, hidden: Sequence[Element] = (), *, whole: bool = False) -> str:
    """The text of the page: a line per block, white space folded except in pre, at most `MAX_TEXT_CHARS`.

    Navigation, teasers, comments and `hidden` elements are left out, unless too little else is left. The tree is
    changed (`prepare`), so read all else first.

    whole  all that a reader of the page sees, navigation too
    """
    prepare(root, hidden)
    found = blocks.of(root, whole=whole)
    return _joined(found, content.shown(found) if whole else content.kept(found))


def prepare(root: Element, hidden: Sequence[Element]) -> None:
    """Make the tree ready for `blocks`: what nobody reads gets a tag that is left out, and formulas are written out.

    That is what is hidden, but for what a reader opens, and columns of line numbers. A formula counts as shown, though
    its element is hidden beside a picture of it. A heading that links to itself, as manuals have them, is no title of
    another page.
    """
    for element in hidden:
        if element.tag not in _DOCUMENT and not _is_opened(element):
            element.tag = blocks.HIDDEN
    cells: set[Element] = set()
    for element in root.iter("math", "pre", *blocks.HEADINGS):
        if element.tag == "math":
            _write_formula(element)
        elif element.tag == "pre":
            _hide_numbers(element, cells)
        else:
            _unlink(element)


def _is_opened(hidden: Element) -> bool:
    """Whether it is shown when a reader asks for it, by its names, or a formula."""
    names = " ".join(filter(None, map(hidden.get, ("class", "id", "role")))).lower()
    return _OPENED.search(names) is not None or (len(hidden) == 1 and hidden[0].tag == "math")


def _hide_numbers(pre: Element, known: set[Element]) -> None:
    """Leave the cell of a pre out, if it holds numbers alone and stands beside another: those of the lines of code."""
    cell = pre.getparent()
    if cell is not None and cell.tag != "td":
        cell = cell.getparent()
    if cell is None or cell.tag != "td" or cell in known:
        return
    known.add(cell)
    if cell.getnext() is not None and all(word.isdecimal() for word in _all_text(cell).split()):
        cell.tag = blocks.HIDDEN


def _unlink(heading: Element) -> None:
    for child in heading:
        if child.tag == "a" and (child.get("href") or "").startswith("#") and not blocks.is_permalink(child.text or ""):
            child.tag = "span"


def _write_formula(formula: Element) -> None:
    """Replace a formula by its TeX between dollar signs, as MathML annotates it; else by its letters."""
    tex = next((e.text for e in formula.iter("annotation") if "tex" in (e.get("encoding") or "").lower()), None)
    tex = (tex or formula.get("alttext") or "").strip()
    written = f"$${tex}$$" if formula.get("display") == "block" else f"${tex}$" if tex else fold(_all_text(formula))
    formula_tail = formula.tail
    for beside in (formula, formula.getparent()):
        drawn = beside.getnext() if beside is not None and beside.tag in ("math", "span") else None
        if drawn is not None and drawn.get("aria-hidden") == "true":  # KaTeX, MediaWiki: the same as a picture
            drawn.clear(keep_tail=True)
            drawn.tag = "span"
    formula.clear()
    formula.text, formula.tail = written, formula_tail


def _all_text(element: Element) -> str:
    found: str = etree.tostring(element, method="text", encoding="unicode", with_tail=False)
    return found


def _joined(found: Blocks, keep: Sequence[bool]) -> str:
    pieces: list[str] = []
    add = pieces.append
    for at, text, _, _, glued in found.lines:
        if keep[at]:
            add(" " if glued else "\n")
            add(text)
    return "".join(pieces).strip()[:MAX_TEXT_CHARS].rstrip()
