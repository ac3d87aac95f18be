"""Decides which links of a document become candidates for the frontier; refused ones are noted with the reason.

canonical form ▶ scope ▶ known already? ▶ robots.txt of its origin, if anybody has it ▶ candidate, queued or refused

Repeats are cheap: a visit keeps the joins of a directory, a process the keys that it knows to be committed. A document
of very many links is judged under the lease: it is looked at every LOOK_LINKS.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from types import MappingProxyType
from typing import Protocol, TypeVar, assert_never

import structlog

from app.crawl.state.batch import Batch
from app.crawl.state.finder import Finder
from app.crawl.state.part import SettleStep
from app.crawl.state.picked import Picked
from app.crawl.state.seen import KnownKeys
from app.crawl.state.settling import Settling
from app.crawl.state.visit import LOOK_LINKS, Visit
from app.crawl.state.worth import ENDING_TRIES, FoundAt
from app.model import Link, Refusal, RequestKind, Url
from app.policy.candidate import Candidate, in_front
from app.policy.lifecycle import UrlEvent
from app.policy.robots import RobotsVerdict
from app.policy.scope import judge, taken_in, widened
from app.policy.url import Canon, bare_key, file_ending, in_encoding, is_of_document, without_fragment
from app.store import suppressions
from app.store.suppressions import Suppression, outside_key, suppression
from app.store.url_rows import Due

_log = structlog.get_logger()
MOST_JOINS = 20_000
LONGEST_JOIN = 500  # characters of an href that is kept
_PAGE = RequestKind.PAGE
_Each = TypeVar("_Each")
NO_HINTS: Mapping[bytes, str | datetime] = MappingProxyType({})
Joined = dict[tuple[str, str], Url | Refusal]  # as app.crawl.state.picked keeps them


class LinkingPage(Protocol):
    """A page that links stand on.   depth: links between it and a seed"""

    @property
    def crawl_id(self) -> int: ...
    @property
    def url(self) -> str: ...
    @property
    def depth(self) -> int: ...


def links(
    finder: Finder,
    due: LinkingPage,
    base: str,
    found: Collection[Link],
    *,
    encoding: str = "utf-8",
    nofollow: bool = False,
    relevance: float | None = None,
) -> list[Candidate]:
    """Candidates from the links of a document whose base URL is `base`. Refusals go into the batch.

    encoding: the document's, for the queries of its links.   nofollow: the document says so of all of them.
    relevance: the document's, to the topics of its crawl; None: it is not judged.

    A link that no person can see may be there to catch robots: it is followed where a visible one leads there too.
    """
    directory = _directory(base)
    canon, known, batch, joined = finder.worker.canon, finder.worker.caches.known, finder.batch, finder.picked.joined
    targets: dict[bytes, Url] = {}
    unseen: dict[bytes, Url] = {}
    anchors: dict[bytes, str | datetime] = {}
    for href, words, rel, hidden, _ in _held(finder, found):
        url = joined.get((directory, href))  # most were joined before, as they are written
        if url is None or not href.isascii():
            url = _join(canon, joined, base, directory, in_encoding(href, encoding))
        if not isinstance(url, Url):  # asking for an enum, as Refusal is one, takes ten times as long
            if url is not Refusal.SCHEME:  # mailto: of no interest to anybody, and many
                suppress_text(known, batch, due.crawl_id, href, url, found_on=due.url)
        elif nofollow or (rel and "nofollow" in rel):
            suppress(known, batch, due.crawl_id, url, Refusal.NOFOLLOW, found_on=due.url)
        else:
            (unseen if hidden else targets)[url.form] = url
            if words:
                anchors.setdefault(url.key, words)
    if unseen:
        visible = {url.key for url in targets.values()}
        _suppress_unseen(finder, due, [url for url in unseen.values() if url.key not in visible])
    worth = finder.picked.worth[due.crawl_id]
    handed = None if relevance is None else worth.per_link(relevance, len(targets))
    place = FoundAt(due.url, due.depth + 1, 0, handed)
    return candidates(finder, due.crawl_id, targets.values(), place, hints=anchors)


def _held(finder: Finder, found: Collection[_Each]) -> Iterable[_Each]:
    """Each of them; of many, whenever LOOK_LINKS are done, the lease is seen to outlast as many more."""
    return found if len(found) < LOOK_LINKS else _looking(finder, found)


def _looking(finder: Finder, found: Collection[_Each]) -> Iterator[_Each]:
    for number, each in enumerate(found, 1):
        yield each
        if number % LOOK_LINKS == 0:
            finder.hold(LOOK_LINKS)


def join(canon: Canon, joined: Joined, base: str, href: str, *, encoding: str = "utf-8") -> Url | Refusal:
    """A link of a document whose base URL is `base`.   joined: what was joined before"""
    return _join(canon, joined, base, _directory(base), in_encoding(href, encoding))


def candidates(
    finder: Finder,
    crawl_id: int,
    targets: Collection[Url],
    place: FoundAt,
    *,
    hints: Mapping[bytes, str | datetime] = NO_HINTS,
) -> list[Candidate]:
    """Those targets that the crawl's scope takes in and that are not known to be in the frontier already.

    hints: by key, the text of a link or the lastmod of a sitemap that is believed
    """
    scope, worth = finder.picked.scopes[crawl_id], finder.picked.worth[crawl_id]
    known, batch, now = finder.worker.caches.known, finder.batch, finder.database_now()
    hears = place.relevance is not None and worth.hears
    named = None if hears or place.relevance is None or worth.weighs else batch.found.named
    found: list[Candidate] = []
    for url in _held(finder, targets):
        key, form = url.key, url.form
        stands = known.has(crawl_id, key)
        is_named = (
            hears
            and url.host == finder.host
            and worth.hear(finder, crawl_id, url, place, hints.get(key), stands=stands)
        )
        if stands or (form != key and known.has(crawl_id, form)):
            continue
        refusal = judge(scope, url, place.depth, is_link=place.hops == 0, hops=place.hops)
        ending = file_ending(url.target) if place.depth > 0 else None
        if ending is not None and refusal is not None:
            continue  # beyond the scope files are of no interest to anybody, and many
        if ending is not None and _is_refused(finder, crawl_id, url, ending):
            suppress_ending(known, batch, crawl_id, url, ending, found_on=place.found_on)
            continue
        if refusal is not None:
            _refuse(finder, crawl_id, url, refusal, found_on=place.found_on, is_link=place.hops == 0)
            continue
        if named is not None and (before := named.get((crawl_id, form))) is not None:
            found.append(_again(finder, before, place))
            continue
        each = _candidate(finder, crawl_id, url, place, hints.get(key), now)
        if not isinstance(each, Candidate):
            suppress(known, batch, crawl_id, url, each, found_on=place.found_on)
            continue
        found.append(each)
        if named is not None:
            named[crawl_id, form] = each
        if hears and not is_named:
            worth.heard(each, place.relevance or 0.0)
    return found


def _refuse(finder: Finder, crawl_id: int, url: Url, refusal: Refusal, *, found_on: str, is_link: bool = True) -> None:
    """Note a target that the scope or the limits of the crawl refuse."""
    if refusal is Refusal.SCOPE and is_link:
        _suppress_outside(finder, crawl_id, url, found_on=found_on)
    else:
        suppress(finder.worker.caches.known, finder.batch, crawl_id, url, refusal, found_on=found_on)


def _is_refused(finder: Finder, crawl_id: int, url: Url, ending: str) -> bool:
    """Whether URLs of the visited host that end so are refused; the settle asks it of other hosts (`enter`)."""
    return url.host == finder.host and finder.picked.worth[crawl_id].refuses_ending(ending)


def redirected(visit: Visit, due: Due, source: Url, target: Url) -> list[Candidate]:
    """Where a redirect leads: of the same kind, judged as a link would be; a sitemap may lie outside the scope.

    Where a seed leads within its site, by its own chain of redirects, comes into the scope; the settle writes that down
    first. A page of another site does not: it is fetched alone.
    """
    if due.kind == _PAGE:
        if due.depth == 0:  # the seeds and their chains alone
            _take_in(visit.picked, visit.batch, due, source, target)
        return candidates(visit, due.crawl_id, [target], FoundAt(source.text, due.depth, due.hops + 1))
    found = in_front(due.crawl_id, target, RequestKind(due.kind), depth=due.depth, found_on=source.text)
    return [_judged(visit, found._replace(hops=due.hops + 1))]


def _take_in(picked: Picked, batch: Batch, due: Due, source: Url, target: Url) -> None:
    scope = picked.scopes[due.crawl_id]
    folder = taken_in(scope, source, target)
    if folder is not None:
        picked.scopes[due.crawl_id] = widened(scope, [folder])
        batch.found.taken_in.append((due.crawl_id, folder))
        _log.info("crawl.widened", crawl=due.crawl_id, seed=source.text, to=target.text, scope=folder)


def suppress(
    known: KnownKeys,
    batch: Batch,
    crawl_id: int,
    url: Url,
    reason: Refusal,
    *,
    found_on: str | None,
    detail: str | None = None,
) -> None:
    """Note a refusal; once a process, as long as the key is remembered: counting each would lock the popular ones."""
    if not known.has(crawl_id, refusal_key(url.key)):
        note(batch, suppression(crawl_id, url.key, url.text, reason, found_on=found_on, detail=detail))


def suppress_ending(
    known: KnownKeys, batch: Batch, crawl_id: int, url: Url, ending: str, *, found_on: str | None
) -> None:
    """Note a URL that is refused for its ending: one row for all of its host has the first and counts the others.

    Each is counted once a process, as long as its key is remembered.
    """
    if known.has(crawl_id, refusal_key(url.key)):
        return
    known.add(crawl_id, refusal_key(url.key))
    detail = f"none of {ENDING_TRIES} URLs of {url.host} that end in .{ending} was a page; this is the first of count"
    row = suppression(
        crawl_id, ending_key(url.host, ending), url.text, Refusal.EXTENSION, found_on=found_on, detail=detail
    )
    before = batch.found.suppressions.setdefault((row["crawl_id"], row["key"], row["reason"]), row)
    if before is not row:
        before["count"] = before.get("count", 1) + 1


def _suppress_outside(finder: Finder, crawl_id: int, url: Url, *, found_on: str | None) -> None:
    """Note a link beyond the scope: one row for each pair of hosts has the first, and is noted once a process.

    A row for each link took twice the CPU time and WAL in Postgres; counting them in one took more than that. The
    visited host is in the pair, so that two workers never wait for the row of a host that everybody links to.
    """
    key = outside_key(url.host, finder.host)
    is_noted = (crawl_id, key, Refusal.SCOPE) in finder.batch.found.suppressions
    if not is_noted and not finder.worker.caches.known.has(crawl_id, refusal_key(key)):
        detail = f"the first link of {finder.host} to {url.host}; the others have no row"
        row = suppression(crawl_id, key, url.text, Refusal.SCOPE, found_on=found_on, detail=detail)
        note(finder.batch, row)


def ending_key(host: str, ending: str) -> bytes:
    """The key of the row of suppressions for all URLs of a host that end so."""
    return sha256(f"{host}/*.{ending}".encode()).digest()


def note(batch: Batch, row: Suppression) -> None:
    """For the next settle; of several the first."""
    batch.found.suppressions.setdefault((row["crawl_id"], row["key"], row["reason"]), row)


def _directory(base: str) -> str:
    return base[: base.rindex("/") + 1] if base.count("/") > 2 else base + "/"


def _suppress_unseen(finder: Finder, due: LinkingPage, urls: Collection[Url]) -> None:
    """With the scope's reason where that refuses them anyway; those in the frontier were seen elsewhere."""
    known, scope = finder.worker.caches.known, finder.picked.scopes[due.crawl_id]
    for url in _held(finder, urls):
        if file_ending(url.target) is None and not known.has(due.crawl_id, url.key):
            refusal = judge(scope, url, due.depth + 1) or Refusal.HIDDEN
            _refuse(finder, due.crawl_id, url, refusal, found_on=due.url)


