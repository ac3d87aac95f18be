"""Recognises app shells: pages that show nothing until a browser runs their scripts. It runs none.

A plain page that is called a shell is worse than a shell that is missed, so three things must come together: next to
nothing to read, follow or fill in (`app.parse.html.shell_shown`); scripts of the page's own; and an empty place for
them. A page without a word, a link or a picture is such a place as a whole, whoever built it: it has nothing to lose.
Others need an element that frameworks fill, or that their own script names, or a template that is repeated. What is
looked for stands in rows, ours, by the templates that frameworks ship (`_MOUNTS`, `_STATES` …). Redirects, frames,
forms, pictures and short texts are what they are without scripts: no shells. `app.parse.html.html` asks only where
there is little main text.
"""

import re
from itertools import islice
from typing import Final

from app.model.render import Evidence, ShellSign
from app.parse.html import shell_data, shell_shown
from app.parse.html.shell_shown import LOOK_CHARS, Mount, Shown
from app.parse.html.tree import Element
from app.words import counted

LITTLE_TEXT_CHARS: Final = 500  # of main text: a page with more is not looked at
_NAME_CHARS = 60  # of an element, as it is told
_INLINE_CHARS = 2_000  # an inline script of so many builds something

_ASKS = re.compile(
    r"(?:enable|activate|turn on|switch on|allow|without|requires?|needs?)\s(?:[\w'’]+\s){0,3}java\s?script"
    r"|java\s?script\s(?:[\w'’]+\s){0,3}(?:enabled|disabled|required|needed|turned on|activated|turned off)"
    r"|java\s?script\s(?:[\w'’]+\s){0,2}(?:aktivieren|benötigt|erforderlich|deaktiviert)"
    r"|(?:activer|activez|habilit\w+|active|attiva\w*|ative)\s(?:[\w'’]+\s){0,2}java\s?script"
    r"|(?:включи\w*|启用|有効)\s?java\s?script|java\s?scriptを有効",
    re.IGNORECASE,
)
# A file that a bundler wrote, or a site's one script, by its name: main.3f2a91bc.js, runtime.js, /_next/static/….
_BUNDLE = re.compile(
    r"(?:^|/)(?:main|index|app|site|scripts?|bundle|runtime|vendors?|polyfills|chunk-\w+)"
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
# Files of others that build nothing by themselves.
_LIBRARY = re.compile(
    r"(?:^|/)(?:jquery|bootstrap|modernizr|popper|html5shiv|respond|lightbox)[\w.-]*\.js\b", re.IGNORECASE
)
_LOADS = re.compile(
    r"\bfetch\s*\(|\bXMLHttpRequest\b|\$\s*\.\s*(?:get|getJSON|ajax|post)\b|\.load\s*\(|\baxios\b|\bEventSource\b"
)
_WRITES = re.compile(
    r"\bimport\s*\(|\.(?:innerHTML|textContent|insertAdjacentHTML|replaceChildren)\b"
    r"|\.(?:append|appendChild|html|load|write|writeln|render|mount|init|bootstrap|createRoot|createApp)\s*\("
)
_RUNS = frozenset({"", "module", "text/javascript", "application/javascript", "text/ecmascript", "text/babel"})
_REDIRECTS = re.compile(r"\blocation\s*(?:\.href\s*)?=(?!=)|\blocation\s*\.\s*(?:replace|assign)\s*\(")


def evidence(root: Element) -> Evidence:
    """The evidence that the page of this tree is an app shell; none for a plain page."""
    scripts = [script for script in root.iter("script") if _is_own(script)]
    if not scripts or _refreshes(root) or (shown := shell_shown.of(root)) is None:
        return {}
    asks = any(map(_asks, root.iter("noscript")))
    data = shell_data.find(root)
    is_bare = shown.is_bare and not any(map(_redirects, root.iter("script")))
    found = _empty(shown, scripts, is_bare=is_bare, is_backed=asks or bool(data))
    if asks and (found or is_bare):
        found[ShellSign.NOSCRIPT] = "asks"
    if not found:
        return {}
    found[ShellSign.SCRIPTS] = counted(len(scripts), "script")
    found[ShellSign.TEXT] = counted(shown.chars + shown.framed, "character")
    return found | data


def _empty(shown: Shown, scripts: list[Element], *, is_bare: bool, is_backed: bool) -> dict[ShellSign, str]:
    """The place that scripts fill.   is_backed: other evidence stands beside it"""
    if (mount := shown.mount()) is not None and (is_backed or not mount.weak):
        return {ShellSign.EMPTY_ROOT: _named(mount)}
    if shown.is_template:
        return {ShellSign.TEMPLATE: "repeated"}
    places = shown.places()
    loading = "\n".join(text for script in scripts if (text := script.text) and _LOADS.search(text)) if places else ""
    if any(_fills(loading, place) for place in places):
        return {ShellSign.EMPTY_ROOT: "an element that a script names"}
    builders = [script for script in scripts if _LIBRARY.search(_src(script)) is None]
    if is_bare and builders and not shown.framed:
        return {ShellSign.EMPTY_BODY: "body"}
    is_bundled = any(map(_is_bundle, builders))
    place = next((each for each in places if _is_theirs(each, is_bare=is_bare, is_bundled=is_bundled)), None)
    return {ShellSign.EMPTY_ROOT: _place(place)} if builders and place is not None else {}


def _is_theirs(place: Element, *, is_bare: bool, is_bundled: bool) -> bool:
    """Whether scripts fill the empty place: there is nothing else beside a frame, or it is an empty list."""
    if is_bare:
        return is_bundled or shell_shown.is_filled(place)
    return is_bundled and place.tag in {"ul", "ol", "tbody"}


def _is_own(script: Element) -> bool:
    """Whether it may build the page: a file that is no counter's, a module, or a script that is long or writes."""
    if (script.get("type") or "").strip().lower() not in _RUNS:
        return False
    if src := _src(script):
        return _OTHERS.search(src) is None
    text = script.text or ""
    if script.get("type") == "module" or len(text) >= _INLINE_CHARS:
        return True
    return _WRITES.search(text) is not None and _OTHERS.search(text) is None


def _is_bundle(script: Element) -> bool:
    return script.get("type") == "module" or _BUNDLE.search(_src(script)) is not None


def _fills(loading: str, place: Element) -> bool:
    """Whether a script that loads something names that empty element.   loading: all of them"""
    name = place.get("id")
    return bool(name and any(f"{mark}{name}" in loading for mark in "#'\""))


def _src(script: Element) -> str:
    return (script.get("src") or "")[:LOOK_CHARS]


def _asks(noscript: Element) -> bool:
    text = "".join(map(str, islice(noscript.itertext(), LOOK_CHARS)))[:LOOK_CHARS]
    return _ASKS.search(" ".join(text.split())) is not None


def _refreshes(root: Element) -> bool:
    return any((meta.get("http-equiv") or "").strip().lower() == "refresh" for meta in root.iter("meta"))


def _redirects(script: Element) -> bool:
    return script.text is not None and _REDIRECTS.search(script.text) is not None


def _place(element: Element) -> str:
    return f"#{element.get('id')}"[:_NAME_CHARS] if element.get("id") else f"<{element.tag}>"[:_NAME_CHARS]


def _named(mount: Mount) -> str:
    return {"id": f"#{mount.name}", "tag": f"<{mount.name}>", "attribute": f"[{mount.name}]"}[mount.by]
