"""The canonical form as the rows of the tests need it."""

from app.model import Url
from app.policy.url import (
    Canon,
)

CANON = Canon()


def keyed(text: str) -> bytes | None:
    found = CANON.canonicalise(text)
    return found.key if isinstance(found, Url) else None


def form(text: str, canon: Canon = CANON) -> str:
    """As it is sent."""
    found = canon.canonicalise(text)
    return found.text if isinstance(found, Url) else f"({found})"
