"""Who we say we are, in every request (SPEC I1, I2): nobody else, reachable, and only what is true.
Of media types it offers those that it is given: what is read is the readers' affair.

It does not decide when a contact is needed (the sender refuses public hosts without one).
Sources: RFC 9110 sections 10.1.5 (User-Agent), 10.1.2 (From), 12.5 (Accept…); RFC 9309 section 2.2.1 (token).
"""

import re
from functools import lru_cache

from app.errors import InputError

# Tokens of browsers, their engines, and crawlers that others answer for. Compared in lower case.
_FOREIGN = """
    mozilla gecko applewebkit webkit khtml blink presto trident
    chrome chromium headlesschrome crios safari firefox fxios seamonkey edge edg edga edgios msie iemobile
    opera opr vivaldi brave samsungbrowser ucbrowser yabrowser
    googlebot bingbot slurp duckduckbot baiduspider yandexbot applebot facebookexternalhit ccbot gptbot
"""
FOREIGN_TOKENS = frozenset(_FOREIGN.split())

_TOKEN = re.compile(r"[A-Za-z_-]+")
_VERSION = re.compile(r"[A-Za-z0-9.+_-]+")
# Visible ASCII without what would end, nest or split a User-Agent comment: ( ) \ ; and the comma.
_MAIL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9.-]+")
_PURPOSE = re.compile(r"[ -~]{1,200}")
_PAGE = re.compile(r"https?://[!#-'*+\-./0-9:=?@A-Z\[\]_a-z~%]+", re.IGNORECASE)


def check(token: str, contact: str | None) -> None:
    """Raises InputError for a product token or a contact that we cannot send in good faith, or not safely."""
    if not _TOKEN.fullmatch(token):
        raise InputError(f"product token {token!r}", "use letters, _ and - only (RFC 9309 section 2.2.1)")
    if token.lower() in FOREIGN_TOKENS:
        raise InputError(
            f"product token {token!r}", "it names a browser or a crawler of others; choose a name of your own"
        )
    if contact is not None and not (_MAIL.fullmatch(contact) or _PAGE.fullmatch(contact)):
        raise InputError(f"contact {contact!r}", "give a mail address (you@example.org) or an http(s) URL")


def user_agent(*, token: str, version: str, contact: str | None, info_url: str | None) -> str:
    """`Tiptoe/0.1.0 (+https://info; contact)` without what is None. Raises InputError as `check` does."""
    check(token, contact)
    if not _VERSION.fullmatch(version):
        raise InputError(f"version {version!r}", "use letters, digits and . + _ - only")
    if info_url is not None and not _PAGE.fullmatch(info_url):
        raise InputError(
            f"info_url {info_url!r}", "give an http(s) URL without white space, brackets, comma or semicolon"
        )
    about = [part for part in (f"+{info_url}" if info_url else None, contact) if part]
    return f"{token}/{version}" + (f" ({'; '.join(about)})" if about else "")


@lru_cache(maxsize=16)
def accept(types: tuple[str, ...]) -> str:
    """The value of Accept that offers these media types and no other, the preferred first (RFC 9110 section 12.5.1)."""
    weights = [max(10 - place, 1) for place in range(len(types))]
    return ",".join(
        each if weight == 10 else f"{each};q=0.{weight}" for each, weight in zip(types, weights, strict=True)
    )


def headers(
    *, token: str, version: str, contact: str | None, info_url: str | None, purpose: str | None = None
) -> dict[str, str]:
    """The request headers that say who asks, and what for. `From` only for a mail address.

    Raises InputError as `check` does.
    """
    found = {
        "User-Agent": user_agent(token=token, version=version, contact=contact, info_url=info_url),
    }
    if contact is not None and _MAIL.fullmatch(contact):
        found["From"] = contact
    if purpose is not None:
        if not _PURPOSE.fullmatch(purpose):
            raise InputError(f"purpose {purpose!r}", "write 1 to 200 printable ASCII characters")
        found["X-Crawler-Purpose"] = purpose
    return found
