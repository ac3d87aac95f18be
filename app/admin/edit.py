"""Changes a crawl's scope, patterns, budgets, freshness, sitemaps and opt-outs, or opens a crawl with them."""

import shlex
from collections.abc import Sequence
from functools import partial
from typing import Final

from sqlalchemy import Connection, Engine

from app.admin.crawls import create, find, wake
from app.beat.finish import recount
from app.config import Settings
from app.crawl.state.canon import make_canon
from app.errors import InputError
from app.model import CrawlChange, CrawlSpec, Url
from app.model.crawl import OPTIONS, Option
from app.policy import crawl_spec, scope
from app.policy.focus.profile import Profile
from app.policy.focus.profile_text import profile_of
from app.policy.scope import ScopeKind
from app.policy.url import Canon
from app.store import crawls, db, hosts, urls
from app.store.crawls import Crawl

REOPEN_PAGE: Final = 1_000


def edit(engine: Engine, settings: Settings, name: str, change: CrawlChange) -> Crawl:
    """Change a crawl. Returns it as it is afterwards. Raises InputError, and changes nothing then.

    Queued URLs are judged again before they are fetched. Links that a narrower scope refused are admitted when found
    again. URLs that were refused as traps are queued again if the new profile allows them.
    """
    crawl_id = find(engine, name).id
    if change.is_empty:
        raise InputError(f"crawl {name}", "no change was given; see tiptoe crawl edit --help")
    with db.transaction(engine) as tx:
        crawls.lock(tx, crawl_id)
        crawl = crawls.by_id(tx, crawl_id)
        spec = change.of(crawl.spec)
        crawl_spec.check(spec)
        if spec.scope != crawl.scope:
            _redraw(tx, settings, crawl, ScopeKind(spec.scope))
        crawls.change(tx, crawl_id=crawl_id, spec=spec)
    recount(engine, crawl_id)
    if "profile" in change.given:
        _reopen_traps(engine, settings, crawl_id, profile_of(spec.profile))
    with db.transaction(engine) as tx:
        waiting = urls.hosts_queued(tx, crawl_id) if crawl.state == "active" else []
    wake(engine, waiting)
    return find(engine, name)


def _reopen_traps(engine: Engine, settings: Settings, crawl_id: int, profile: Profile) -> None:
    """Queue what was refused as a trap and the profile allows; a page of URLs in a transaction."""
    if not profile.traps.allow:
        return
    canon = make_canon(settings)
    with db.transaction(engine) as tx:
        found = urls.trapped_hosts(tx, crawl_id)
    for host_id in found:
        after: bytes | None = b""
        while after is not None:
            after = db.repeat(partial(_reopen_page, engine, canon, crawl_id, profile, host_id, after))


def _reopen_page(
    engine: Engine, canon: Canon, crawl_id: int, profile: Profile, host_id: int, after: bytes
) -> bytes | None:
    """Returns the last key of the page, or None."""
    with db.transaction(engine) as tx:
        hosts.lock(tx, [host_id])
        rows = urls.trapped(tx, host_id=host_id, crawl_id=crawl_id, after=after, n=REOPEN_PAGE)
        parsed = [(key, canon.of_row(text, key, linked)) for key, text, linked in rows]
        allowed = [key for key, url in parsed if isinstance(url, Url) and profile.allows(url)]
        urls.reopen(tx, host_id=host_id, rows=[{"crawl_id": crawl_id, "key": key} for key in allowed])
    return rows[-1][0] if rows else None


def open_crawl(engine: Engine, settings: Settings, name: str, wish: CrawlChange) -> Crawl:
    """Open the crawl of this name; create it if it is new. Raises InputError if it has another scope or other patterns.

    The budgets, freshness, sitemaps and opt-outs of an existing crawl change, as far as they are given.
    """
    with db.transaction(engine) as tx:
        known = crawls.by_name(tx, name)
    if known is None:
        return create(engine, name, wish.of(CrawlSpec()))
    _check_reach(known, wish)
    rest = wish.without_fixed()
    return known if rest.is_empty else edit(engine, settings, name, rest)


def _check_reach(crawl: Crawl, wish: CrawlChange) -> None:
    """Raises InputError for a scope or patterns other than the crawl's. Those that are not given are not checked."""
    crawl_spec.check(wish.of(crawl.spec))
    for option in OPTIONS.values():
        given, has = wish.given.get(option.column), getattr(crawl, option.column)
        if option.is_fixed and given and given != has:
            _refuse_other(crawl, option, *([given], [has]) if isinstance(given, str) else (given, has))


def _refuse_other(crawl: Crawl, option: Option, given: Sequence[str], has: Sequence[str]) -> None:
    options = " ".join(f"--{option.flag} {shlex.quote(each)}" for each in given)
    raise InputError(
        f"{option.name} {' '.join(given)}",
        f"crawl {crawl.name} already has the {option.name} {' '.join(has) or 'none'}; leave it out, or run: "
        f"tiptoe crawl edit {crawl.name} {options}",
    )


def _redraw(tx: Connection, settings: Settings, crawl: Crawl, kind: ScopeKind) -> None:
    """Draw another scope around the seeds, and around the hosts that are already in it."""
    texts = urls.seed_urls(tx, crawl.id)
    if kind is ScopeKind.DOMAIN:
        texts = [*texts, *(f"http://{host}/" for host in crawl.scope_hosts)]
    canon = make_canon(settings)
    around = [url for url in map(canon.canonicalise, texts) if isinstance(url, Url)]
    crawls.widen(tx, crawl_id=crawl.id, around=scope.scope_of(around, kind=kind))
