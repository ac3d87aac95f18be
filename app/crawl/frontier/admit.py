"""Which links of a document become candidates for the frontier, and which are refused, with the reason.

canonical form ▶ scope ▶ known already? ▶ robots.txt of its origin, if anybody has it ▶ candidate (to be queued, or refused)

Repeats are cheap: a visit keeps the joins of a directory, a process the keys that it knows to be committed.
"""

from collections.abc import Iterable
from hashlib import sha256

import structlog

from app.crawl.state.visit import Stay
from app.model import Link, Refusal, RequestKind, Url
from app.policy.candidate import Candidate
from app.policy.lane import lane_for, score_for
from app.policy.lifecycle import UrlEvent
from app.policy.scope import judge, taken_in, widened
from app.policy.url import in_encoding, is_of_document, without_fragment
from app.store.suppressions import Suppression, suppression
from app.store.url_rows import Due

_log = structlog.get_logger()
_SILENT = {Refusal.SCHEME, Refusal.EXTENSION}  # mailto:, images: of no interest to anybody, and many
MOST_JOINS = 20_000
LONGEST_JOIN = 500  # characters of an href that is kept
_PAGE = RequestKind.PAGE


def links(
    stay: Stay, due: Due, base: str, found: Iterable[Link], *, encoding: str = "utf-8", nofollow: bool = False
) -> list[Candidate]:
    """Candidates from the links of a document whose base URL is `base`. Refusals go into the batch.

    encoding: the document's, for the queries of its links.   nofollow: the document says so of all of them.

    A link that no person can see may be there to catch robots: it is followed where a visible one leads to the same URL.
    """
    directory = base[: base.rindex("/") + 1] if base.count("/") > 2 else base + "/"
    targets: dict[bytes, Url] = {}
    unseen: dict[bytes, Url] = {}
    for link in found:
        url = _join(stay, base, directory, in_encoding(link.href, encoding))
        if isinstance(url, Refusal):
            if url not in _SILENT:
                _suppress_text(stay, due.crawl_id, link.href, url, found_on=due.url)
        elif nofollow or "nofollow" in link.rel:
            suppress(stay, due.crawl_id, url, Refusal.NOFOLLOW, found_on=due.url)
        else:
            (unseen if link.hidden else targets)[url.form] = url
    if unseen:
        visible = {url.key for url in targets.values()}
        _suppress_unseen(stay, due, [url for url in unseen.values() if url.key not in visible])
    return candidates(stay, due, targets.values(), found_on=due.url, depth=due.depth + 1, hops=0)


def candidates(
    stay: Stay, due: Due, targets: Iterable[Url], *, found_on: str, depth: int, hops: int
) -> list[Candidate]:
    """Those targets that the crawl's scope takes in and that are not known to be in the frontier already."""
    crawl_id, scope, known = due.crawl_id, stay.scopes[due.crawl_id], stay.kit.known
    found: list[Candidate] = []
    for url in targets:
        key, form = url.key, url.form
        if known.has(crawl_id, key) or (form != key and known.has(crawl_id, form)):
            continue
        refusal = judge(scope, url, depth, is_link=hops == 0)
        if refusal is None:
            seen = known.may_have(crawl_id, key) or (form != key and known.may_have(crawl_id, form))
            found.append(_candidate(stay, crawl_id, url, found_on, depth, hops, seen))
        elif refusal not in _SILENT:
            suppress(stay, crawl_id, url, refusal, found_on=found_on)
    return found


def redirected(stay: Stay, due: Due, source: Url, target: Url) -> list[Candidate]:
    """Where a redirect leads: of the same kind, judged as a link would be; a sitemap may lie outside the scope.

    Where a seed leads, by its own chain of redirects, comes into the scope; the settle writes that down first.
    """
    if due.kind == _PAGE:
        if due.depth == 0:  # the seeds and their chains alone
            _take_in(stay, due, source, target)
        return candidates(stay, due, [target], found_on=source.text, depth=due.depth, hops=due.hops + 1)
    found = _candidate(stay, due.crawl_id, target, source.text, due.depth, due.hops + 1)
    return [found._replace(kind=RequestKind(due.kind))]


def _take_in(stay: Stay, due: Due, source: Url, target: Url) -> None:
    scope = stay.scopes[due.crawl_id]
    folder = taken_in(scope, source, target)
    if folder is not None:
        stay.scopes[due.crawl_id] = widened(scope, [folder])
        stay.batch.taken_in.append((due.crawl_id, folder))
        _log.info("crawl.widened", crawl=due.crawl_id, seed=source.text, to=target.text, scope=folder)


def suppress(
    stay: Stay, crawl_id: int, url: Url, reason: Refusal, *, found_on: str | None, detail: str | None = None
) -> None:
    """Note a refusal; once a process, as long as the key is remembered: counting each would lock the popular ones."""
    if not stay.kit.known.has(crawl_id, refusal_key(url.key)):
        note(stay, suppression(crawl_id, url.key, url.text, reason, found_on=found_on, detail=detail))


def note(stay: Stay, row: Suppression) -> None:
    """For the next settle; of several the first."""
    stay.batch.suppressions.setdefault((row["crawl_id"], row["key"], row["reason"]), row)


def _suppress_unseen(stay: Stay, due: Due, urls: Iterable[Url]) -> None:
    """With the scope's reason where that refuses them anyway; those in the frontier were seen elsewhere."""
    for url in urls:
        refusal = judge(stay.scopes[due.crawl_id], url, due.depth + 1) or Refusal.HIDDEN
        if refusal not in _SILENT and not stay.kit.known.has(due.crawl_id, url.key):
            suppress(stay, due.crawl_id, url, refusal, found_on=due.url)


def _join(stay: Stay, base: str, directory: str, href: str) -> Url | Refusal:
    """Joined and canonical; links of one directory repeat from page to page, to one part of a document or another."""
    if "#" in href:
        href = without_fragment(href)
    joined = stay.joined.get((directory, href))
    if joined is None:
        joined = stay.kit.canon.join(base, href)
        if len(stay.joined) < MOST_JOINS and len(href) <= LONGEST_JOIN and not is_of_document(href):
            stay.joined[directory, href] = joined
    return joined


def _candidate(
    stay: Stay, crawl_id: int, url: Url, found_on: str, depth: int, hops: int, seen: bool = False
) -> Candidate:
    """Judged by robots.txt of an origin that the visit knows; the settle asks for those of others (`enter`)."""
    file = stay.robots.get(url.origin)
    rules = file.rules if file is not None else None
    allowed = None if rules is None else rules.permits(url)
    event = UrlEvent.DISALLOWED if allowed is False else UrlEvent.ADMITTED
    lane, score = lane_for(url, depth), score_for(depth)
    return Candidate(crawl_id, url, _PAGE, lane, score, depth, hops, found_on, event, allowed is True, seen)


def _suppress_text(stay: Stay, crawl_id: int, text: str, reason: Refusal, *, found_on: str) -> None:
    """A refusal of something that has no canonical form; once a process, too: a template repeats it on every page."""
    shown = text[:500]
    key = sha256(shown.encode("utf-8", "surrogatepass")).digest()
    if not stay.kit.known.has(crawl_id, refusal_key(key)):
        note(stay, suppression(crawl_id, key, shown, reason, found_on=found_on))


def refusal_key(key: bytes) -> bytes:
    """The place of a refused URL among the known keys, apart from that of the URL itself."""
    return key[16:] + key[:16]
