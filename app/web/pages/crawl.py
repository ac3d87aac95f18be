"""A crawl: how it goes, what was asked of it, and, on demand, what is only known by counting every row."""

from starlette.requests import Request
from starlette.responses import Response

from app.admin import crawls
from app.admin.board import lists
from app.policy.focus.shipped import NAMES, profile_of
from app.store import board, db
from app.store import crawls as crawl_rows
from app.store.crawls import Crawl
from app.web.board import board_of
from app.web.live import crawl_texts
from app.web.order import acts_on, order_of
from app.web.render import page

HOSTS = 10
COUNT_WAIT_S = 0.1
SMALL = 200_000  # rows of the frontier up to which everything is counted without asking


def show(request: Request) -> Response:
    """A crawl by its name."""
    shared = board_of(request)
    found = crawls.find(shared.engine, request.query_params.get("name", ""))
    now = shared.watch.look_at(found.id)
    with db.transaction(shared.engine) as tx:
        sizes = board.sizes(tx)
        hosts = crawl_rows.hosts_of(tx, found.id, HOSTS) if sizes.get("hosts", 0) < SMALL else []
    return page(
        request,
        "crawl.html",
        crawl=found,
        now_of=now,
        texts=crawl_texts(now),
        facts_of=_facts(found),
        hosts=hosts,
        is_small=sizes.get("urls", 0) < SMALL and sizes.get("fetches", 0) < SMALL,
        acts=acts_on("crawl", found.state),
        orders=lists.orders(shared.engine, subject=found.name, n=5),
        order=order_of(request),
    )


def counted(request: Request) -> Response:
    """The part of the page that counts every URL, and reads the crawl's log; or word that it is being counted."""
    shared = board_of(request)
    found = crawls.find(shared.engine, request.query_params.get("name", ""))
    return page(request, "crawl_counted.html", crawl=found, tally=shared.counts.of(found.name, wait_s=COUNT_WAIT_S))


def refused(request: Request) -> Response:
    """Links that were not admitted."""
    query = request.query_params
    name, reason = query.get("crawl", ""), query.get("reason") or None
    lot = lists.refused_links(board_of(request).engine, name, reason=reason, after=query.get("after", ""))
    return page(request, "refused.html", crawl=name, reason=reason, lot=lot)


def _facts(crawl: Crawl) -> list[tuple[str, object]]:
    profile = crawl.profile if crawl.profile in NAMES else f"{profile_of(crawl.profile).name} (its own)"
    listed = {
        "Reach": crawl.scope,
        "Hosts of its seeds": ", ".join(crawl.scope_hosts[:10]) + (" …" if len(crawl.scope_hosts) > 10 else ""),
        "Taken in by redirects": ", ".join(crawl.scope_redirects),
        "Only": " ".join(crawl.include),
        "Not": " ".join(crawl.exclude),
        "Most pages": None if crawl.max_pages is None else f"{crawl.max_pages:,}",
        "Most bytes": None if crawl.max_bytes is None else f"{crawl.max_bytes:,}",
        "Most links from a seed": crawl.max_depth,
        "Most seconds": None if crawl.max_seconds is None else f"{crawl.max_seconds:,g}",
        "Keeps fresh": "yes" if crawl.keep_fresh else "no",
        "Sitemaps": crawl.sitemaps,
        "Renders": crawl.render,
        "Values": profile,
        "Archive": "yes" if crawl.archive else "no",
        "Search": "yes" if crawl.search else "no",
        "Honours opt-outs": "yes" if crawl.honour_opt_outs else "no",
        "Handlers": ", ".join(crawl.handlers),
        "Admits above": None if crawl.admits_above is None else f"a score of {crawl.admits_above:.3g}",
        "Round": crawl.round,
    }
    return [(name, value) for name, value in listed.items() if value not in (None, "")]
