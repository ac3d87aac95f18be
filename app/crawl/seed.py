"""Crawls and their seeds: made, widened, started, paused, finished. What the commands and admin scripts call."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from sqlalchemy import Connection, Engine

from app.config import Settings
from app.crawl.canon import make_canon
from app.crawl.finish import finish as finish_ended
from app.crawl.finish import recount
from app.crawl.frontier import host_rows
from app.crawl.kit import make_resolver
from app.errors import InputError
from app.model import Refusal, RequestKind, Url
from app.net.address import Guard, is_public, make_guard
from app.net.dns import DnsFailed, Resolver
from app.policy import lane, scope
from app.policy.bare import bare_host
from app.policy.lifecycle import UrlEvent, url_after
from app.policy.scope import ScopeKind
from app.policy.url import Canon
from app.store import caps, crawls, db, hosts, urls
from app.store.crawls import Budgets, Crawl
from app.store.urls import Admission, Admitted, Lot

IMPORT_BATCH = 5_000
MOST_BAD_LINES = 1_000
TOLD_FROM = 100  # URLs of a host in a batch
RESOLVE_S = 5.0
SITEMAPS = ("none", "declared", "all")

_BUDGETS = {
    "max_pages": (1, 10**15),
    "max_bytes": (1, 10**18),
    "max_depth": (0, 10**9),
    "max_seconds": (0.001, 10**9),
}
WHY_NO_SEED = {
    Refusal.INVALID: "not a URL; write it in full, as https://example.org/",
    Refusal.SCHEME: "only http:// and https:// URLs can be crawled",
    Refusal.PORT: "use a port of a web server: browsers refuse this one; TIPTOE_BAD_PORTS changes the list",
    Refusal.CREDENTIALS: "take the user name and password out of the URL",
    Refusal.LENGTH: "longer than 2,083 characters",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BadSeed:
    """A line that is no seed. line: 1-based."""

    line: int
    text: str
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text[:200]!r}: {self.why}"


@dataclass(slots=True, kw_only=True)
class Added:
    """What became of some seeds. added: new rows; known: already in the crawl; bad: at most 1,000, bad_count: all."""

    added: int = 0
    known: int = 0
    bad_count: int = 0
    bad: list[BadSeed] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not self.added and not self.known


def create(
    engine: Engine,
    name: str,
    *,
    scope_kind: str = "host",
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    budgets: Budgets | None = None,
    keep_fresh: bool = False,
    sitemaps: str = "all",
    honour_opt_outs: bool = False,
) -> Crawl:
    """A new crawl, active, without seeds. Raises InputError: the name is taken, a pattern or the scope is no good.

    sitemaps         none; declared: those that robots.txt names; all: also /sitemap.xml where it names none
    honour_opt_outs  pages whose owner reserves text and data mining are not kept
    """
    budgets = budgets or Budgets()
    scope.scope_of([], kind=_kind(scope_kind), include=include, exclude=exclude, max_depth=budgets.max_depth)
    _check(name, budgets)
    with db.transaction(engine) as tx:
        made = crawls.create(
            tx,
            name=name,
            scope=scope_kind,
            include=include,
            exclude=exclude,
            budgets=budgets,
            keep_fresh=keep_fresh,
            sitemaps=check_sitemaps(sitemaps),
            honour_opt_outs=honour_opt_outs,
        )
        if made is None:
            raise InputError(f"crawl {name!r}", "there is one of this name; choose another, or add seeds to it")
        return crawls.by_id(tx, made)


def check_reach(
    crawl: Crawl, *, scope_kind: str | None, include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> None:
    """Raises InputError for a scope or patterns that are not those the crawl was made with; none given: nothing is asked."""
    scope.scope_of([], kind=_kind(scope_kind or crawl.scope), include=include, exclude=exclude, max_depth=None)
    for what, given, kept in (
        ("scope", [scope_kind] if scope_kind else [], [crawl.scope]),
        ("include", list(include), crawl.include),
        ("exclude", list(exclude), crawl.exclude),
    ):
        if given and given != kept:
            has = " ".join(kept) or "none"
            raise InputError(
                f"{what} {' '.join(given)}",
                f"crawl {crawl.name} has the {what} {has} already; leave it out, or: tiptoe crawl edit {crawl.name}",
            )


def check_shape(kind: str, include: Sequence[str] | None, exclude: Sequence[str] | None, budgets: Budgets) -> ScopeKind:
    """Raises InputError for a scope, a pattern or a budget that is no good."""
    found = _kind(kind)
    scope.scope_of([], kind=found, include=include or (), exclude=exclude or (), max_depth=budgets.max_depth)
    _check("any", budgets)
    return found


def check_sitemaps(which: str) -> str:
    """Raises InputError for what is none of SITEMAPS."""
    if which not in SITEMAPS:
        raise InputError(f"sitemaps {which!r}", f"use one of: {', '.join(SITEMAPS)}")
    return which


def find(engine: Engine, name: str) -> Crawl:
    """Raises InputError when there is no such crawl."""
    with db.transaction(engine) as tx:
        crawl = crawls.by_name(tx, name)
        if crawl is None:
            names = ", ".join(other.name for other in crawls.every(tx)[:10]) or "none yet"
            raise InputError(f"crawl {name!r}", f"there is none of this name; there are: {names}")
    return crawl


def add(
    engine: Engine,
    settings: Settings,
    crawl: Crawl | Callable[[], Crawl],
    lines: Iterable[str | tuple[int, str]],
    *,
    kind: RequestKind = RequestKind.PAGE,
) -> Added:
    """Seeds: a URL each, or (line number, URL) as `seed_file.seeds` brings them; empty ones and # comments are skipped.

    Good lines are kept whatever the bad ones say. The crawl's scope takes them in; a finished crawl becomes active.
    crawl: or what opens it, called when there is a good line.   kind: sitemap, for URLs of sitemaps, whose pages are the seeds.
    """
    canon = make_canon(settings)
    result = Added()
    numbered = _seeds(canon, lines, result)
    while batch := list(islice(numbered, IMPORT_BATCH)):
        if not isinstance(crawl, Crawl):
            crawl = crawl()
        seeds = list({url.key: url for url in batch}.values())
        admitted, woken = db.repeat(partial(_add_batch, engine, settings, crawl, seeds, kind))
        result.added += admitted.rows
        result.known += len(batch) - admitted.rows
        _wake(engine, woken)
        _swell(engine, admitted.queued)
    return result


def check_seeds(settings: Settings, seeds: Sequence[str]) -> list[str]:
    """Problems of some of the seeds, a line each. Raises InputError when not one of them can and may be contacted."""
    canon = make_canon(settings)
    resolver, guard = make_resolver(settings), make_guard(settings.networks)
    problems: list[InputError] = []
    for text in seeds:
        url = canon.canonicalise(in_full(text))
        problem = (
            _contactable(url, settings, resolver, guard)
            if isinstance(url, Url)
            else InputError(f"seed {text!r}", WHY_NO_SEED.get(url, url.value))
        )
        if problem is not None:
            problems.append(problem)
    if len(problems) == len(seeds):
        raise problems[0]
    return [str(problem) for problem in problems]


def take_up_again(
    engine: Engine,
    settings: Settings,
    crawl: Crawl,
    lines: Sequence[str],
    *,
    budgets: Budgets,
    keep_fresh: bool,
    again: bool,
    say: Callable[[str], None],
    scope_kind: str | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    sitemaps: str | None = None,
    honour_opt_outs: bool | None = None,
) -> tuple[Crawl, bool]:
    """A crawl that exists, as a command asks for it once more: new seeds and budgets count, and it goes on if it can.

    sitemaps, honour_opt_outs: None: as it did; what owners were promised does not end by an option left out.

    Returns the crawl and whether there is anything to run for. Raises InputError: it has another scope, or other patterns.
    """
    check_reach(crawl, scope_kind=scope_kind, include=include, exclude=exclude)
    set_budgets(engine, crawl, budgets, keep_fresh=keep_fresh)
    set_manners(engine, crawl, sitemaps=sitemaps, honour_opt_outs=honour_opt_outs)
    add(engine, settings, crawl, lines)
    if again:
        go_round(engine, crawl, settings)
        return find(engine, crawl.name), True
    before = crawl.state
    if before == "paused" or (before == "finished" and crawl.ended_because != "done"):
        start(engine, crawl)
        finish_ended(engine)  # at its budget still?
    now = find(engine, crawl.name)
    if now.state != "finished":
        if before == "active":
            start(engine, crawl)
        say(f"{crawl.name}: going on")
        return now, True
    how = {"max_pages": "raise --max-pages", "max_bytes": "raise --max-bytes"}.get(now.ended_because or "", "")
    say(f"{crawl.name}: is finished ({now.ended_because}); {how + ', or ' if how else ''}go round again with --again")
    return now, False


def _contactable(url: Url, settings: Settings, resolver: Resolver, guard: Guard) -> InputError | None:
    """Why a seed's host cannot or may not be contacted."""
    try:
        addresses = resolver.resolve(url.host, url.origin.port, RESOLVE_S)
    except DnsFailed as error:
        return InputError(f"host {url.host}", f"its name does not resolve ({error}); check the spelling")
    for address in addresses:
        why = guard.why(address)
        if why is not None:
            return InputError(
                f"host {url.host}",
                f"its address {address} is not public ({why}); to crawl it, set TIPTOE_ALLOW_NETWORKS={address}/{_bits(address)}",
            )
        if settings.contact is None and is_public(address):
            return InputError(
                "no contact",
                f"{url.host} is a public host: say who answers for the crawl, with --contact you@example.org or TIPTOE_CONTACT",
            )
    return None


