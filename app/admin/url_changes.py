"""Describes how a URL as sent differs from the URL as given. Pure; `app.policy.url` made the changes."""

from urllib.parse import urlsplit

from app.model import Url


def respelt(asked: str, url: Url) -> list[str]:
    """One phrase per change; none when it is sent as given."""
    text = asked.strip()
    if text == url.text:
        return []
    try:
        given, found = urlsplit(text), urlsplit(url.text)
    except ValueError:
        return ["spelt as the URL standard has it"]
    changes: list[str] = []
    if given.netloc != found.netloc:
        changes.append(f"host: {given.netloc} → {found.netloc}")
    if given.path != found.path:
        changes.append(f"path: {given.path or '(empty)'} → {found.path}")
    changes += _query(given.query, found.query)
    if "#" in text:
        changes.append(f"fragment dropped: #{given.fragment}")
    return changes or ["spelt as the URL standard has it"]


def _query(given: str, found: str) -> list[str]:
    if given == found:
        return []
    names, kept = _names(given), _names(found)
    dropped = [name for name in names if name not in kept]
    changes = [f"parameters dropped: {', '.join(dropped)}"] if dropped else []
    if not dropped:
        changes.append("escapes in the query normalised")
    return changes


def _names(query: str) -> list[str]:
    return [part.partition("=")[0] for part in query.split("&") if part]