def _join(
    canon: Canon, kept: dict[tuple[str, str], Url | Refusal], base: str, directory: str, href: str
) -> Url | Refusal:
    """Joined and canonical; links of one directory repeat from page to page, to one part of a document or another."""
    if "#" in href:
        href = without_fragment(href)
    joined = kept.get((directory, href))
    if joined is None:
        joined = canon.join(base, href)
        if len(kept) < MOST_JOINS and len(href) <= LONGEST_JOIN and not is_of_document(href):
            kept[directory, href] = joined
    return joined


def _candidate(
    finder: Finder,
    crawl_id: int,
    url: Url,
    place: FoundAt,
    hint: str | datetime | None,
    now: datetime,
) -> Candidate | Refusal:
    """A link, by its worth to the crawl. One that is refused already is not judged again, nor counted."""
    known = finder.worker.caches.known
    is_here = url.host == finder.host and not known.has(crawl_id, refusal_key(url.key))
    worth = finder.picked.worth[crawl_id]
    found = worth.candidate(
        crawl_id,
        url,
        place,
        hint=hint,
        now=now,
        is_here=is_here,
    )
    if not isinstance(found, Candidate):
        return found
    if "?" in url.target and known.has(crawl_id, bare_key(url)):
        found = worth.as_view(found)
    key, form = url.key, url.form
    if known.may_have(crawl_id, key) or (form != key and known.may_have(crawl_id, form)):
        found = found._replace(seen=True)
    return _judged(finder, found)


