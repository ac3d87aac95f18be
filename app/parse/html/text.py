"""The readable text of a tree, without the boilerplate that surrounds it on every page of a site."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from lxml import etree

from app.parse.html import blocks, content, tree
from app.parse.html.blocks import Blocks
from app.parse.html.tree import Element

MAX_TEXT_CHARS = 200_000
# Formulas as a script is to draw them: https://docs.mathjax.org/en/v2.7-latest/start.html#putting-mathematics-in-a-web-page
_DRAWER = re.compile(r"mathjax|katex", re.IGNORECASE)
_WRITTEN = etree.XPath("descendant::*[self::span or self::div][contains(@class, 'math') or contains(@class, 'matex')]")
_DELIMITERS = frozenset({("\\(", "\\)"), ("\\[", "\\]")})
_STYLES, _HIDDENS = etree.XPath("descendant-or-self::*/@style"), etree.XPath("descendant-or-self::*/@hidden")
_HIDING_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_STYLE, _VALUE = b"style", re.compile(rb"""\s*+=(?:\s*+("[^"&]{0,200}+"))?""")
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_DECLARATION = re.compile(r"""(?:[^;"'(]++|"[^"]*+"?|'[^']*+'?|\([^)]*+\)?)++""")  # CSS Syntax 5.4.4, loosely
# Panels of tabs, and answers below their questions.
_OPENED = re.compile(
    r"(?<![a-z])(?:tab-?pan(?:e|el)s?|tab-?contents?|accordion|collaps(?:e|ed|ible)|faqs?|answers?|expand(?:able|ed)?)"
    r"(?![a-z])"
)
_NUMBERS = frozenset("linenos lineno linenumber line-number line-numbers linenums ln lnt".split())  # noqa: SIM905  # a list literal takes a line per word
# Links past the navigation, for those who hear a page; they may stand within its content: `skip-link`, `mw-jump-link`.
_SKIPS = etree.XPath(
    "descendant::a[starts-with(@href, '#')][contains(@class, 'skip') or contains(@class, 'jump-link')]"
)
# Of a link behind a heading, or in it, by which its section is edited: `mw-editsection`, `edit-link`.
_EDITS = re.compile(r"(?<![a-z])edit(?:[-_]?(?:section|link|button|icon))?(?![a-z])", re.IGNORECASE)
_MOST_EDITS_CHARS, _MOST_EDITS_TEXTS = 200, 20  # as they are written
_FIRST_NUMBER = 6  # elements of a pre: the first number is one of them
_MOST_READ = 4  # times the text of a pre
_DOCUMENT = ("html", "body")
_BESIDE = frozenset({"nav", "menu", "ul", "ol", "aside", "footer", "dialog", "navigation", "menubar"})  # tags and roles
_LEVELS = 3  # of hidden elements within each other that are weighed


def fold(text: str | None) -> str:
    """Fold white space, no-break spaces included, to single spaces and strip both ends; None becomes ""."""
    return " ".join(text.split()) if text else ""


def hidden_roots(root: Element) -> list[Element]:
    """Elements hidden by themselves: by display:none and visibility:hidden, then by `hidden`, each in document order.

    A script shows the document itself, and an application's root (`_shown_later`), so they hide nothing; nor does
    `hidden=until-found`, which the search of a browser opens.
    """
    styled = [style.getparent() for style in _STYLES(root) if _may_hide(style) and is_hiding(style)]
    marked = [mark.getparent() for mark in _HIDDENS(root)]
    found = [e for e in dict.fromkeys([*styled, *marked]) if _is_hidden(e)]
    shown = _shown_later(root) if found else ()
    return [e for e in found if e not in shown] if shown else found


def may_hide(markup: bytes) -> bool:
    """Whether the tree of this markup may have such elements: a fifth of the time of looking there.

    A style that is long, or written with references, may say anything.
    """
    lower = markup.lower()
    if b"hidden" in lower:
        return True
    at = lower.find(_STYLE)
    while at >= 0:
        written = _VALUE.match(lower, at + len(_STYLE))
        if written and (not (value := written[1]) or b"none" in value or b"dden" in value):
            return True
        at = lower.find(_STYLE, at + len(_STYLE))
    return False


def is_hiding(style: str, *, unless_shown: bool = False) -> bool:
    """Whether a style hides its element: the last declaration counts, or the last that is important.

    unless_shown: it is hidden by its attribute, which any other display overrules
    """
    if not unless_shown and not _HIDING_STYLE.search(style):
        return False
    values: dict[str, str] = {}
    important: set[str] = set()
    for declaration in _DECLARATION.findall(_COMMENT.sub(" ", style.lower())):
        name, _, written = declaration.partition(":")
        name, (value, mark, _) = name.strip(), written.partition("!")
        if (value := value.strip()) and (mark or name not in important):
            values[name] = value
            if mark:
                important.add(name)
    if "hidden" in (values.get("visibility"), values.get("content-visibility")):
        return True
    return values.get("display", "none" if unless_shown else "") == "none"


