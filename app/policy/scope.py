"""Decides which URLs belong to a crawl (promises F8 and U2): by host, domain or prefix, pattern and depth.

It does not decide what robots.txt allows, nor which addresses may be contacted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import assert_never

from app.errors import InputError
from app.model import Refusal, Url
from app.policy.host import site_of
from app.policy.url import normal_escapes, readable

_MOST_NAMED = 5
MOST_TAKEN_IN = 10_000  # by redirects of a crawl's seeds: each process reads all of the scope anew for each of them


class ScopeKind(StrEnum):
    """The reach of a crawl around its seeds: `crawls.scope`."""

    HOST = "host"  # the seeds' hostnames, every scheme and port
    DOMAIN = "domain"  # the seeds' registrable domains with all their hosts
    PREFIX = "prefix"  # URLs that start like a seed, up to the last "/" of its path
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A crawl's scope. Made by `scope_of`.

    kind       which of the next three counts
    hosts      hostnames of the seeds; for DOMAIN, those that their redirects led to
    domains    registrable domains of the seeds; the hostname itself where there is none
    prefixes   starts of canonical URLs, each ending in "/", their escapes in the normal form
    include    searched in the URL, however its escapes are spelled; one must match, unless there are none
    exclude    searched likewise; none may match
    max_depth  links from a seed, None for no limit
    redirects  how many entries redirects of seeds added;   added: the hosts among them that are no seed's
    seeds      hostnames of the seeds, or their domains, whatever the kind: the sites that the crawl is about
    """

    kind: ScopeKind
    hosts: frozenset[str]
    domains: frozenset[str]
    prefixes: tuple[str, ...]
    include: tuple[re.Pattern[str], ...]
    exclude: tuple[re.Pattern[str], ...]
    max_depth: int | None
    redirects: int = 0
    added: frozenset[str] = frozenset()
    seeds: frozenset[str] = frozenset()


def scope_of(
    seeds: Sequence[Url],
    *,
    kind: ScopeKind,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    max_depth: int | None = None,
) -> Scope:
    """The scope around some seeds. Raises InputError for a bad regular expression and a depth below 0."""
    if max_depth is not None and max_depth < 0:
        raise InputError(
            f"max_depth {max_depth}", "is below 0; use 0 for the seeds alone, or leave it out for no limit"
        )
    return Scope(
        kind=kind,
        hosts=frozenset(seed.host for seed in seeds),
        domains=frozenset(site_of(seed.host) for seed in seeds),
        prefixes=tuple(dict.fromkeys(_prefix(seed) for seed in seeds)),
        include=tuple(_pattern("include", text) for text in include),
        exclude=tuple(_pattern("exclude", text) for text in exclude),
        max_depth=max_depth,
        seeds=frozenset(seed.host for seed in seeds),
    )


def taken_in(scope: Scope, source: Url, target: Url) -> str | None:
    """The folder that a seed's redirect from `source` to `target` adds to the scope; None: it adds none.

    It counts as its host, for PREFIX as itself. Within one origin a prefix stays as narrow as it was asked for. Another
    site is not added (`leads_away`), and nothing beyond MOST_TAKEN_IN.
    """
    is_near = site_of(source.host) == site_of(target.host) and _within(scope, source)
    if scope.redirects >= MOST_TAKEN_IN or (not is_near and leads_away(scope, target.host)):
        return None
    if _within(scope, target) or (scope.kind is ScopeKind.PREFIX and source.origin == target.origin):
        return None
    return _prefix(target)


def leads_away(scope: Scope, host: str) -> bool:
    """Whether the host is of another site than every seed: not of the registrable domain of one, and not in the scope.

    Where a seed's redirect leads there, that page is fetched alone.
    """
    if scope.kind is ScopeKind.ANY or host in scope.hosts:
        return False
    return site_of(host) not in _sites(scope.seeds)


@lru_cache(maxsize=64)  # seeds can be many, and the scope is made anew for each redirect that comes into it
def _sites(hosts: frozenset[str]) -> frozenset[str]:
    return frozenset(map(site_of, hosts))


def widened(scope: Scope, folders: Sequence[str]) -> Scope:
    """The scope with the folders that redirects of seeds added (`taken_in`)."""
    redirects = scope.redirects + len(folders)
    hosts = frozenset(map(host_of_folder, folders))
    if scope.kind is ScopeKind.PREFIX:
        added = scope.added | (hosts - set(map(host_of_folder, scope.prefixes)))
        return replace(scope, prefixes=(*scope.prefixes, *folders), redirects=redirects, added=added)
    added = scope.added | (hosts - scope.hosts)
    return replace(scope, hosts=scope.hosts | hosts, redirects=redirects, added=added)


def host_of_folder(folder: str) -> str:
    """Hostname of a canonical URL's start; an IPv6 literal keeps its brackets."""
    authority = folder.split("/", 3)[2]
    return authority[: authority.index("]") + 1] if "]" in authority else authority.partition(":")[0]


