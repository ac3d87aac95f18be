"""What a stored copy of robots.txt says of a URL: what a visit's gate would decide now. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.config import Settings
from app.errors import InputError
from app.model import Refusal, Url
from app.policy import robots
from app.policy.robots import ALLOW_ALL, DISALLOW_ALL, Availability, Robots
from app.policy.url import DEFAULT_TRACKING, Canon
from app.store.robots import Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What robots.txt says of a URL.

    allowed       None: nobody has fetched the origin's file yet
    availability  available; unavailable: there is none, all is allowed; unreachable: complete disallow until it answers
    rule, line    what decided; None when no line did
    """

    url: str
    origin: str
    allowed: bool | None
    availability: str | None = None
    group: str | None = None
    rule: str | None = None
    line: int | None = None
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()
    status: int | None = None
    detail: str | None = None
    fetched_at: datetime | None = None
    expires_at: datetime | None = None
    unreachable_since: datetime | None = None
    now: datetime | None = None

    def sentence(self) -> str:
        """The decision and who made it, for a person."""
        if self.allowed is None:
            return f"not known: nobody has fetched {self.origin}/robots.txt yet; a visit does before anything else"
        word = "allowed" if self.allowed else "refused"
        if self.availability == Availability.UNREACHABLE:
            return f"{word}: robots.txt is out of reach ({self.detail or self.status}): complete disallow (RFC 9309)"
        if self.availability == Availability.UNAVAILABLE:
            return f"{word}: the site has no robots.txt (status {self.status})"
        if self.rule is not None:
            return f"{word}: line {self.line}, {self.rule} (group {self.group})"
        return f"{word}: no line of group {self.group} is about it" if self.group else f"{word}: no group is about us"


def canonical(settings: Settings, text: str) -> Url:
    """Raises InputError for what is no URL of ours."""
    url = Canon((*DEFAULT_TRACKING, *settings.tracking_parameters)).canonicalise(text)
    if isinstance(url, Refusal):
        raise InputError(
            f"URL {text!r}", f"no URL that can be crawled ({url}); write it in full, as https://example.org/"
        )
    return url


def ruling(stored: Sequence[Stored], url: Url, token: str) -> Ruling:
    """Pure. stored: the host's origins."""
    for row in stored:
        if (row.scheme, row.port) == (url.origin.scheme, url.origin.port):
            return _by(row, url, token)
    return Ruling(url=url.text, origin=str(url.origin), allowed=None)


def rules_of(row: Stored, token: str) -> Robots:
    """The copy as our token reads it; parsing is what costs."""
    if row.availability == Availability.AVAILABLE:
        return robots.parse(row.body or b"", token)
    return DISALLOW_ALL if row.availability == Availability.UNREACHABLE else ALLOW_ALL


def _by(row: Stored, url: Url, token: str) -> Ruling:
    decision = rules_of(row, token).decide(url.target)
    return Ruling(
        url=url.text,
        origin=str(url.origin),
        allowed=decision.allowed,
        availability=row.availability,
        group=decision.group,
        rule=decision.rule if row.availability == Availability.AVAILABLE else None,
        line=decision.line,
        crawl_delay_s=row.crawl_delay_s,
        sitemaps=row.sitemaps,
        status=row.status,
        detail=row.detail or None,
        fetched_at=row.fetched_at,
        expires_at=row.expires_at,
        unreachable_since=row.unreachable_since,
        now=row.now,
    )
