"""The time that a page has, and the lease that has to last for it. With a stand-in for the browser."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from app.browser.values import Ask, Bounds, BrowserDeath, PlainResponse, Rendering
from app.crawl.state.worker import Worker
from app.render.limits import LEASE_REST_S
from app.render.requests import PageRequests
from tests.crawl.loop import go, start
from tests.crawl.web import Answer, Hit, Site
from tests.render.shells import Stand, render
from tests.store.rows import sql

LEASE_S, RENDER_S, LATE_S = 40.0, 20.0, 12.0


@dataclass
class Clock:
    """Seconds of this process, and those that passed without our waiting for them."""

    more_s: float = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.more_s


@dataclass
class Looks(Stand):
    """Notes what is left of the lease as the page is opened, beyond the page's own time."""

    left_s: float = 0.0

    def render(
        self, plain: PlainResponse, ask: Ask, bounds: Bounds, *, user_agent: str, screenshot: bool = False
    ) -> Rendering | BrowserDeath:
        assert isinstance(ask, PageRequests)
        self.left_s = ask.visit.lease.left_s() - bounds.wall_s
        return super().render(plain, ask, bounds, user_agent=user_agent, screenshot=screenshot)


def test_the_lease_outlasts_the_page_and_its_reading(make: Callable[..., Worker], site: Site) -> None:
    """Its robots.txt came late, and took a part of the lease."""
    clock = Clock()
    worker = replace(make(lease_s=LEASE_S, render_s=RENDER_S), monotonic=clock)
    start(worker, site.url("/"))
    go(worker)

    def late(hit: Hit) -> Answer:
        clock.more_s += LATE_S
        return Answer(headers={"Content-Type": "text/plain"}, body=b"User-agent: *\nAllow: /")

    site.robots = late
    sql(worker.engine, "UPDATE robots SET expires_at = now() - interval '1 minute'")
    stand = Looks()
    render(worker, stand)
    assert clock.more_s == LATE_S, "it was asked for once"
    assert stand.left_s >= LEASE_REST_S
