"""Looks at what a page shows without scripts, as far as it is little enough for a shell, and at its empty places.

Menus, headers, footers and questions for consent are its frame, and no content. A sign of loading says nothing, nor
does a template's hole.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

from app.parse.html import blocks
from app.parse.html.text import is_hiding
from app.parse.html.tree import Element

_MOST_CHARS = 200  # that a shell shows: a name, "loading", a copyright
_MOST_FRAME_CHARS = 1_000
_MOST_LINKS = 5
_MOST_IMAGES = 1  # a logo
_MOST_ELEMENTS = 400
_MOST_WITHIN = 2_000  # of an empty element, hidden ones too: many are asked for, and they nest
_LOADING_CHARS = 80
_TINY_CHARS = 200  # of a picture in its own address: one of a few pixels
LOOK_CHARS = 1_000  # of a URL


class Mount(NamedTuple):
    """An element that a framework fills, by id, or by tag or attribute. weak: others have it too; it needs a noscript
    or data beside it."""

    name: str
    by: str = "id"
    weak: bool = False


_MOUNTS: Final = (
    Mount("root"),  # React: Create React App, Vite
    Mount("react-root"),
    Mount("app"),  # Vue, Svelte, Vite
    Mount("q-app"),  # Quasar
    Mount("__next"),
    Mount("__nuxt"),
    Mount("___gatsby"),
    Mount("svelte"),
    Mount("swagger-ui"),
    Mount("app-root", "tag"),  # Angular
    Mount("ng-view", "tag"),  # AngularJS
    Mount("ui-view", "tag"),
    Mount("ng-view", "attribute"),
    Mount("ui-view", "attribute"),
    Mount("data-reactroot", "attribute"),
    Mount("main", weak=True),
    Mount("mount", weak=True),
    Mount("application", weak=True),
    Mount("app-root", weak=True),
)
_BY_ID: Final = {mount.name: mount for mount in _MOUNTS if mount.by == "id"}
_BY_TAG: Final = {mount.name: mount for mount in _MOUNTS if mount.by == "tag"}
_BY_ATTRIBUTE: Final = {mount.name: mount for mount in _MOUNTS if mount.by == "attribute"}
# What stands in a mount, or in a page, until the scripts have run: one line with such a word in it.
_LOADING: Final = re.compile(
    r"\b(?:loading|loads|please wait|one moment|initiali[sz]ing|starting|laden|lädt|wird geladen|chargement|cargando"
    r"|caricamento|carregando|загрузка)\b|加载|載入|载入|读取|请稍候|請稍候|読み込み|読込|로딩|불러오는",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"\w")
_HOLE: Final = re.compile(r"\{\{[^{}]*\}\}")  # AngularJS, Vue
_REPEATS: Final = frozenset({"ng-repeat", "data-ng-repeat", "v-for"})
_FILLED: Final = frozenset({"hx-get", "data-hx-get"})
_SPINNER: Final = re.compile(r"load|spin|splash|progress|wait", re.IGNORECASE)
# An element with such a class stands for what is not there yet. Words such as "downloads" are no such class.
_STANDS_IN: Final = re.compile(r"(?<![a-z])(?:pre)?load(?:er|ing)(?![a-z])|spinner|splash|skeleton", re.IGNORECASE)
# A page with one of these shows something, or is elsewhere; with one of the second kind where anything is in it.
_SHOWS: Final = frozenset("form input textarea frame frameset object embed video audio canvas map".split())  # noqa: SIM905  # a list literal takes 12 lines
_SHOWS_FULL: Final = frozenset({"article", "table", "pre", "select", "picture"})
_FRAME: Final = frozenset({"header", "nav", "footer", "aside", blocks.HIDDEN})
# The same by role (WAI-ARIA 1.2, landmarks), and by classes and ids: whole words, as most sites have them.
_FRAME_ROLES: Final = frozenset({"banner", "navigation", "contentinfo", "complementary", "search"})
_FRAME_NAMES: Final = frozenset(
    "header site-header topbar nav navbar navigation menu sidebar footer site-footer".split()  # noqa: SIM905  # a list literal takes a line per word
)
_CONSENT: Final = re.compile(r"cookie|consent|gdpr")
_UNSHOWN: Final = frozenset({"script", "style", "noscript", "head", "title"})


class _ShownPart(NamedTuple):
    """An element that is shown, with the text directly in it.   where: "frame", "heading" or "": it stands in"""

    element: Element
    text: str
    where: str


@dataclass(slots=True)
class Shown:
    """The content of a page without scripts, with evidence.

    chars, framed  of text: of its content, and of its frame
    spoken         whether there are words that are no heading and no sign of loading
    holes          texts with a place for data;   repeats: an element is repeated for data that only scripts have
    shows          a form, a film, a frame …;   draws: a picture in SVG, or a button without a word
    """

    chars: int = 0
    framed: int = 0
    spoken: bool = False
    holes: int = 0
    repeats: bool = False
    shows: bool = False
    draws: bool = False
    _links: int = 0
    _images: int = 0
    _says: bool = False
    _named: list[Element] = field(default_factory=list)  # elements with an id, or <main>
    _mounts: list[tuple[Mount, Element]] = field(default_factory=list)

    @property
    def is_too_much(self) -> bool:
        """Whether it is more than a shell's, whatever follows."""
        too_long = self.chars > _MOST_CHARS or self.framed > _MOST_FRAME_CHARS
        return too_long or self._links > _MOST_LINKS or self._images > _MOST_IMAGES

    @property
    def is_template(self) -> bool:
        return self.repeats and self.holes > 0

    @property
    def is_bare(self) -> bool:
        """Whether there is no word, link or picture but a sign of loading. A frame may be there."""
        return not (self._says or self.draws or self._links or self._images)

    def mount(self) -> Mount | None:
        """The first that is empty."""
        return next((mount for mount, element in self._mounts if _is_empty(element)), None)

    def places(self) -> list[Element]:
        """Empty elements with an id, <main>, or that scripts fill; none where words are shown beside a heading."""
        if self.spoken or self._links or self._images:
            return []
        return [element for element in self._named if _is_empty(element)]

    def add(self, part: _ShownPart) -> None:
        element, plain = part.element, _plain(part.text)
        if part.where == "frame":
            self.framed += len(plain)
            return
        if part.where == "loading" and len(plain) <= _LOADING_CHARS:
            plain = ""
        self.chars += len(plain)
        self.holes += "{{" in part.text and _HOLE.search(part.text) is not None
        if plain and not self.spoken and not _is_sign(plain):
            self._says, self.spoken = True, part.where != "heading"
        self._links += element.tag == "a" and "{{" not in element.get("href", "{{")
        self._images += element.tag == "img" and not _is_spinner(element)
        self.shows = self.shows or _is_content(element)
        is_drawn = element.tag in {"svg", "button"} and part.where != "loading" and not _is_spinner(element)
        self.draws = self.draws or is_drawn
        attributes = element.keys()
        if not attributes and element.tag != "main" and "-" not in str(element.tag):  # most
            return
        self.repeats = self.repeats or not _REPEATS.isdisjoint(attributes)
        if element.get("id") or element.tag == "main" or is_filled(element):
            self._named.append(element)
        if (mount := _mount(element)) is not None:
            self._mounts.append((mount, element))