def _may_hide(style: str) -> bool:
    """Whether a style has letters of one that hides: a tenth of the time of looking for the whole."""
    lower = style.lower()
    return "none" in lower or "dden" in lower


def _is_hidden(element: Element) -> bool:
    by_attribute, style = element.get("hidden"), element.get("style")
    if by_attribute is None and style is None:
        return False
    if by_attribute is not None and by_attribute.strip().lower() == "until-found":
        by_attribute = None
    is_hidden = is_hiding(style or "", unless_shown=by_attribute is not None)
    return is_hidden and element.tag not in _DOCUMENT


def _shown_later(root: Element) -> list[Element]:
    """Hidden elements that hold most of the page's links, and most of its words outside links: an application's root.

    A menu holds links and few other words; a trap holds most of neither. What holds most links holds the middle one.
    """
    links = list(root.iter("a"))
    if not links:
        return []
    above = [e for e in links[len(links) // 2].iterancestors() if _is_hidden(e) and not _is_beside(e)][-_LEVELS:]
    holders = [e for e in above if 2 * sum(1 for _ in e.iter("a")) > len(links)]
    words = _words_outside_links(root) if holders else 0
    return [e for e in holders if 2 * _words_outside_links(e) > words]


def _is_beside(element: Element) -> bool:
    """Whether it says that it is a menu, a list or a dialog, not a page."""
    return element.tag in _BESIDE or (element.get("role") or "").strip().lower() in _BESIDE


def _words_outside_links(top: Element) -> int:
    """The letters of its text that stand in no link, and are shown where scripts run."""
    letters = 0
    walk = etree.iterwalk(top, events=("start",))
    for _, element in walk:
        if element.tag in {"a", "head", "title", "script", "style", "noscript", "template"}:
            walk.skip_subtree()
        else:
            letters += _letters(element.text)
        if element is not top:
            letters += _letters(element.tail)
    return letters


def _letters(written: str | None) -> int:
    return sum(map(len, written.split())) if written else 0


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
    another page. A declarative shadow root is a part of its page (https://html.spec.whatwg.org/#attr-template-shadowrootmode).
    """
    for element in [e for e in hidden if e.tag not in _DOCUMENT and not _is_opened(e)]:
        element.tag = blocks.HIDDEN
    _empty(_SKIPS(root))
    cells: set[Element] = set()
    titled = tree.title(root)
    title = "" if titled is None else fold(titled.text).lower()
    _mark_formulas(root)
    for element in root.iter("math", "pre", "template", "label", *blocks.HEADINGS):
        if element.tag == "math":
            _write_formula(element)
        elif element.tag == "pre":
            _hide_numbers(element, cells)
        elif element.tag == "label":
            _part(element)
        elif element.tag != "template":
            _unlink(element, title)
            _drop_edits(element)
        elif (element.get("shadowrootmode") or "").lower() in {"open", "closed"}:
            element.tag = "div"


def _is_opened(hidden: Element) -> bool:
    """Whether it is shown when a reader asks for it, by its names or as a row below another, or a formula."""
    if hidden.tag == "tr" and (above := hidden.getprevious()) is not None and above.tag in ("tr", blocks.HIDDEN):
        return True
    names = " ".join(filter(None, map(hidden.get, ("class", "id", "role")))).lower()
    return _OPENED.search(names) is not None or (len(hidden) == 1 and hidden[0].tag == "math")


def _hide_numbers(pre: Element, known: set[Element]) -> None:
    """Leave the cell of a pre out, if it holds numbers alone and stands beside another: those of the lines of code.

    So is what stands beside the pre, if it holds numbers alone and is marked as not to be read aloud. What has others
    in it is neither: the words of each would be read as often as they nest. And so are numbers within the pre.
    """
    for number in _numbers(pre):
        number.tag = blocks.HIDDEN
    for beside in (pre.getprevious(), pre.getnext()):
        if beside is not None and beside.get("aria-hidden") == "true" and not any(map(len, beside)):
            words = _all_text(beside).split()
            beside.tag = blocks.HIDDEN if words and all(map(str.isdecimal, words)) else beside.tag
    cell = pre.getparent()
    if cell is not None and cell.tag != "td":
        cell = cell.getparent()
    if cell is None or cell.tag != "td" or cell in known:
        return
    known.add(cell)
    if cell.getnext() is None or next(cell.iterdescendants("table", "td"), None) is not None:
        return
    if all(word.isdecimal() for word in _all_text(cell).split()):
        cell.tag = blocks.HIDDEN


def _numbers(pre: Element) -> list[Element]:
    """Numbers of lines, by their class and their words, where the first stands in front of the code.

    These may nest: no more is read than `_MOST_READ` times all.
    """
    if not any(map(_is_number, islice(pre.iterdescendants(), _FIRST_NUMBER))):
        return []
    found, room = [], _MOST_READ * len(_all_text(pre))
    for element in filter(_is_number, pre.iterdescendants()):
        words = _all_text(element)
        room -= len(words)
        if room < 0:
            break
        if all(map(str.isdecimal, words.split())):
            found.append(element)
    return found


def _is_number(element: Element) -> bool:
    return not _NUMBERS.isdisjoint((element.get("class") or "").lower().split())


def _part(label: Element) -> None:
    """Keep a blank between two labels, such as those of tabs: no browser shows them as one word."""
    after = label.getnext()
    if not label.tail and after is not None and after.tag == "label":
        label.tail = " "


def _unlink(heading: Element, title: str) -> None:
    """Make no link of the heading's link to itself, nor of the one that is all of the page's title.

    title  of the page, in lower case
    """
    links = [e for e in heading if e.tag == "a" and e.get("href") is not None]
    own = _names_of(heading) if any("#" in link.get("href", "") for link in links) else set()
    for link in links:
        page, sign, anchor = link.get("href", "").partition("#")
        is_own = sign and (anchor in own or not page) and not blocks.is_permalink(link.text or "")
        if is_own or _begins(title, fold(_all_text(link)).lower()):
            link.tag = "span"


def _drop_edits(heading: Element) -> None:
    """Empty what is there to edit the section of a heading: a part of it, or what stands behind it."""
    if parts := set(filter(_is_for_editing, heading)):
        beside = [heading.text, *(each.tail for each in heading)]
        if any(map(fold, beside)) or any(each not in parts and _holds_a_word(each) for each in heading):
            _empty(parts)
    behind = heading.getnext()
    if behind is not None and _is_for_editing(behind):
        _empty([behind])


def _empty(elements: Iterable[Element]) -> None:
    for element in elements:
        element.clear(keep_tail=True)
        element.tag = "span"


def _is_for_editing(part: Element) -> bool:
    if part.tag not in ("a", "span", "small") or not _EDITS.search(part.get("class") or ""):
        return False
    texts = list(islice(part.itertext(), _MOST_EDITS_TEXTS + 1))  # no more is read: what is around them may nest
    is_short = len(texts) <= _MOST_EDITS_TEXTS and sum(map(len, texts)) <= _MOST_EDITS_CHARS
    return is_short and next(part.iter("a"), None) is not None


def _holds_a_word(element: Element) -> bool:
    """Whether an element holds a word. No more is read than up to it: elements may nest."""
    return next(filter(str.strip, element.itertext()), None) is not None


def _names_of(heading: Element) -> set[str | None]:
    """The names by which a link leads to a heading: its own, of what is in it, and of what is around it."""
    above = heading.getparent()
    names = {name for e in (heading, *heading) for name in (e.get("id"), e.get("name"))}
    return names if above is None else names | {above.get("id")}


def _begins(title: str, words: str) -> bool:
    """Whether the words are the title, or all of it that stands before a sign such as a dash.

    Both are folded: what follows is in the next two characters. A copy of the rest for each heading is quadratic.
    """
    follows = title[len(words) : len(words) + 2].lstrip()
    return words != "" and title.startswith(words) and not follows[:1].isalnum()


def _mark_formulas(root: Element) -> None:
    """Make MathML of what a script would draw: TeX in a script, or between delimiters in an element named for it."""
    scripts = list(root.iter("script"))
    for script in scripts:
        if (kind := script.get("type") or "").startswith("math/tex"):
            _mark_formula(script, script.text or "", is_block="mode=display" in kind)
            drawn = script.getprevious()
            if drawn is not None and "MathJax" in (drawn.get("class") or ""):  # a browser has drawn it already
                _empty([drawn])
            script.tag = "span"
    if any(_DRAWER.search(script.get("src") or "") for script in scripts):
        for element in _WRITTEN(root):
            tex = fold(element[-1].tail if len(element) else element.text)  # it may stand behind its number
            if (tex[:2], tex[-2:]) in _DELIMITERS:
                _mark_formula(element, tex[2:-2], is_block=tex[1] == "[")


def _mark_formula(holder: Element, tex: str, *, is_block: bool) -> None:
    """Make MathML of the last text of an element."""
    if len(holder):
        holder[-1].tail = None
    else:
        holder.text = None
    etree.SubElement(holder, "math", alttext=tree.legal(fold(tex)), display="block" if is_block else "inline")


def _write_formula(formula: Element) -> None:
    """Replace a formula by its TeX between dollar signs, as MathML annotates it; else by its letters."""
    tex = next((e.text for e in formula.iter("annotation") if "tex" in (e.get("encoding") or "").lower()), None)
    tex = (tex or formula.get("alttext") or "").strip()
    written = f"$${tex}$$" if formula.get("display") == "block" else f"${tex}$" if tex else fold(_all_text(formula))
    formula_tail = formula.tail
    for beside in (formula, formula.getparent()):
        drawn = beside.getnext() if beside is not None and beside.tag in ("math", "span") else None
        if drawn is not None and drawn.get("aria-hidden") == "true":  # KaTeX, MediaWiki: the same as a picture
            _empty([drawn])
    formula.clear()
    formula.text, formula.tail = tree.legal(written), formula_tail and tree.legal(formula_tail)


def _all_text(element: Element) -> str:
    if not len(element):  # most
        return element.text or ""
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
