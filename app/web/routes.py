"""Everything that is served. `app.web.guard` stands before all of it.

A route that may be asked without a login is named in `app.web.guard.PUBLIC` too.
"""

from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from app.web import health, live, metrics, order
from app.web.pages import (
    account,
    capture,
    changes,
    crawl,
    export_form,
    fleet,
    hosts,
    overview,
    pages_found,
    picture,
    proof,
    requests,
    rights,
    url,
)
from app.web.render import ROOT

routes: list[BaseRoute] = [
    Route("/healthz", health.healthz),
    Route("/metrics", metrics.metrics),
    Route("/metrics/targets", metrics.listed),
    Route("/readyz", health.readyz),
    Route("/status", health.show_status),
    Route("/", overview.show),
    Route("/crawls", overview.crawls),
    Route("/crawl", crawl.show),
    Route("/crawl/counted", crawl.counted),
    Route("/refused", crawl.refused),
    Route("/hosts", hosts.show_list),
    Route("/host", hosts.show),
    Route("/url", url.show),
    Route("/rights", rights.show),
    Route("/url/capture", capture.show),
    Route("/url/diff", capture.diff),
    Route("/url/download", capture.download),
    Route("/pages", pages_found.pages),
    Route("/changes", changes.show),
    Route("/changes.atom", changes.atom),
    Route("/changes/stream", changes.stream),
    Route("/export", export_form.ask),
    Route("/export/file", export_form.save),
    Route("/page", capture.stored),
    Route("/page/picture", picture.show),
    Route("/live", requests.live),
    Route("/errors", requests.errors),
    Route("/proof", proof.show),
    Route("/search", pages_found.search),
    Route("/items", pages_found.items),
    Route("/traps", pages_found.traps),
    Route("/duplicates", pages_found.duplicates),
    Route("/fleet", fleet.show),
    Route("/orders", order.show_log),
    Route("/act/{key}", order.ask, methods=["GET"]),
    Route("/act/{key}", order.give, methods=["POST"]),
    Route("/login", account.login, methods=["POST"]),
    Route("/logout", account.logout, methods=["POST"]),
    Route("/stream", live.stream),
    Route("/history", live.history),
    Mount("/static", StaticFiles(directory=ROOT / "static")),
]
