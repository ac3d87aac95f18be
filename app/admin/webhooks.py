"""Adds, lists and removes the subscribers of a crawl's changes, and sends them events again.

A secret is shown once, as its subscriber is added, and is in no log.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Engine

from app.admin.changes import START, ChangesWish, filters_of
from app.admin.check import Check, Grade
from app.admin.crawls import find as find_crawl
from app.config import Settings
from app.crawl.state.canon import make_canon, make_resolver
from app.errors import InputError, NotSent
from app.features.changes import rows, webhooks
from app.features.changes import rows as cursors
from app.features.changes.rows import Cursor
from app.features.changes.webhooks import NewWebhook, Webhook
from app.features.changes.webhooks import shown_url as shown_url
from app.model import Refusal
from app.net.address import make_guard
from app.net.dns import DnsFailed
from app.store import db
from app.words import counted

WEBHOOKS: Final = "webhooks"  # name of their check
URL_MOST: Final = 2_000
_USER: Final = re.compile(r"(^\s*\w*:?[/\\]*)[^/\\?#]*@")  # WHATWG: of http a backslash is a slash


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedWebhook:
    """secret: shown now, and never again"""

    id: int
    crawl: str
    url: str
    secret: str


def add(
    engine: Engine,
    settings: Settings,
    name: str,
    url: str,
    *,
    kinds: Sequence[str] = (),
    pattern: str | None = None,
    begin: str | None = None,
) -> AddedWebhook:
    """Add a subscriber. It gets what happens from now on.   begin: a cursor, or start: what came after it, too

    Raises InputError for a URL that cannot be one, or whose address the guard does not allow.
    """
    crawl = find_crawl(engine, name)
    filters_of(ChangesWish(kinds=kinds, pattern=pattern))
    address = _checked(settings, url)
    secret = webhooks.make_secret()
    new = NewWebhook(crawl.id, address, secret, kinds=[*kinds] or None, pattern=pattern)
    place = _place(engine, begin)
    with db.transaction(engine) as tx:
        made = webhooks.add(tx, new, place)
    if made is None:
        raise InputError(f"webhook {url}", f"crawl {name} has it already; tiptoe webhook list shows it")
    return AddedWebhook(id=made, crawl=crawl.name, url=address, secret=secret)


def listed(engine: Engine, name: str | None = None) -> list[Webhook]:
    """The subscribers of a crawl.   name: None: of all. Raises InputError."""
    crawl_id = None if name is None else find_crawl(engine, name).id
    with db.transaction(engine) as tx:
        return webhooks.listed(tx, crawl_id)


def remove(engine: Engine, webhook_id: int) -> str:
    """Remove a subscriber. Returns its URL. Raises InputError."""
    with db.transaction(engine) as tx:
        return _known(webhook_id, webhooks.remove(tx, webhook_id))


def replay(engine: Engine, webhook_id: int, begin: str) -> str:
    """Send a subscriber again what came after a cursor, or the start. Returns its URL. Raises InputError."""
    place = _place(engine, begin)
    with db.transaction(engine) as tx:
        return _known(webhook_id, webhooks.replay(tx, webhook_id, place))


def checks(engine: Engine) -> list[Check]:
    """Check whether subscribers take what they are sent."""
    with db.transaction(engine) as tx:
        failing = [each for each in webhooks.listed(tx) if each.failures]
    return [
        Check(
            name=WEBHOOKS,
            grade=Grade.WARN,
            finding=f"webhook {each.id} of {each.crawl} failed {counted(each.failures, 'time')} in a row: {each.why}",
            remedy=f"correct what answers at {shown_url(each.url)}, or tiptoe webhook remove {each.id}",
        )
        for each in failing
    ]


def _place(engine: Engine, begin: str | None) -> Cursor:
    """The place that a person names. Raises InputError for a cursor that cannot be continued."""
    now = rows.horizon(engine)
    if begin is None:
        return Cursor(now.lineage, now.newest)
    if begin == START:
        return Cursor(now.lineage, cursors.START)
    place = cursors.parse(begin)
    cursors.check(place, lineage=now.lineage, top=now.top, deleted=now.deleted)
    return place


def _known(webhook_id: int, url: str | None) -> str:
    if url is None:
        raise InputError(f"webhook {webhook_id}", "does not exist; tiptoe webhook list shows those that do")
    return url


def _checked(settings: Settings, text: str) -> str:
    """The URL of a subscriber. Raises InputError. Its address is checked anew at each message: a name may move."""
    bare = _USER.sub(r"\1…@", text)
    what = f"webhook {bare[:100]}"
    if len(text) > URL_MOST:
        raise InputError(what, f"is longer than {URL_MOST:,} characters; give a shorter one")
    if bare != text:
        raise InputError("webhook URL", "holds a user or password; the signature says that a message is from here")
    url = make_canon(settings).canonicalise(text)
    if url is Refusal.PORT:
        raise InputError(what, "names a port that no browser requests; give it another one")
    if isinstance(url, Refusal):
        raise InputError(what, "is not a URL of http or https; write it in full, e.g. https://example.org/hook")
    host, port = url.origin.host.strip("[]"), url.origin.port
    try:
        found = make_resolver(settings).resolve(host, port, timeout_s=10.0)
    except (DnsFailed, NotSent) as error:
        raise InputError(what, f"its name cannot be looked up ({error}); correct it, or try again") from error
    sorted_ = make_guard(settings.networks).sort_out(found, require_contact=settings.contact is None)
    if not sorted_.allowed:
        address, why = sorted_.blocked[0]
        remedy = "give a public one, or allow its network with TIPTOE_ALLOW_NETWORKS"
        raise InputError(what, f"its address {address} may not be contacted ({why}); {remedy}")
    return f"{url.origin}{url.linked or url.target}"  # as written: another's parameters are no tracking of ours
