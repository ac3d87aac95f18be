"""The politeness proof of a host or a crawl, on one page that can be printed and sent to a site's owner."""

from datetime import UTC, datetime
from importlib.metadata import version

from starlette.requests import Request
from starlette.responses import Response

from app.admin import audit, crawls, hosts
from app.admin.audit import KINDS
from app.policy import identity
from app.store import db, fetches
from app.web.board import board_of
from app.web.pages.hosts import delay_source
from app.web.render import page

HOSTS = 200
WAIT_S = 2.0  # for the proof of a crawl, which reads the whole log of its hosts


def show(request: Request) -> Response:
    """The proof; without a host or a crawl, a form that asks for one."""
    shared, query = board_of(request), request.query_params
    host, crawl = query.get("host") or None, query.get("crawl") or None
    if host is None and crawl is None:
        return page(request, "proof_ask.html")
    engine, settings = shared.engine, shared.settings
    if host:
        found, at = audit.audit_host(engine, settings, host), datetime.now(UTC)
    else:
        made = shared.proofs.of(crawls.find(engine, crawl or "").name, wait_s=WAIT_S)
        if made is None:
            return page(request, "proof_made.html", crawl=crawl)
        found, at = made.value, made.at
    about = hosts.show(engine, settings, host, latest=1) if host else None
    with db.transaction(engine) as tx:
        begins = fetches.begins(tx)
    headers = identity.headers(
        token=settings.product_token,
        version=version("tiptoe"),
        contact=settings.contact,
        info_url=settings.info_url,
        purpose=settings.purpose,
    )
    return page(
        request,
        "proof.html",
        found=found,
        at=at,
        host=about.host["name"] if about else None,
        crawl=crawl,
        about=about,
        delay=delay_source(about, settings) if about else None,
        shown=found.hosts[:HOSTS],
        kinds=KINDS,
        begins=begins,
        headers=headers,
        settings=settings,
    )
