"""Seeds of a crawl: checked, added, and what became of each line."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from sqlalchemy import Connection, Engine

from app.config import Settings
from app.crawl.frontier.enter import host_rows
from app.crawl.state.canon import make_canon
from app.crawl.state.setup import make_resolver
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
from app.store.crawls import Crawl
from app.store.urls import Admission, Admitted

IMPORT_BATCH = 5_000


MOST_BAD_LINES = 1_000


TOLD_FROM = 100  # URLs of a host in a batch


RESOLVE_S = 5.0


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
        wake(engine, woken)
        swell(engine, admitted.queued)
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


def wake(engine: Engine, host_ids: Iterable[int]) -> int:
    with db.transaction(engine) as tx:
        return hosts.wake(tx, sorted(set(host_ids)))


def swell(engine: Engine, new: Mapping[int, int]) -> None:
    """Hosts that got many URLs at once are told so, for the cap per host."""
    for host_id, n in new.items():
        if n >= TOLD_FROM:
            with db.transaction(engine) as tx:
                caps.swell(tx, host_id=host_id, n=n)
