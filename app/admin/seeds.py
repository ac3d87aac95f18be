"""Checks seeds, adds them to a crawl, and reports what happened to each line."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice

from sqlalchemy import Connection, Engine

from app.config import Settings
from app.crawl.frontier.enter import host_rows
from app.crawl.state.canon import make_canon
from app.crawl.state.setup import make_resolver
from app.errors import InputError
from app.model import Refusal, RequestKind, Url
from app.net.address import NO_CONTACT, Guard, make_guard
from app.net.dns import DnsFailed, Resolver, ResolverLimits
from app.policy import scope
from app.policy.bare import bare_host
from app.policy.candidate import in_front
from app.policy.scope import ScopeKind
from app.policy.url import Canon
from app.store import caps, crawls, db, hosts, parameters, urls
from app.store.crawls import Crawl
from app.store.url_rows import Admitted, admission

IMPORT_BATCH = 5_000
MOST_BAD_LINES = 1_000
TOLD_FROM = 100  # URLs of a host in a batch
RESOLVE_S = 5.0
LOOKUPS = ResolverLimits().threads  # at once
WHY_NO_SEED = {
    Refusal.INVALID: "not a URL; write it in full, as https://example.org/",
    Refusal.SCHEME: "only http:// and https:// URLs can be crawled",
    Refusal.PORT: "use a port of a web server: browsers refuse this one; TIPTOE_BAD_PORTS changes the list",
    Refusal.CREDENTIALS: "take the user name and password out of the URL",
    Refusal.LENGTH: "longer than 2,083 characters; shorten it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BadSeed:
    """A line that is not a seed. line: 1-based."""

    line: int
    text: str
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text[:200]!r}: {self.why}"


@dataclass(slots=True)
class BadSeeds:
    """The lines that are not seeds. first: at most 1,000 of them; count: the number of all."""

    first: list[BadSeed] = field(default_factory=list)
    count: int = 0

    def note(self, bad: BadSeed) -> None:
        self.count += 1
        if len(self.first) < MOST_BAD_LINES:
            self.first.append(bad)


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """The result of adding seeds. added: new rows; known: already in the crawl; bad: at most 1,000, bad_count: all."""

    added: int
    known: int
    bad_count: int = 0
    bad: list[BadSeed] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not self.added and not self.known


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Seeds given to a command. urls: those that can be crawled, in their order; bad: the others."""

    urls: list[Url]
    bad: list[BadSeed]


def add(
    engine: Engine,
    settings: Settings,
    crawl: Crawl | Callable[[], Crawl],
    lines: Iterable[str | tuple[int, str]],
    *,
    kind: RequestKind = RequestKind.PAGE,
) -> Added:
    """Add seeds to a crawl. Good lines are added whatever the bad ones are; empty lines and # comments are skipped.

    The crawl's scope is widened to hold them; a finished crawl becomes active.
    lines: a URL each, or (line number, URL) as `seed_file.seeds` reads them.   crawl: or a function that opens it,
    called at the first good line.   kind: SITEMAP for URLs of sitemaps, whose pages are the seeds
    """
    bad, canon = BadSeeds(), make_canon(settings)
    with db.transaction(engine) as tx:
        canon.drop(parameters.of_hosts(tx))
    added = add_urls(engine, settings, crawl, urls_in(canon, lines, bad), kind=kind)
    return replace(added, bad=bad.first, bad_count=bad.count)


def add_urls(
    engine: Engine,
    settings: Settings,
    crawl: Crawl | Callable[[], Crawl],
    seeds: Iterable[Url],
    *,
    kind: RequestKind = RequestKind.PAGE,
) -> Added:
    """Add URLs that have been read already, as `add` does."""
    added = known = 0
    remaining = _without_dropped(engine, settings, seeds)
    while batch := list(islice(remaining, IMPORT_BATCH)):
        if not isinstance(crawl, Crawl):
            crawl = crawl()
        unique = list({url.key: url for url in batch}.values())
        admitted, woken = db.repeat(partial(_add_batch, engine, settings, crawl, unique, kind))
        added += admitted.rows
        known += len(batch) - admitted.rows
        wake(engine, woken)
        swell(engine, admitted.queued)
    return Added(added=added, known=known)


def _without_dropped(engine: Engine, settings: Settings, seeds: Iterable[Url]) -> Iterator[Url]:
    """The seeds without parameters that their hosts have dropped: a command reads them before it has the database."""
    with db.transaction(engine) as tx:
        dropped = parameters.of_hosts(tx)
    canon = make_canon(settings)
    canon.drop(dropped)
    for seed in seeds:
        short = canon.canonicalise(f"{seed.origin}{seed.linked or seed.target}") if seed.host in dropped else seed
        yield short if isinstance(short, Url) else seed


def read(settings: Settings, texts: Iterable[str]) -> Read:
    """Read seeds that a person gives to a command: each counts, even one that would be skipped in a file."""
    canon = make_canon(settings)
    found = [_seed(canon, number, _bare(text)) for number, text in enumerate(texts, 1)]
    return Read(
        urls=[seed for seed in found if isinstance(seed, Url)],
        bad=[seed for seed in found if isinstance(seed, BadSeed)],
    )