def _bits(address: str) -> int:
    return 128 if ":" in address else 32


def go_round(engine: Engine, crawl: Crawl, settings: Settings | None = None) -> int:
    """Go round: everything the crawl has settled is due now, with validators. Returns how many hosts were woken.

    settings: of what a full frontier put off, as much comes in as the caps allow; None: all of it.
    """
    per_host, per_crawl = (
        (settings.frontier_max_per_host, settings.frontier_max_per_crawl) if settings is not None else (None, None)
    )
    db.repeat(partial(_next_round, engine, crawl.id))
    with db.transaction(engine) as tx:
        lots = urls.lots_of_round(tx, crawl.id, per_host=per_host, per_crawl=per_crawl)
    new: Counter[int] = Counter()
    for lot in lots:
        new.update(db.repeat(partial(_queue_lot, engine, crawl.id, lot)))
    with db.transaction(engine) as tx:  # last: with nothing queued it may have ended meanwhile
        crawls.start(tx, crawl.id, restart_clock=True)
    woken = _wake(engine, new)
    _swell(engine, new)
    return woken


def start(engine: Engine, crawl: Crawl) -> int:
    """From paused or finished to active; its clock starts anew. Returns how many hosts were woken."""
    with db.transaction(engine) as tx:
        crawls.start(tx, crawl.id, restart_clock=True)
        queued = urls.hosts_queued(tx, crawl.id)
    return _wake(engine, queued)