def of(root: Element) -> Shown | None:
    """The content of the page; None as soon as it is more than a shell's."""
    shown = Shown()
    for n, part in enumerate(_readable(root)):
        shown.add(part)
        if shown.is_too_much or n > _MOST_ELEMENTS:
            return None
    return None if shown.shows and not shown.is_template else shown


def is_filled(element: Element) -> bool:
    """Whether it says by itself that scripts fill it: it is an element of the site's own, or of a fragment to come."""
    return "-" in str(element.tag) or not _FILLED.isdisjoint(element.keys())


def _readable(root: Element) -> Iterator[_ShownPart]:
    """Each element that is shown, in the order of the document. Of a hidden mount itself alone."""
    stack = [(root, "")]
    while stack:
        element, where = stack.pop()
        if element.tag in _UNSHOWN or (element.tag == "template" and element.get("shadowrootmode") is None):
            continue
        if _is_hidden(element):
            if _mount(element) is not None:
                yield _ShownPart(element, "", where)
            continue
        where = _where(element, where)
        if element.tag == "svg":
            yield _ShownPart(element, "", where)
            continue
        children = element[:]
        yield _ShownPart(element, " ".join([element.text or "", *[child.tail or "" for child in children]]), where)
        stack += [(child, where) for child in reversed(children)]