def check(settings: Settings, seeds: Read) -> list[str]:
    """Check seeds: returns their problems, one line each. Raises InputError when none of them may be contacted."""
    problems = [InputError(f"seed {bad.text!r}", bad.why) for bad in seeds.bad]
    problems += out_of_reach(settings, seeds.urls)
    if len(problems) == len(seeds.urls) + len(seeds.bad):
        raise problems[0]
    return [str(problem) for problem in problems]


def out_of_reach(settings: Settings, urls: Sequence[Url], resolver: Resolver | None = None) -> list[InputError]:
    """The problem of each URL whose host cannot or may not be contacted from here now.

    resolver: None: the system's
    """
    resolver, guard = resolver or make_resolver(settings), make_guard(settings.networks)
    with ThreadPoolExecutor(LOOKUPS) as pool:  # one after the other, a thousand names would take a minute
        found = pool.map(lambda url: _contactable(url, settings, resolver, guard), urls)
        return [problem for problem in found if problem is not None]


def _contactable(url: Url, settings: Settings, resolver: Resolver, guard: Guard) -> InputError | None:
    """The reason why a seed's host cannot or may not be contacted; None: it may."""
    try:
        addresses = resolver.resolve(url.host, url.origin.port, RESOLVE_S)
    except DnsFailed as error:
        return InputError(f"host {url.host}", f"its name does not resolve ({error}); check the spelling")
    allowed, blocked = guard.sort_out(addresses, require_contact=settings.contact is None)
    if allowed:
        return None
    address, why = blocked[0]
    if why == NO_CONTACT:
        return InputError(
            "no contact", f"{url.host} is a public host; name a contact by --contact you@example.org or TIPTOE_CONTACT"
        )
    return InputError(
        f"host {url.host}",
        f"its address {address} is not public ({why}); "
        f"to crawl it: --allow-network {address}/{_bits(address)} (of tiptoe crawl and up), "
        f"or set TIPTOE_ALLOW_NETWORKS={address}/{_bits(address)}",
    )


def _bits(address: str) -> int:
    return 128 if ":" in address else 32


def urls_in(canon: Canon, lines: Iterable[str | tuple[int, str]], bad: BadSeeds) -> Iterator[Url]:
    """Read the URL of each line that is a seed; the others are noted in `bad`. Lines as in `add`."""
    for place, line in enumerate(lines, 1):
        number, text = (place, _bare(line)) if isinstance(line, str) else line
        if not text or text.startswith("#"):
            continue
        seed = _seed(canon, number, text)
        if isinstance(seed, Url):
            yield seed
        else:
            bad.note(seed)


def _bare(text: str) -> str:
    return text.strip().lstrip("\ufeff")


def _seed(canon: Canon, number: int, text: str) -> Url | BadSeed:
    """Read one seed. A bare host name stands for its URL."""
    url = canon.canonicalise(bare_host(text) or text)
    return url if isinstance(url, Url) else BadSeed(line=number, text=text, why=WHY_NO_SEED.get(url, url.value))


def _add_batch(
    engine: Engine, settings: Settings, crawl: Crawl, seeds: list[Url], kind: RequestKind
) -> tuple[Admitted, set[int]]:
    """Add one batch. Returns what was admitted, and the hosts to be woken."""
    with db.transaction(engine) as tx:
        admitted = _admit(tx, settings, crawl, seeds, kind)
        woken = admitted.woken
        # Read again: it may have ended since, such as a new crawl that had no seeds.
        if admitted.rows and crawls.by_id(tx, crawl.id).state == "finished":
            crawls.start(tx, crawl.id, restart_clock=True)
            woken |= set(urls.hosts_queued(tx, crawl.id))
    return admitted, woken


def _admit(tx: Connection, settings: Settings, crawl: Crawl, seeds: list[Url], kind: RequestKind) -> Admitted:
    """Write hosts, URLs and scope. Caps are not checked: an operator's seeds are never refused."""
    names = sorted({url.host for url in seeds})
    ids = hosts.ensure(tx, rows=host_rows(names, settings.queues), delay_s=settings.default_delay_s)
    admitted = urls.admit(tx, [admission(in_front(crawl.id, url, kind), ids[url.host]) for url in seeds])
    # Last: a settle with a budget of pages locks keys first and the crawl after.
    crawls.widen(tx, crawl_id=crawl.id, around=scope.scope_of(seeds, kind=ScopeKind(crawl.scope)))
    return admitted


def wake(engine: Engine, host_ids: Iterable[int]) -> int:
    with db.transaction(engine) as tx:
        return hosts.wake(tx, sorted(set(host_ids)))


def swell(engine: Engine, new: Mapping[int, int]) -> None:
    """Add many new URLs to their hosts' estimates, for the cap per host."""
    for host_id, n in new.items():
        if n >= TOLD_FROM:
            with db.transaction(engine) as tx:
                caps.swell(tx, host_id=host_id, n=n)
