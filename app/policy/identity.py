"""Makes the headers that identify us in every request (promises I1 and I2): honest, reachable, nobody else's name.

It does not decide which media types we read (the caller names them), nor when a contact is needed (the sender refuses
public hosts without one).
Sources: RFC 9110 sections 10.1.5 (User-Agent), 10.1.2 (From), 12.5 (Accept…); RFC 9309 section 2.2.1 (token).
"""

import re
from functools import lru_cache

from app.errors import InputError

# Tokens of browsers, their engines, and other operators' crawlers. Compared in lower case.
_FOREIGN = """
    mozilla gecko applewebkit webkit khtml blink presto trident
    chrome chromium headlesschrome crios safari firefox fxios seamonkey edge edg edga edgios msie iemobile
    opera opr vivaldi brave samsungbrowser ucbrowser yabrowser
    googlebot bingbot slurp duckduckbot baiduspider yandexbot applebot facebookexternalhit ccbot gptbot
"""
FOREIGN_TOKENS = frozenset(_FOREIGN.split())

_TOKEN = re.compile(r"[A-Za-z_-]+")
_VERSION = re.compile(r"[A-Za-z0-9.+_-]+")
# Visible ASCII but for the characters that end, nest or split a User-Agent comment: ( ) \ ; and the comma.
_MAIL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9.-]+")
_PURPOSE = re.compile(r"[ -~]{1,200}")
_PAGE = re.compile(r"https?://[!#-'*+\-./0-9:=?@A-Z\[\]_a-z~%]+", re.IGNORECASE)


def check(token: str, contact: str | None) -> None:
    """Raises InputError for a product token or a contact that is dishonest or unsafe to send."""
    if not _TOKEN.fullmatch(token):
        raise InputError(
            f"product token {token!r}", "is not a product token; use letters, _ and - only (RFC 9309 section 2.2.1)"
        )
    if token.lower() in FOREIGN_TOKENS:
        raise InputError(
            f"product token {token!r}", "names a browser or another operator's crawler; choose a name of your own"
        )
    if contact is not None and not (_MAIL.fullmatch(contact) or _PAGE.fullmatch(contact)):
        raise InputError(
            f"contact {contact!r}",
            "is neither a mail address nor a URL; write you@example.org or https://example.org/contact",
        )


def user_agent(*, token: str, version: str, contact: str | None, info_url: str | None) -> str:
    """`Tiptoe/0.2.0 (+https://info; contact)`, without the parts that are None. Raises InputError as `check` does."""
    check(token, contact)
    if not _VERSION.fullmatch(version):
        raise InputError(f"version {version!r}", "use letters, digits and . + _ - only")
    if info_url is not None and not _PAGE.fullmatch(info_url):
        raise InputError(
            f"info_url {info_url!r}",
            "is unfit for User-Agent; write an http(s) URL without white space, brackets, comma or semicolon",
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
    """The request headers that identify us and our purpose. `From` only for a mail address.

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