def _where(element: Element, above: str) -> str:
    """Where the text in it stands.   above: where the element itself does"""
    if above == "frame" or _is_frame(element):
        return "frame"
    if element.tag in blocks.HEADINGS:
        return "heading"
    classes = element.get("class")
    return "loading" if classes and _STANDS_IN.search(classes[:LOOK_CHARS]) else above


def _is_frame(element: Element) -> bool:
    # Whatever their classes are, these are no frame.
    if element.tag in {"html", "body", "main"}:
        return False
    if not element.keys():
        return element.tag in _FRAME
    if element.tag in _FRAME or (element.get("role") or "").strip().lower() in _FRAME_ROLES:
        return True
    names = f"{element.get('class', '')} {element.get('id', '')}"[:LOOK_CHARS].lower()
    return not _FRAME_NAMES.isdisjoint(names.split()) or _CONSENT.search(names) is not None


def _is_hidden(element: Element) -> bool:
    attributes = element.keys()
    if is_hiding(element.get("style") or "", unless_shown="hidden" in attributes):
        return True
    return "popover" in attributes or (element.tag == "dialog" and "open" not in attributes)


def _is_content(element: Element) -> bool:
    if element.tag == "input":
        return (element.get("type") or "").strip().lower() != "hidden"
    if element.tag == "audio":
        return element.get("controls") is not None  # without them nothing is shown
    if element.tag == "canvas":
        return "0" not in (element.get("width"), element.get("height"))
    if element.tag == "iframe":  # one without an address is a tool of scripts
        src = (element.get("src") or element.get("srcdoc") or "").strip().lower()
        return src != "" and not src.startswith(("about:", "javascript:"))
    return element.tag in _SHOWS or (element.tag in _SHOWS_FULL and not _is_empty(element))


def _is_spinner(image: Element) -> bool:
    if _stands_in(image):
        return True
    told = (image.get(name) or "" for name in ("src", "class", "id", "alt"))
    return any(_SPINNER.search(each[:LOOK_CHARS]) for each in told)


def _stands_in(image: Element) -> bool:
    """Whether it is a picture of next to nothing in its own address, and names no other: a grey box."""
    src = (image.get("src") or "").strip().lower()
    is_other_named = any(str(name).startswith(("data-", "srcset")) for name in image.keys())  # noqa: SIM118  # lxml
    return src.startswith("data:") and len(src) <= _TINY_CHARS and not is_other_named


def _plain(text: str) -> str:
    """The text without holes, white space folded."""
    return " ".join((_HOLE.sub("", text) if "{{" in text else text).split())


def _is_sign(text: str) -> bool:
    """Whether it is nothing, or a sign of loading."""
    return _WORD.search(text) is None or (len(text) <= _LOADING_CHARS and _LOADING.search(text) is not None)


def _mount(element: Element) -> Mount | None:
    if (mount := _BY_ID.get(element.get("id", "")) or _BY_TAG.get(str(element.tag))) is not None:
        return mount
    attributes = element.keys()
    return next((mount for name, mount in _BY_ATTRIBUTE.items() if name in attributes), None)


def _is_empty(element: Element) -> bool:
    """Whether nothing but a sign of loading is in it."""
    if next(islice(element.iter(), _MOST_WITHIN, None), None) is not None:
        return False
    found = islice(_readable(element), _MOST_ELEMENTS)
    return all(part.element.tag != "a" and _is_sign(_plain(part.text)) for part in found)
