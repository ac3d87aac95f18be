"""Everything that is served. `app.web.guard` stands before all of it.

A route that may be asked without a login is named in `app.web.guard.PUBLIC` too.
"""

from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from app.web import health, metrics
from app.web.pages import overview
from app.web.render import ROOT

routes: list[BaseRoute] = [
    Route("/healthz", health.healthz),
    Route("/metrics", metrics.metrics),
    Route("/metrics/targets", metrics.listed),
    Route("/", overview.show),
    Mount("/static", StaticFiles(directory=ROOT / "static")),
]
