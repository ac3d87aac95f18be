"""The canonical form of release 0.1, which was sent and hashed alike: frontiers of that release are full of it."""

import re

from app.model import Url

_UNRESERVED = re.compile("%(2D|2E|5F|7E|3[0-9]|4[1-9A-F]|5[0-9A]|6[1-9A-F]|7[0-9A])", re.IGNORECASE)


def canonical_of_0_1(url: Url) -> str:
    """Of a URL that is sent without tracking parameters: escapes normal, the query sorted by name and value."""
    path, _, query = _normal(url.target).partition("?")
    kept = sorted((part for part in query.split("&") if part), key=lambda part: part.partition("="))
    return f"{url.origin}{path}" + ("?" + "&".join(kept) if kept else "")


def has_repeated_names(canonical: str) -> bool:
    """Whose values it sorted, and we do not: another key, unless they were in order."""
    names = [part.partition("=")[0] for part in canonical.partition("?")[2].split("&")]
    return len(set(names)) < len(names)


def _normal(target: str) -> str:
    bare = re.sub("%(?![0-9A-Fa-f]{2})", "\0", target)  # found first: what is decoded makes no new escape
    upper = re.sub("%[0-9a-f]{2}", lambda escape: escape[0].upper(), bare, flags=re.IGNORECASE)
    return _UNRESERVED.sub(lambda escape: chr(int(escape[1], 16)), upper).replace("\0", "%25")