def pause(engine: Engine, crawl: Crawl) -> None:
    """Its URLs are not fetched until it is resumed. Raises InputError when it is not active."""
    with db.transaction(engine) as tx:
        if not crawls.pause(tx, crawl.id):
            raise InputError(f"crawl {crawl.name!r}", f"is {crawl.state}; only an active crawl can be paused")


def finish(engine: Engine, crawl: Crawl) -> None:
    """Ends now; nothing is deleted. Raises InputError when it has ended."""
    with db.transaction(engine) as tx:
        if not crawls.finish(tx, crawl.id):
            raise InputError(f"crawl {crawl.name!r}", "is finished already")


def set_budgets(engine: Engine, crawl: Crawl, budgets: Budgets, *, keep_fresh: bool) -> None:
    _check(crawl.name, budgets)
    with db.transaction(engine) as tx:
        crawls.set_budgets(tx, crawl_id=crawl.id, budgets=budgets, keep_fresh=keep_fresh)
    recount(engine, crawl.id)


def set_manners(
    engine: Engine, crawl: Crawl, *, sitemaps: str | None = None, honour_opt_outs: bool | None = None
) -> None:
    """How it goes about things from here on, as in `create`; None: as it does. A page that it has is judged anew when it is
    fetched again. Raises InputError."""
    if sitemaps is not None:
        check_sitemaps(sitemaps)
    if sitemaps is not None or honour_opt_outs is not None:
        with db.transaction(engine) as tx:
            crawls.set_manners(tx, crawl_id=crawl.id, sitemaps=sitemaps, honour_opt_outs=honour_opt_outs)


def _seeds(canon: Canon, lines: Iterable[str | tuple[int, str]], result: Added) -> Iterator[Url]:
    for place, line in enumerate(lines, 1):
        number, text = (place, line.strip().lstrip("\ufeff")) if isinstance(line, str) else line
        if not text or text.startswith("#"):
            continue
        url = canon.canonicalise(in_full(text))
        if isinstance(url, Url):
            yield url
            continue
        result.bad_count += 1
        if len(result.bad) < MOST_BAD_LINES:
            result.bad.append(BadSeed(line=number, text=text, why=WHY_NO_SEED.get(url, url.value)))


