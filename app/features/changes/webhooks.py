"""Subscribers of a crawl's changes as rows. One query of webhooks.sql each. Secrets leave them in `claim` alone.

What is sent to a subscriber is signed as Standard Webhooks has it (standardwebhooks.com, version 1):

    webhook-id         the cursor of the message's last event
    webhook-timestamp  seconds since 1970, when it was sent
    webhook-signature  v1,BASE64(HMAC-SHA256(key, "ID.TIMESTAMP.BODY"))

A secret is whsec_ and the key in Base64.
"""

import base64
import hmac
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from sqlalchemy import Connection

from app.features.changes.rows import Cursor, EventPlace
from app.store import db

_sql = db.queries("webhooks", __file__)
_PREFIX: Final = "whsec_"


class Webhook(NamedTuple):
    """A subscriber, as a person sees it.

    sent       events that it took
    failures   in a row;   failing_since, why: None: it does not fail
    is_behind  there is something that it has not got
    """

    id: int
    crawl: str
    url: str
    kinds: Sequence[str] | None
    pattern: str | None
    added_at: datetime
    sent: int
    failures: int
    failing_since: datetime | None
    why: str | None
    next_try_at: datetime
    xid: int
    at_id: int
    lineage: str
    is_behind: bool

    @property
    def cursor(self) -> str:
        """The last event that it took."""
        return str(Cursor(self.lineage, EventPlace(self.xid, self.at_id)))


class DueWebhook(NamedTuple):
    """A subscriber that is lent, to be sent what it has not got.   cursor: the last event that it took"""

    id: int
    crawl_id: int
    crawl: str
    url: str
    secret: str
    kinds: Sequence[str] | None
    pattern: str | None
    xid: int
    at_id: int
    lineage: str
    failures: int
    lent_until: datetime

    @property
    def cursor(self) -> Cursor | None:
        """The last event that it took; None: it begins at the start."""
        place = EventPlace(self.xid, self.at_id)
        return None if place == EventPlace(0, 0) else Cursor(self.lineage, place)

    def __repr__(self) -> str:
        return f"DueWebhook(id={self.id}, url={self.url!r})"


class NewWebhook(NamedTuple):
    """A subscriber to be added.   pattern: of URLs, with *"""

    crawl_id: int
    url: str
    secret: str
    kinds: Sequence[str] | None
    pattern: str | None

    def __repr__(self) -> str:
        return f"NewWebhook(url={self.url!r})"


def add(tx: Connection, new: NewWebhook, begin: Cursor) -> int | None:
    """Add a subscriber. Returns its id; None: the crawl has one of this URL.   begin: it gets what comes after it"""
    where = {**new._asdict(), "kinds": None if new.kinds is None else list(new.kinds), **_at(begin)}
    row = db.run(tx, _sql["add"], where).one_or_none()
    return None if row is None else int(row.id)


def listed(tx: Connection, crawl_id: int | None = None) -> list[Webhook]:
    """The subscribers of a crawl.   crawl_id: None: of all"""
    return db.run(tx, _sql["listed"], {"crawl_id": crawl_id}).of(Webhook)


def remove(tx: Connection, webhook_id: int) -> str | None:
    """Remove a subscriber. Returns its URL; None: there is none of this id."""
    row = db.run(tx, _sql["remove"], {"id": webhook_id}).one_or_none()
    return None if row is None else str(row.url)


def replay(tx: Connection, webhook_id: int, begin: Cursor) -> str | None:
    """Let a subscriber go on after a place. Returns its URL; None: there is none of this id."""
    row = db.run(tx, _sql["replay"], {"id": webhook_id, **_at(begin)}).one_or_none()
    return None if row is None else str(row.url)


def claim(tx: Connection, *, lease_s: float) -> DueWebhook | None:
    """Lend the subscriber that has waited longest for an event; None: none waits, or others have them."""
    found = db.run(tx, _sql["claim"], {"lease_s": lease_s}).of(DueWebhook)
    return found[0] if found else None


def sent(tx: Connection, due: DueWebhook, upto: Cursor, *, n: int) -> None:
    """Note that it took n events, and has all up to a place."""
    db.run(tx, _sql["sent"], {"id": due.id, "lent_until": due.lent_until, "n": n, **_at(upto)})


def failed(tx: Connection, due: DueWebhook, why: str, *, rest_s: float) -> None:
    """Note that it did not take them, and why; it is tried again after rest_s."""
    db.run(tx, _sql["failed"], {"id": due.id, "lent_until": due.lent_until, "why": why, "rest_s": rest_s})


def drop_crawl(tx: Connection, crawl_id: int) -> None:
    db.run(tx, _sql["drop_crawl"], {"crawl_id": crawl_id})


def _at(cursor: Cursor) -> dict[str, object]:
    return {"xid": cursor.place.xid, "at_id": cursor.place.id, "lineage": cursor.lineage}


def shown_url(url: str) -> str:
    """A subscriber's URL without what may be secret in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/{'…' if len(parts.path) > 1 or parts.query else ''}"


def make_secret() -> str:
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def fields(secret: str, *, message: str, at: int, body: bytes) -> Mapping[str, str]:
    """The header fields of a message.   message: its id;   at: seconds since 1970"""
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    digest = hmac.new(key, f"{message}.{at}.".encode() + body, sha256).digest()
    return {
        "webhook-id": message,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