def _again(finder: Finder, before: Candidate, place: FoundAt) -> Candidate:
    """A link that an earlier page of the batch has, too: it is not scored again. The settle takes the first of both,
    unless that page is a copy.
    """
    crawl_id, url, known = before.crawl_id, before.url, finder.worker.caches.known
    if place.depth > 0 and url.host == finder.host and not known.has(crawl_id, refusal_key(url.key)):
        finder.picked.worth[crawl_id].count_again(before)
    return before._replace(found_on=place.found_on, depth=place.depth, hops=place.hops)


def _judged(finder: Finder, found: Candidate) -> Candidate:
    """A candidate judged by robots.txt of an origin that the visit knows; the settle judges the others (`enter`).

    Past the budget of the batch it is left to the gate, which judges each URL before its request.
    """
    file = finder.origins.robots.get(found.url.origin)
    rules = file.rules if file is not None else None
    if rules is None:
        return found
    match rules.verdict(found.url, finder.batch.found.work):
        case RobotsVerdict.ALLOWED:
            return found._replace(reopens=True)
        case RobotsVerdict.DISALLOWED:
            return found._replace(event=UrlEvent.DISALLOWED, detail=None)
        case RobotsVerdict.TOO_COSTLY:
            return found
        case never:
            assert_never(never)


def suppress_text(known: KnownKeys, batch: Batch, crawl_id: int, text: str, reason: Refusal, *, found_on: str) -> None:
    """A refusal of something that has no canonical form; once a process, too: a template repeats it on every page."""
    shown = text[:500]
    key = sha256(shown.encode("utf-8", "surrogatepass")).digest()
    if not known.has(crawl_id, refusal_key(key)):
        note(batch, suppression(crawl_id, key, shown, reason, found_on=found_on))


def refusal_key(key: bytes) -> bytes:
    """The place of a refused URL among the known keys, apart from that of the URL itself."""
    return key[16:] + key[:16]


def _suppress(settling: Settling) -> None:
    refused = {each: row for visit in settling.visits for each, row in visit.batch.found.suppressions.items()}
    suppressions.note(settling.tx, list(refused.values()))


SUPPRESSIONS = SettleStep(name="suppressions", rank=40, write=_suppress)