def in_full(text: str) -> str:
    """A bare host name as the URL that a person means; anything else as it is."""
    return bare_host(text.strip()) or text


def _add_batch(
    engine: Engine, settings: Settings, crawl: Crawl, seeds: list[Url], kind: RequestKind
) -> tuple[Admitted, set[int]]:
    """Returns what was admitted, and the hosts to be woken."""
    with db.transaction(engine) as tx:
        admitted = _admit(tx, settings, crawl, seeds, kind)
        woken = admitted.woken
        # Read anew: it may have ended since, a new one for want of seeds.
        if admitted.rows and crawls.by_id(tx, crawl.id).state == "finished":
            crawls.start(tx, crawl.id, restart_clock=True)
            woken |= set(urls.hosts_queued(tx, crawl.id))
    return admitted, woken


def _admit(tx: Connection, settings: Settings, crawl: Crawl, seeds: list[Url], kind: RequestKind) -> Admitted:
    """One transaction: scope, hosts, URLs, state. No cap is asked: an operator's seeds are never refused."""
    found = scope.scope_of(seeds, kind=ScopeKind(crawl.scope))
    names = sorted({url.host for url in seeds})
    ids = hosts.ensure(tx, rows=host_rows(names, settings.queues), delay_s=settings.default_delay_s)
    admitted = urls.admit(tx, [_row(crawl.id, ids[url.host], url, kind) for url in seeds])
    # Last: a settle with a budget of pages locks keys first and the crawl after.
    crawls.widen(
        tx,
        crawl_id=crawl.id,
        hosts=sorted(found.hosts) if found.kind is ScopeKind.HOST else [],
        domains=sorted(found.domains) if found.kind is ScopeKind.DOMAIN else [],
        prefixes=found.prefixes if found.kind is ScopeKind.PREFIX else [],
    )
    return admitted


def _row(crawl_id: int, host_id: int, url: Url, kind: RequestKind) -> Admission:
    is_page = kind is RequestKind.PAGE
    return {
        "host_id": host_id,
        "crawl_id": crawl_id,
        "kind": kind.value,
        "key": url.key,
        "url": url.text,
        "linked": url.linked,
        "state": url_after(None, UrlEvent.ADMITTED).value,
        "lane": lane.lane_for(url, 0) if is_page else 0,
        "score": lane.score_for(0),
        "depth": 0,
        "hops": 0,
        "found_on": None,
        "cause": None,
        "sitemap_id": None,
        "lastmod": None,
    }


def _next_round(engine: Engine, crawl_id: int) -> None:
    with db.transaction(engine) as tx:
        crawls.next_round(tx, crawl_id)


def _queue_lot(engine: Engine, crawl_id: int, lot: Lot) -> Counter[int]:
    """Under the locks of their hosts, as a settle writes URLs: neither can have some and wait for the other's."""
    with db.transaction(engine) as tx:
        hosts.lock(tx, lot.ids)
        return urls.go_round(tx, crawl_id, lot)


def _wake(engine: Engine, host_ids: Iterable[int]) -> int:
    with db.transaction(engine) as tx:
        return hosts.wake(tx, sorted(set(host_ids)))


def _swell(engine: Engine, new: Mapping[int, int]) -> None:
    """Hosts that got many URLs at once are told so, for the cap per host."""
    for host_id, n in new.items():
        if n >= TOLD_FROM:
            with db.transaction(engine) as tx:
                caps.swell(tx, host_id=host_id, n=n)


def _kind(text: str) -> ScopeKind:
    try:
        return ScopeKind(text)
    except ValueError:
        raise InputError(f"scope {text!r}", f"use one of: {', '.join(ScopeKind)}") from None


def _check(name: str, budgets: Budgets) -> None:
    if not name or len(name) > 100 or not name.isprintable():
        raise InputError(f"crawl name {name!r}", "use 1 to 100 printable characters")
    for what, (least, most) in _BUDGETS.items():
        value = getattr(budgets, what)
        if value is not None and not least <= value <= most:  # not a number, too
            raise InputError(
                f"{what} {value}", f"use a number from {least:g} to {most:,}, or leave it out for no limit"
            )
