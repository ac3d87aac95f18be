"""Documents that a seeded generator makes of what parsers stumble over: `document(7)` is always the same.

Each is a few runs of fragments: nested, repeated, numbered, cut in the middle, in an encoding that fits or does not.
"""

import json
import random
from collections.abc import Callable

TYPES = (
    "text/html",
    "text/html; charset=utf-8",
    "text/html; charset=utf-16",
    "text/html; charset=gb18030",
    "application/xhtml+xml",
    "text/plain",
)
_TAGS = """a abbr article aside b base body br button canvas caption col dd desc div dl dt em fieldset footer
    foreignObject form frameset h1 head header hr html i iframe img input li link main math menu meta nav noscript
    object ol option p pre script section select span strong style svg table tbody td template textarea th time title
    tr u ul video x-y""".split()  # noqa: SIM905  # a list literal takes a line per word
_ATTRIBUTES = """class id style hidden href src rel name content property itemprop datetime lang xml:lang type role
    aria-hidden http-equiv xlink:href shadowrootmode xmlns xmlns:h h:x""".split()  # noqa: SIM905  # as above
_VALUES = """display:none visibility:hidden nofollow canonical noindex /a ../b?c=d#e javascript:x http://h.test/
    //h.test application/ld+json datePublished 2026-01-02 0;url=x refresh robots description en x-default main nav
    related-posts http://www.w3.org/1999/xhtml true false""".split()  # noqa: SIM905  # as above
_QUOTES, _EQUALS = ("", '"', "'"), ("=", "= ", "")
_BEFORE, _AFTER = ("", "", "", "h:", "/"), (">", ">", ">", "/>", "")
_WORDS = (
    "word ",
    "wörter ",
    "漢字",
    "\U0001f600",
    "&amp;",
    "&#xd83d;",
    "&#0;",
    "&",
    "<",
    ">",
    '"',
    "=",
    "\n",
    "\t",
    " " * 50,
)
_MARKS = ("<!--", "-->", "<![CDATA[", "]]>", "<?", "?>", "<!DOCTYPE html>", "</", "<!", "\0", "\ufeff")


def document(seed: int) -> tuple[str, bytes]:
    """A media type, and some octets of it: at most 32 KiB."""
    rng = random.Random(seed)
    most = rng.choice((500, 4_000, 32_000))
    text = "".join(_run(rng, most // 2) for _ in range(rng.randint(1, 6)))[:most]
    encoding = rng.choice(("utf-8", "utf-8", "utf-8", "utf-16", "cp1251", "gb18030"))
    octets = text.encode(encoding, "surrogatepass" if encoding.startswith("utf") else "replace")
    if rng.random() < 0.1:
        octets = bytes(rng.randrange(256) if rng.random() < 0.02 else each for each in octets)
    return rng.choice(TYPES), octets[:32_768]


def _run(rng: random.Random, most: int) -> str:
    """Some fragments, over and over, up to so many characters."""
    make: Callable[[random.Random], str] = rng.choice((_tag, _tag, _tag, _words, _mark, _data))
    several = "".join(make(rng) for _ in range(rng.randint(1, 8)))
    times = min(rng.choice((1, 10, 1_000, 10_000)), most // len(several) + 1)
    if rng.random() < 0.3:  # each with a number of its own
        return "".join(f"{several}{n}" if n % 2 else several.replace("=", f"{n}=") for n in range(times))[:most]
    closing = rng.choice(("", "", f"</{rng.choice(_TAGS)}>" * times))
    return (several * times)[:most] + closing[:most]


def _tag(rng: random.Random) -> str:
    found = ""
    for _ in range(rng.choice((0, 0, 1, 2, 5))):
        quotes = rng.choice(_QUOTES), rng.choice(_QUOTES)
        found += f" {rng.choice(_ATTRIBUTES)}{rng.choice(_EQUALS)}{quotes[0]}{rng.choice(_VALUES)}{quotes[1]}"
    closed = rng.choice(("", f"</{rng.choice(_TAGS)}>"))
    return f"<{rng.choice(_BEFORE)}{rng.choice(_TAGS)}{found}{rng.choice(_AFTER)}{closed}"


def _words(rng: random.Random) -> str:
    return "".join(rng.choices(_WORDS, k=rng.randint(1, 20)))


def _mark(rng: random.Random) -> str:
    return rng.choice(_MARKS)


def _data(rng: random.Random) -> str:
    value: object = {"articleBody": _words(rng) * rng.choice((1, 50)) + "\ud83d", "datePublished": rng.choice(_VALUES)}
    for _ in range(rng.choice((0, 1, 50))):
        value = rng.choice(({"@graph": value}, [value, value] if rng.random() < 0.1 else [value]))
    said = json.dumps(value)[:4_000]
    return (
        f'<script type="application/ld+json">{said}</script><div id=root></div><script src=/static/js/main.js></script>'
    )
