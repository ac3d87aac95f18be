"""Which links of a document become rows of the frontier, and which are refused, with the reason.

canonical form ▶ scope ▶ known already? ▶ robots.txt of its origin, if anybody has it ▶ admission (queued or refused)

Repeats are cheap: a visit keeps the joins of a directory, a process the keys that it knows to be committed.
"""

from collections.abc import Iterable
from hashlib import sha256

import structlog

from app.crawl.state.visit import Stay
from app.model import Cause, Link, Refusal, RequestKind, Url
from app.policy import lane
from app.policy.lifecycle import UrlEvent, url_after
from app.policy.scope import judge, taken_in, widened
from app.policy.url import in_encoding, is_of_document, without_fragment
from app.store.urls import Admission, Due

_log = structlog.get_logger()
_SILENT = {Refusal.SCHEME, Refusal.EXTENSION}  # mailto:, images: of no interest to anybody, and many
MOST_JOINS = 20_000
LONGEST_JOIN = 500  # characters of an href that is kept


def links(
    stay: Stay, due: Due, base: str, found: Iterable[Link], *, encoding: str = "utf-8", nofollow: bool = False
) -> list[Admission]:
    """Admissions for the links of a document whose base URL is `base`. Refusals go into the batch.

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
    return admissions(stay, due, targets.values(), found_on=due.url, depth=due.depth + 1, hops=0)


def admissions(
    stay: Stay, due: Due, targets: Iterable[Url], *, found_on: str, depth: int, hops: int
) -> list[Admission]:
    """The rows for those targets that the crawl's scope takes in and that are not known to be there already."""
    scope, known = stay.scopes[due.crawl_id], stay.kit.known
    rows: list[Admission] = []
    for url in targets:
        if known.has(due.crawl_id, url.key) or (url.form != url.key and known.has(due.crawl_id, url.form)):
            continue
        refusal = judge(scope, url, depth, is_link=hops == 0)
        if refusal is None:
            row = _row(stay, due.crawl_id, url, found_on=found_on, depth=depth, hops=hops)
            if known.may_have(due.crawl_id, url.key) or (
                url.form != url.key and known.may_have(due.crawl_id, url.form)
            ):
                row["seen"] = True
            rows.append(row)
        elif refusal not in _SILENT:
            suppress(stay, due.crawl_id, url, refusal, found_on=found_on)
    return rows


def redirected(stay: Stay, due: Due, source: Url, target: Url) -> list[Admission]:
    """The row for where a redirect leads: of the same kind, judged as a link would be; a sitemap may lie outside the scope.

    Where a seed leads, by its own chain of redirects, comes into the scope; the settle writes that down first.
    """
    if due.kind == RequestKind.PAGE:
        if due.depth == 0:  # the seeds and their chains alone
            _take_in(stay, due, source, target)
        return admissions(stay, due, [target], found_on=source.text, depth=due.depth, hops=due.hops + 1)
    row = _row(stay, due.crawl_id, target, found_on=source.text, depth=due.depth, hops=due.hops + 1)
    row["kind"] = due.kind
    return [row]


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
    if stay.kit.known.has(crawl_id, refusal_key(url.key)):
        return
    stay.batch.suppressions.setdefault(
        (crawl_id, url.key, reason.value),
        {
            "crawl_id": crawl_id,
            "key": url.key,
            "reason": reason.value,
            "url": url.text,
            "detail": detail,
            "found_on": found_on,
        },
    )


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


def _row(stay: Stay, crawl_id: int, url: Url, *, found_on: str, depth: int, hops: int) -> Admission:
    file = stay.robots.get(url.origin)
    rules = file.rules if file is not None else None
    refused = rules is not None and not rules.permits(url)
    row: Admission = {
        "host_id": 0,
        "crawl_id": crawl_id,
        "kind": RequestKind.PAGE.value,
        "key": url.key,
        "url": url.text,
        "state": url_after(None, UrlEvent.DISALLOWED if refused else UrlEvent.ADMITTED).value,
        "lane": lane.lane_for(url, depth),
        "score": lane.score_for(depth),
        "depth": depth,
        "hops": hops,
        "found_on": found_on,
        "cause": Cause.ROBOTS if refused else None,
        "sitemap_id": None,
        "lastmod": None,
    }
    if url.linked is not None:
        row["linked"] = url.linked
    if url.form != url.key:
        row["form"] = url.form
    if rules is not None and not refused:
        row["reopens"] = True
    return row


def _suppress_text(stay: Stay, crawl_id: int, text: str, reason: Refusal, *, found_on: str) -> None:
    """A refusal of something that has no canonical form; once a process, too: a template repeats it on every page."""
    shown = text[:500]
    key = sha256(shown.encode("utf-8", "surrogatepass")).digest()
    if stay.kit.known.has(crawl_id, refusal_key(key)):
        return
    stay.batch.suppressions.setdefault(
        (crawl_id, key, reason.value),
        {
            "crawl_id": crawl_id,
            "key": key,
            "reason": reason.value,
            "url": shown,
            "detail": None,
            "found_on": found_on,
        },
    )


def refusal_key(key: bytes) -> bytes:
    """The place of a refused URL among the known keys, apart from that of the URL itself."""
    return key[16:] + key[:16]
