"""Recognises app shells: pages that show nothing until a browser runs their scripts. It runs none.

A plain page that is called a shell is worse than a shell that is missed, so three things must come together: next to
nothing to read, follow or fill in; scripts of the page's own; and an empty place for them, or a noscript that asks for
JavaScript. What is looked for stands in rows, ours, by the templates that frameworks ship (`_MOUNTS`, `_STATES` …).
Redirects, frames, forms, pictures and short texts are what they are without scripts: no shells. `app.parse.html.html`
asks only where there is little main text.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from app.model.shell import Evidence, ShellSign
from app.parse.html import shell_data
from app.parse.html.tree import Element
from app.words import counted

LITTLE_TEXT_CHARS: Final = 500  # of main text: a page with more is not looked at
_MOST_CHARS = 200  # that a shell shows: a name, "loading", a copyright
_MOST_LINKS = 5
_MOST_IMAGES = 1  # a logo, or a spinner
_MOST_ELEMENTS = 400
_LOOK_CHARS = 1_000  # of a noscript, and of a script's URL, as far as we look
_INLINE_CHARS = 2_000  # an inline script of so many builds something


class _Mount(NamedTuple):
    """An element that a framework fills, by id, or by tag or attribute. weak: others have it too; it needs a noscript
    or data beside it."""

    name: str
    by: str = "id"
    weak: bool = False


_MOUNTS: Final = (
    _Mount("root"),  # React: Create React App, Vite
    _Mount("react-root"),
    _Mount("app"),  # Vue, Svelte, Vite
    _Mount("q-app"),  # Quasar
    _Mount("__next"),
    _Mount("__nuxt"),
    _Mount("___gatsby"),
    _Mount("svelte"),
    _Mount("app-root", "tag"),  # Angular
    _Mount("ng-view", "attribute"),  # AngularJS
    _Mount("ui-view", "attribute"),
    _Mount("data-reactroot", "attribute"),
    _Mount("main", weak=True),
    _Mount("mount", weak=True),
    _Mount("application", weak=True),
    _Mount("app-root", weak=True),
)
_BY_ID: Final = {mount.name: mount for mount in _MOUNTS if mount.by == "id"}
_BY_TAG: Final = {mount.name: mount for mount in _MOUNTS if mount.by == "tag"}
_BY_ATTRIBUTE: Final = tuple(mount for mount in _MOUNTS if mount.by == "attribute")
# What stands in a mount until the scripts have run.
_LOADING = re.compile(
    r"(?:loading|please wait|one moment(?: please)?|laden|lädt|wird geladen|chargement(?: en cours)?|cargando"
    r"|caricamento|carregando|загрузка|加载中|读取中|読み込み中|[\s.…])*+",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"(?:enable|activate|turn on|switch on|allow|without|requires?|needs?)\s(?:[\w'’]+\s){0,3}java\s?script"
    r"|java\s?script\s(?:[\w'’]+\s){0,3}(?:enabled|disabled|required|needed|turned on|activated|turned off)"
    r"|java\s?script\s(?:[\w'’]+\s){0,2}(?:aktivieren|benötigt|erforderlich|deaktiviert)"
    r"|(?:activer|activez|habilit\w+|active|attiva\w*|ative)\s(?:[\w'’]+\s){0,2}java\s?script"
    r"|(?:включи\w*|启用|有効)\s?java\s?script|java\s?scriptを有効",
    re.IGNORECASE,
)
# A file that a bundler wrote, by its name: main.3f2a91bc.js, index-BkQz81ab.js, runtime.js, /_next/static/….
_BUNDLE = re.compile(
    r"(?:^|/)(?:main|index|app|bundle|runtime|vendors?|polyfills|chunk-\w+)"
    r"(?:[.-][\w-]{6,})?(?:\.(?:bundle|chunk))?(?:\.min)?\.m?js\b"
    r"|/_next/|/_nuxt/|/_app/immutable/|/build/bundle\.js|/static/js/",
    re.IGNORECASE,
)
# Those that count visitors, show advertisements or ask for consent build no page.
_OTHERS = re.compile(
    r"google-?(?:tagmanager|analytics)|googlesyndication|doubleclick|gtag/|matomo|piwik|hotjar|plausible|cloudflareinsights"
    r"|cookie|consent|recaptcha|hcaptcha|fbevents|connect\.facebook|segment\.(?:com|io)|newrelic|sentry|clarity\.ms",
    re.IGNORECASE,
)
_RUNS = frozenset({"", "module", "text/javascript", "application/javascript", "text/ecmascript", "text/babel"})
_REDIRECTS = re.compile(r"\blocation\s*(?:\.href\s*)?=(?!=)|\blocation\s*\.\s*(?:replace|assign)\s*\(")
# Content or its frame: a page with one of these shows something, or is elsewhere.
_SHOWS = frozenset(
    """form input select textarea button iframe frame frameset object embed video audio table pre canvas picture map
    article""".split()  # noqa: SIM905 (a list literal takes 20 lines)
)
_UNSHOWN = frozenset({"script", "style", "noscript", "head", "title", "svg"})


class _Shown(NamedTuple):
    """The content of a page without scripts, with evidence. chars: of text.

    mount     the first that is empty;   is_bare: no word, link or picture but a sign of loading
    """

    chars: int
    mount: _Mount | None
    is_bare: bool


def evidence(root: Element) -> Evidence:
    """The evidence that the page of this tree is an app shell; none for a plain page."""
    scripts = [script for script in root.iter("script") if _is_own(script)]
    if not scripts or _refreshes(root) or (shown := _shown(root)) is None:
        return {}
    asks = any(map(_asks, root.iter("noscript")))
    data = shell_data.find(root)
    is_bare = shown.is_bare and not any(map(_redirects, root.iter("script")))
    found: dict[ShellSign, str] = {}
    if shown.mount is not None and (asks or data or not shown.mount.weak):
        found[ShellSign.EMPTY_ROOT] = _named(shown.mount)
    elif is_bare and any(_BUNDLE.search(_src(script)) for script in scripts):
        found[ShellSign.EMPTY_BODY] = "body"
    if asks and (found or is_bare):
        found[ShellSign.NOSCRIPT] = "asks"
    if not found:
        return {}
    found[ShellSign.SCRIPTS] = counted(len(scripts), "script")
    found[ShellSign.TEXT] = counted(shown.chars, "character")
    return found | data


def _is_own(script: Element) -> bool:
    """Whether it may build the page: a file that is no counter's, a module, or a long script."""
    if (script.get("type") or "").strip().lower() not in _RUNS:
        return False
    if src := _src(script):
        return _OTHERS.search(src) is None
    return script.get("type") == "module" or len(script.text or "") >= _INLINE_CHARS


