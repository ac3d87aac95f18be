"""A crawl changed after it was made: its scope, patterns, budgets and freshness. And a crawl deleted."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from sqlalchemy import Engine

from app.config import Settings
from app.crawl import seed
from app.errors import InputError, ServiceError
from app.model import Url
from app.policy import scope
from app.policy.scope import ScopeKind
from app.policy.url import Canon
from app.store import crawls, db, deletion, hosts, urls
from app.store.crawls import Budgets, Crawl
from app.words import counted

POLL_S = 0.25
HOSTS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """None: as it is.   include, exclude: all that there shall be.   budgets: those that change; None there: no limit."""

    scope: str | None = None
    include: Sequence[str] | None = None
    exclude: Sequence[str] | None = None
    budgets: Mapping[str, float | None] = field(default_factory=dict)
    keep_fresh: bool | None = None
    sitemaps: str | None = None
    honour_opt_outs: bool | None = None

    @property
    def is_empty(self) -> bool:
        return self == Change()


def edit(engine: Engine, name: str, change: Change) -> Crawl:
    """The crawl as it is then. Raises InputError; then nothing was changed.

    What is queued is judged anew before it is fetched. What a narrower scope refused comes in when a link to it is found again.
    """
    crawl = seed.find(engine, name)
    if change.is_empty:
        raise InputError(f"crawl {name}", "nothing to change was given; see tiptoe crawl edit --help")
    budgets = replace(Budgets(**{key: getattr(crawl, key) for key in asdict(Budgets())}), **change.budgets)  # type: ignore[arg-type]
    kind = seed.check_shape(change.scope or crawl.scope, change.include, change.exclude, budgets)
    if change.sitemaps is not None:
        seed.check_sitemaps(change.sitemaps)
    keep_fresh = crawl.keep_fresh if change.keep_fresh is None else change.keep_fresh
    if change.budgets or change.keep_fresh is not None:
        seed.set_budgets(engine, crawl, budgets, keep_fresh=keep_fresh)
    seed.set_manners(engine, crawl, sitemaps=change.sitemaps, honour_opt_outs=change.honour_opt_outs)
    if change.scope is not None or change.include is not None or change.exclude is not None:
        _reshape(engine, crawl, kind, change)
    with db.transaction(engine) as tx:
        waiting = urls.hosts_queued(tx, crawl.id) if crawl.state == "active" else []
    with db.transaction(engine) as tx:
        hosts.wake(tx, sorted(waiting))
    return seed.find(engine, name)


def delete(engine: Engine, settings: Settings, name: str, *, patience_s: float | None = None) -> None:
    """End it, and delete its URLs, pages, duplicates, sitemaps, refused links and counts. The log of requests stays.

    Interrupted, it is finished, and deleting goes on where it stopped. Raises InputError, and ServiceError while a visit that may
    have its URLs in hand does not end.   patience_s: for those; None: a lease and a visit, after which none can write.
    """
    crawl = seed.find(engine, name)
    if crawl.state != "finished":
        seed.finish(engine, crawl)
    _await_visits(engine, crawl, settings.lease_s + settings.visit_longest_s if patience_s is None else patience_s)
    with db.transaction(engine) as tx:
        last = deletion.last_host(tx)
    for after in range(0, last + 1, HOSTS_AT_ONCE):
        with db.transaction(engine) as tx:
            deletion.of_hosts(tx, crawl_id=crawl.id, after=after, until=after + HOSTS_AT_ONCE)
    while True:
        with db.transaction(engine) as tx:
            if not deletion.suppressions(tx, crawl.id):
                break
    with db.transaction(engine) as tx:
        if not deletion.crawl(tx, crawl.id):
            raise InputError(f"crawl {name}", "was started again meanwhile; finish it, and delete it again")


def _await_visits(engine: Engine, crawl: Crawl, within_s: float) -> None:
    until = time.monotonic() + within_s
    while True:
        with db.transaction(engine) as tx:
            running = deletion.visits(tx, crawl.id)
        if not running:
            return
        if time.monotonic() > until:
            visits = counted(running, "visit is", "visits are")
            raise ServiceError(f"crawl {crawl.name}", f"{visits} at its hosts still; try again in a minute")
        time.sleep(POLL_S)


def _reshape(engine: Engine, crawl: Crawl, kind: ScopeKind, change: Change) -> None:
    """Another scope is drawn around the seeds, and around the hosts that are in it already."""
    with db.transaction(engine) as tx:
        if kind != crawl.scope:
            canon = Canon()
            found = [url for text in urls.seed_urls(tx, crawl.id) if isinstance(url := canon.canonicalise(text), Url)]
            found += [
                url
                for host in crawl.scope_hosts
                if kind is ScopeKind.DOMAIN and isinstance(url := canon.canonicalise(f"http://{host}/"), Url)
            ]
            drawn = scope.scope_of(found, kind=kind)
            crawls.widen(
                tx,
                crawl_id=crawl.id,
                hosts=sorted(drawn.hosts) if kind is ScopeKind.HOST else [],
                domains=sorted(drawn.domains) if kind is ScopeKind.DOMAIN else [],
                prefixes=drawn.prefixes if kind is ScopeKind.PREFIX else [],
            )
        crawls.reshape(
            tx,
            crawl_id=crawl.id,
            scope=kind,
            include=crawl.include if change.include is None else change.include,
            exclude=crawl.exclude if change.exclude is None else change.exclude,
        )
