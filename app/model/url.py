"""URLs: the text that is sent, the origin that owns its robots.txt, and the key that identifies it."""

from enum import StrEnum
from typing import NamedTuple


class Origin(NamedTuple):
    """The unit of robots.txt (RFC 9309 section 2.3): scheme, host, port.

    host is the lower-case, IDNA (ASCII) hostname; an IPv6 literal keeps its brackets. port is always explicit.
    """

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        default = 443 if self.scheme == "https" else 80
        return f"{self.scheme}://{self.host}" + ("" if self.port == default else f":{self.port}")


class Url(NamedTuple):
    """A URL as it is sent, with the key that identifies it. Made only by `app.policy.url.Canon`.

    text    as sent: ASCII, no fragment, no credentials, at most 2,083 characters
    origin  scheme, host and explicit port
    target  path and query as sent, starts with "/"
    key     SHA-256 of its canonical form, equal for every order of its parameters: 32 bytes
    linked  the target as it was linked, where tracking or session parameters were taken out of it
    form    identifies this spelling among those of the key; the key itself for the canonical form
    """

    text: str
    origin: Origin
    target: str
    key: bytes
    linked: str | None
    form: bytes

    @property
    def host(self) -> str:
        return self.origin.host


def target_of(url: str) -> str:
    """The path and query of a URL's text."""
    return "/" + url.partition("://")[2].partition("/")[2]


def on_host(found_on: str | None, url: Url) -> str | None:
    """The path and query of the page that named a URL, where it is of the same origin."""
    if found_on is None:
        return None
    start = len(url.text) - len(url.target)
    return found_on[start:] if found_on.startswith(url.text[: start + 1]) else None


class Refusal(StrEnum):
    """The reason why a URL was not admitted: the closed list of `suppressions.reason`."""

    INVALID = "invalid"  # not a URL by the WHATWG standard
    SCHEME = "scheme"  # neither http nor https
    PORT = "port"  # one that browsers refuse, such as 25
    CREDENTIALS = "credentials"  # user or password in the URL
    LENGTH = "length"  # over 2,083 characters as sent
    EXTENSION = "extension"  # a file type that holds no links and no text
    SCOPE = "scope"  # outside the crawl's scope (host, domain, prefix)
    EXCLUDED = "excluded"  # matches an exclude pattern, or no include pattern
    DEPTH = "depth"  # deeper than the crawl's max_depth
    NOFOLLOW = "nofollow"  # the link says rel=nofollow, or its page nofollow
    HIDDEN = "hidden"  # no person can see the link: it may be a trap for robots
    REDIRECTS = "redirects"  # more than 10 hops, or a loop
    TRAP_DEPTH = "trap_depth"  # its path has more segments than the profile follows
    TRAP_REPEATS = "trap_repeats"  # segments of its path repeat in a row
    TRAP_PATTERN = "trap_pattern"  # URLs of its shape bring nothing new
    FRONTIER_FULL = "frontier_full"  # its host, its crawl or all of the frontier is at its cap, and others score higher
