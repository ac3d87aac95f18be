"""The wishes of a page and its site beside robots.txt's Disallow, and what comes of it (promise R8, R9).

Directives (X-Robots-Tag, <meta name=robots>) bind every crawl. Opt-outs from text and data mining are recorded in every
crawl, and bind those that honour them: the page is kept out of `pages` as one that says noindex is, and its links are
followed.

A 304 brings headers and no page. What is on record holds on, and what they say comes on top: they can take nothing
back, since there is no page that could be kept after all. So a page that was kept out for an opt-out which is known to
be withdrawn is asked for as if it was new (`is_wanted_whole`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.crawl.robots import tdmrep
from app.crawl.state.lease import Lease
from app.crawl.state.origins import HostOrigins
from app.crawl.state.worker import Worker
from app.model import Cause, Header, Page, Reply, Url
from app.policy import directives, tdm
from app.policy.directives import Directives
from app.policy.tdm import Signal
from app.store.url_rows import Due


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """The wishes about one page.

    directives, opt_out   for the record, a line each
    nofollow, noarchive   its links are not followed; its text is not kept
    kept_out              why it is not kept at all
    signals               the statements, one by one
    """

    directives: str | None
    opt_out: str | None
    nofollow: bool
    noarchive: bool
    kept_out: Cause | None
    signals: Sequence[Signal] = ()


NONE = Wishes(directives=None, opt_out=None, nofollow=False, noarchive=False, kept_out=None)
_SPEAKING = frozenset({"x-robots-tag", "content-usage", "content-signal", "tdm-reservation", "tdm-policy"})


def of_page(
    worker: Worker, lease: Lease, origins: HostOrigins, due: Due, url: Url, reply: Reply, document: Page
) -> Wishes:
    if _is_silent(origins, due, url, reply, document):
        return NONE
    said = _directives(worker, lease, reply, document.robots)
    own = [*tdm.of_reply(reply.headers), *tdm.of_meta(document.tdm), *tdm.of_directives(said.no_ai)]
    site = _of_site(worker, origins, due, url, own)
    signals = [*own, *site]
    return _wishes(due, said, tdm.text(signals), site, signals)


def _is_silent(origins: HostOrigins, due: Due, url: Url, reply: Reply, document: Page) -> bool:
    """Nobody has said anything: most pages."""
    return (
        not document.robots
        and not document.tdm
        and not due.honour_opt_outs
        and origins.robots[url.origin].signals.is_silent
        and _SPEAKING.isdisjoint(reply.headers)
        and "icense" not in reply.headers.get(Header.LINK, "")
    )


def of_unchanged(worker: Worker, lease: Lease, origins: HostOrigins, due: Due, url: Url, reply: Reply) -> Wishes:
    """After a 304."""
    said = _directives(worker, lease, reply, (due.directives or "").split(","))
    own = [*tdm.of_reply(reply.headers), *tdm.of_directives(said.no_ai)]
    site = _of_site(worker, origins, due, url, own)
    signals = [*own, *site]
    opt_out = due.opt_out if tdm.was_reserved(due.opt_out) else tdm.text(signals) or due.opt_out
    return _wishes(due, said, opt_out, site, signals)


def of_header(worker: Worker, lease: Lease, origins: HostOrigins, due: Due, url: Url, reply: Reply) -> Wishes:
    """The wishes in the header of an answer that is read as no page."""
    said = _directives(worker, lease, reply, ())
    own = [*tdm.of_reply(reply.headers), *tdm.of_directives(said.no_ai)]
    site = _of_site(worker, origins, due, url, own)
    signals = [*own, *site]
    return _wishes(due, said, tdm.text(signals), site, signals)


def is_wanted_whole(worker: Worker, origins: HostOrigins, due: Due, url: Url) -> bool:
    """It was kept out, and would not be now: its validators would bring no page. Known of opt-outs only, and not of
    those that the page itself tells.
    """
    if due.cause not in {Cause.OPTED_OUT, Cause.SITE_OPTED_OUT}:
        return False
    return not due.honour_opt_outs or (
        due.cause == Cause.SITE_OPTED_OUT and not tdm.reserved(_of_site(worker, origins, due, url, ()))
    )


def effects(*, directives: str | None, opt_out: str | None, honours: bool) -> list[str]:
    """For a person: what came of what is on record for a page, but for its being kept out, which is its cause."""
    names = set((directives or "").split(", "))
    found = []
    if names & {"nofollow", "none"}:
        found.append("nofollow: its links are not followed")
    if "noarchive" in names:
        found.append("noarchive: its text is not kept")
    if tdm.was_reserved(opt_out) and not honours:
        found.append("opt-out: recorded only, the crawl does not honour them")
    return found


def _directives(worker: Worker, lease: Lease, reply: Reply, others: Iterable[str]) -> Directives:
    now = lease.database_time(lease.now())
    return directives.read(reply.header(Header.X_ROBOTS_TAG), others, worker.settings.product_token, now=now)


def _of_site(worker: Worker, origins: HostOrigins, due: Due, url: Url, own: Sequence[Signal]) -> tuple[Signal, ...]:
    """robots.txt in every crawl, tdmrep.json in those that ask for it, and what files that these or the page name say.

    own: what the page says
    """
    signals = origins.robots[url.origin].signals.of(url.target)
    if due.honour_opt_outs:
        signals += tdmrep.signals(origins, url)
    named = (*own, *signals)
    found = worker.hooks.statements(worker=worker, origins=origins, url=url, named=named) if named else ()
    return (*signals, *(signal for each in found for signal in each))


def _wishes(
    due: Due, said: Directives, opt_out: str | None, site: Iterable[Signal], signals: Sequence[Signal]
) -> Wishes:
    kept_out = None
    if said.noindex:
        kept_out = Cause.NOINDEX
    elif due.honour_opt_outs and tdm.reserved(site):
        kept_out = Cause.SITE_OPTED_OUT
    elif due.honour_opt_outs and tdm.was_reserved(opt_out):
        kept_out = Cause.OPTED_OUT
    return Wishes(
        directives=said.text,
        opt_out=opt_out,
        nofollow=said.nofollow,
        noarchive=said.noarchive,
        kept_out=kept_out,
        signals=signals,
    )
