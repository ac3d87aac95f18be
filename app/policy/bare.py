"""A host name without a scheme, as people type it: `example.org`, `example.org/docs`, `localhost:8000`."""

import re

_BARE = re.compile(r"(?:localhost|\[[0-9a-fA-F:.]+\]|(?:[\w-]+\.)+[\w-]+\.?)(?::\d{1,5})?(?:[/?#]\S*)?")


def bare_host(text: str) -> str | None:
    """The https URL that a person means by a bare host. None for anything else, a single word included."""
    return f"https://{text}" if _BARE.fullmatch(text) else None