def judge(scope: Scope, url: Url, depth: int, *, is_link: bool = False, hops: int = 0) -> Refusal | None:
    """The reason why a URL is not admitted, None when it is. depth: links from a seed.   hops: redirects after that

    The first of SCOPE, EXCLUDED, DEPTH. A seed (depth 0), and its redirect's target, is exempt from all but SCOPE:
    somebody asked for it. So is a page of another site that a seed redirects to: it is fetched, and alone.
    is_link: not a seed, though as near: patterns hold.
    """
    if not _within(scope, url) and not (depth == 0 and hops > 0 and leads_away(scope, url.host)):
        return Refusal.SCOPE
    if (depth > 0 or is_link) and not _is_picked(scope, url.text):
        return Refusal.EXCLUDED
    if scope.max_depth is not None and depth > scope.max_depth:
        return Refusal.DEPTH
    return None


def may_authenticate(scope: Scope, url: Url) -> bool:
    """Whether a URL of the frontier may be asked for with the operator's credentials for its origin.

    It must be of the scope that was asked for: a host that a seed's redirect added counts where it shares its
    registrable domain with a seed. A prefix counts as its origin, which owns robots.txt and sitemaps.
    """
    if scope.kind is ScopeKind.PREFIX:
        is_inside = any(prefix.startswith(f"{url.origin}/") for prefix in scope.prefixes)
    else:
        is_inside = _within(scope, url)
    return is_inside and (url.host not in scope.added or _is_beside_a_seed(scope, url.host))


def _is_beside_a_seed(scope: Scope, host: str) -> bool:
    domain = site_of(host)
    seeds = (*scope.domains, *scope.hosts, *map(host_of_folder, scope.prefixes))
    return any(each == domain or each.endswith(f".{domain}") for each in seeds if each not in scope.added)


def rule(scope: Scope, url: Url, refusal: Refusal) -> str:
    """The rule of the scope by which `judge` refuses a URL, for a person."""
    match refusal:
        case Refusal.SCOPE:
            return f"{url.host} is not one of {_names(scope)}" if scope.kind is not ScopeKind.PREFIX else _names(scope)
        case Refusal.EXCLUDED:
            found = next((each.pattern for each in scope.exclude if _is_found([each], url.text)), None)
            patterns = ", ".join(each.pattern for each in scope.include[:_MOST_NAMED])
            return f"exclude pattern {found}" if found is not None else f"matches no include pattern: {patterns}"
        case Refusal.DEPTH:
            return f"max_depth {scope.max_depth}"
        case _:
            return refusal.value


def _names(scope: Scope) -> str:
    """The reach of a scope, for a person."""
    if scope.kind is ScopeKind.PREFIX:
        return f"it does not start with {' or '.join(scope.prefixes[:_MOST_NAMED])}"
    kind, kept = "hosts", scope.hosts
    if scope.kind is ScopeKind.DOMAIN:
        kind, kept = "domains", scope.domains | scope.hosts
    more = ", …" if len(kept) > _MOST_NAMED else ""
    return f"the crawl's {kind} {', '.join(sorted(kept)[:_MOST_NAMED])}{more}"


def _within(scope: Scope, url: Url) -> bool:
    match scope.kind:
        case ScopeKind.HOST:
            return url.host in scope.hosts
        case ScopeKind.DOMAIN:
            return url.host in scope.hosts or site_of(url.host) in scope.domains
        case ScopeKind.PREFIX:
            return url.text.startswith(scope.prefixes) or normal_escapes(url.text).startswith(scope.prefixes)
        case ScopeKind.ANY:
            return True
        case _:
            assert_never(scope.kind)


def _is_picked(scope: Scope, text: str) -> bool:
    if scope.include and not _is_found(scope.include, text):
        return False
    return not _is_found(scope.exclude, text)


def _is_found(patterns: Sequence[re.Pattern[str]], text: str) -> bool:
    return bool(patterns) and any(each.search(spelled) for spelled in _spellings(text) for each in patterns)


def _spellings(text: str) -> Sequence[str]:
    """A URL as it is sent, with its escapes in the normal form, and with the letters that they stand for."""
    return (text, normal := normal_escapes(text), readable(normal)) if "%" in text else (text,)


def _prefix(seed: Url) -> str:
    # The path's last "/", not the URL's: a query may hold slashes too.
    return normal_escapes(seed.text.partition("?")[0].rpartition("/")[0]) + "/"


def _pattern(name: str, text: str) -> re.Pattern[str]:
    try:
        text.encode()  # octets of a command line that are no UTF-8 cannot be stored
        return re.compile(text)
    except (re.error, UnicodeError, OverflowError, RecursionError) as error:  # a{99999999999}; a thousand brackets
        raise InputError(f"{name} pattern {text!r}", f"not a regular expression: {error}") from error
