"""A crawl: how it goes, what was asked of it, and what is only known by counting its rows."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from app.admin import crawls, options
from app.admin.board import lists
from app.admin.board.pulse import look_at
from app.admin.report import DAYS
from app.store import crawls as crawl_rows
from app.store import db
from app.store.crawls import Crawl
from app.web.board import KEPT_MOST_S, KEPT_TIMES, board_of, kept_as
from app.web.live import crawl_texts, share_of_budget
from app.web.order import acts_on, order_of
from app.web.render import page, when

HOSTS_MOST = 10_000  # of a crawl, to be sorted at each look


def show(request: Request) -> Response:
    """A crawl by its name."""
    shared = board_of(request)
    found = crawls.find(shared.engine, request.query_params.get("name", ""))
    now = look_at(shared.fleet, found.id)
    with db.transaction(shared.engine) as tx:
        has_many_hosts = crawl_rows.hosts_some(tx, found.id, most=HOSTS_MOST) == HOSTS_MOST
        hosts = [] if has_many_hosts else crawl_rows.hosts_of(tx, found.id, 10)
    return page(
        request,
        "crawl.html",
        crawl=found,
        now_of=now,
        texts=crawl_texts(now),
        share=share_of_budget(now),
        facts_of=_facts(found),
        hosts=hosts,
        has_many_hosts=has_many_hosts,
        acts=acts_on("crawl", found.state),
        orders=lists.orders(shared.engine, subject=found.name, n=5),
        order=order_of(request),
    )


def counted(request: Request) -> Response:
    """The part of the page that counts URLs, requests and refused links; or word that they are being counted."""
    shared = board_of(request)
    found = crawls.find(shared.engine, request.query_params.get("name", ""))
    exactly = bool(request.query_params.get("exactly"))
    count = (shared.exact if exactly else shared.counts).of(kept_as(found), wait_s=0.1)
    more: dict[str, Any] = {"days": DAYS, "kept_times": KEPT_TIMES, "kept_most_s": KEPT_MOST_S}
    return page(request, "crawl_counted.html", crawl=found, exactly=exactly, count=count, **more)


def refused(request: Request) -> Response:
    """Links that were not admitted."""
    query = request.query_params
    name, reason = query.get("crawl", ""), query.get("reason") or None
    lot = lists.refused_links(board_of(request).engine, name, reason=reason, after=query.get("after", ""))
    return page(request, "refused.html", crawl=name, reason=reason, lot=lot)


def _facts(crawl: Crawl) -> list[tuple[str, object]]:
    more = {
        "Hosts of its seeds": ", ".join(crawl.scope_hosts[:10]) + (" …" if len(crawl.scope_hosts) > 10 else ""),
        "Taken in by redirects": ", ".join(crawl.scope_redirects),
        "Next round": crawl.round_at and when(crawl.round_at),
        "Admits above": None if crawl.admits_above is None else f"a score of {crawl.admits_above:.3g}",
        "Round": crawl.round,
    }
    asked = [(name.capitalize(), _in_words(value)) for name, value in options.facts(crawl)]
    return asked + [(name, value) for name, value in more.items() if value not in (None, "")]


def _in_words(value: object) -> object:
    match value:
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return f"{value:,}"
        case tuple():
            return " ".join(value)
        case _:
            return value