def _src(script: Element) -> str:
    return (script.get("src") or "")[:_LOOK_CHARS]


def _asks(noscript: Element) -> bool:
    text = "".join(map(str, noscript.itertext()))[:_LOOK_CHARS]
    return _ASKS.search(" ".join(text.split())) is not None


def _refreshes(root: Element) -> bool:
    return any((meta.get("http-equiv") or "").strip().lower() == "refresh" for meta in root.iter("meta"))


def _redirects(script: Element) -> bool:
    return script.text is not None and _REDIRECTS.search(script.text) is not None


def _shown(root: Element) -> _Shown | None:
    """The content of the page; None as soon as it is more than a shell's."""
    pieces: list[str] = []
    mounts: list[tuple[_Mount, Element]] = []
    chars = links = images = 0
    for n, (element, text) in enumerate(_readable(root)):
        tag = element.tag
        folded = " ".join(text.split())
        chars += len(folded)
        links += tag == "a" and element.get("href") is not None
        images += tag == "img"
        if tag in _SHOWS or chars > _MOST_CHARS or links > _MOST_LINKS or images > _MOST_IMAGES or n > _MOST_ELEMENTS:
            return None
        pieces.append(folded)
        if (mount := _mount(element)) is not None:
            mounts.append((mount, element))
    empty = (mount for mount, element in mounts if _is_empty(element))
    is_bare = not links and not images and _LOADING.fullmatch(" ".join(pieces)) is not None
    return _Shown(chars, next(empty, None), is_bare)


def _readable(root: Element) -> Iterator[tuple[Element, str]]:
    """Each element that is shown, with the text directly in it, in no order that matters."""
    stack = [root]
    while stack:
        element = stack.pop()
        shown = element.tag not in _UNSHOWN and (element.tag != "template" or element.get("shadowrootmode") is not None)
        children = list(element) if shown else []
        if shown:
            yield element, " ".join([element.text or "", *(child.tail or "" for child in children)])
        stack.extend(reversed(children))


def _mount(element: Element) -> _Mount | None:
    if (mount := _BY_ID.get(element.get("id", "")) or _BY_TAG.get(str(element.tag))) is not None:
        return mount
    return next((mount for mount in _BY_ATTRIBUTE if element.get(mount.name) is not None), None)


def _is_empty(element: Element) -> bool:
    """Whether nothing but a sign of loading is in it."""
    found = list(_readable(element))
    text = " ".join(" ".join(text for _, text in found).split())
    return _LOADING.fullmatch(text) is not None and not any(inner.tag == "a" for inner, _ in found)


def _named(mount: _Mount) -> str:
    return {"id": f"#{mount.name}", "tag": f"<{mount.name}>", "attribute": f"[{mount.name}]"}[mount.by]
