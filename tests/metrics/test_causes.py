"""Alerts by rare causes: a handler that fills its container, browsers that die over their pages, and a clock of
Postgres that steps to and fro.

They clear when the cause is gone, or by what docs/alerts.md says is to be done.
"""

import itertools
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from app.browser.values import Chromium
from tests.acceptance.conftest import manual, until
from tests.browser.processes import below, named
from tests.crawl.web import Answer, Hit, Site, Web, html
from tests.faults import waiting
from tests.faults.servers import OwnPostgres
from tests.faults.test_clock import Clock, preloaded
from tests.features.render.shells import script, shell
from tests.metrics.memory_group import MemoryGroup, NotAllowed
from tests.metrics.prometheus import needs_prometheus
from tests.metrics.watched import Watched, watch
from tests.store.rows import sql

pytestmark = [pytest.mark.acceptance, needs_prometheus]
LIMIT_BYTES = 640 << 20  # a worker without a leak takes a third of it
LEAKS_TO = 0.9
LEAKY = """
from pathlib import Path
from tiptoe import handler

USED, MOST = Path({used!r}), {most}
held = []

@handler(match=".")
def leaky(page):
    while int(USED.read_text()) < MOST:
        held.append(b"x" * (8 << 20))
    yield {{"held": len(held)}}
"""
SCRIPT = """
fetch(location.pathname + '.json').then((answer) => answer.json()).then((data) => {
  document.getElementById('root').innerHTML = `<article><p>${data.text}</p></article>`;
});
"""
TEXT = "A script brought this line, and nobody who asks for the page without a browser sees it. "
PAGES, OPEN_S = 40, 0.5
PATIENCE_S = 600.0  # for dozens of browsers, one after the other, or some visits of 20 s, on a busy machine
SLOW_S, STEPS_S, STEP_EVERY_S, VISIT_S = 0.5, (5, 0), 4.0, 6.0  # a visit outlasts a step
# A backend that looked at each reading whether the clock was set would do little else.
A_SECOND_LATE = {"FAKETIME_NO_CACHE": "0", "FAKETIME_CACHE_DURATION": "1"}


@pytest.fixture
def group() -> Iterator[MemoryGroup]:
    try:
        with MemoryGroup(LIMIT_BYTES) as made:
            yield made
    except NotAllowed as reason:
        pytest.skip(str(reason))


def test_a_handler_that_fills_its_container_fires_an_alert_until_its_worker_is_stopped(
    group: MemoryGroup, watched: Watched, web: Web
) -> None:
    manual(site := web.site(), 3)
    (watched.folder / "leak.py").write_text(LEAKY.format(used=str(group.used), most=int(LEAKS_TO * group.limit)))
    leaks = watched.worker("w1", within=group.within, TIPTOE_HANDLERS=str(watched.folder / "leak.py"))
    watched.beat()
    used = '1 - tiptoe_memory_available_bytes{role="worker"} / tiptoe_memory_limit_bytes'
    until(lambda: (watched.prometheus.number(used) or 1) < 0.5, "a worker that holds little is scraped")
    watched.crawl("leak", [site])
    watched.until_firing("TiptoeMemoryHigh")
    leaks.send_signal(signal.SIGTERM)
    leaks.wait(60)
    watched.worker("w2", within=group.within)
    until(lambda: (watched.prometheus.number(used) or 1) < 0.5, "the worker in its place is scraped")
    watched.until_quiet("TiptoeMemoryHigh", "TiptoeWorkersSilent")
    assert watched.prometheus.number('tiptoe_memory_limit_bytes{role="worker"}') == LIMIT_BYTES


class Shells:
    """Pages that a script fills. While is_deadly, who opens one loses its browser.   renderer: whose browsers die"""

    def __init__(self, site: Site) -> None:
        self.is_deadly, self.renderer = True, os.getpid()
        paths = [f"/page-{number}" for number in range(PAGES)]
        site.pages["/"] = html(*paths, text=TEXT * 9)
        site.pages["/app.js"] = script(SCRIPT)
        for path in paths:
            site.pages[path] = shell()
            site.pages[f"{path}.json"] = self.data

    def data(self, hit: Hit) -> Answer:
        if self.is_deadly:
            for launcher in named(below(self.renderer), "launcher.py"):
                with suppress(ProcessLookupError):
                    os.kill(launcher, signal.SIGKILL)
        return Answer(body=json.dumps({"text": TEXT * 9}).encode(), delay_s=OPEN_S if self.is_deadly else 0.0)


def test_browsers_that_die_over_their_pages_fire_an_alert_until_they_live(
    watched: Watched, web: Web, chromium: Chromium
) -> None:
    shells = Shells(site := web.site())
    watched.worker("w1")
    watched.beat()
    shells.renderer = watched.renderer("r1").pid
    ready = "SELECT FROM render_workers WHERE problem IS NULL"
    until(lambda: bool(sql(watched.engine, ready)), "a browser is there")
    watched.crawl("shells", [site])
    waiting.until(lambda: "TiptoeRenderingsFail" in watched.prometheus.firing(), "it fires", PATIENCE_S)
    shells.is_deadly = False
    waiting.until(lambda: "TiptoeRenderingsFail" not in watched.prometheus.firing(), "it clears", PATIENCE_S)
    causes = {
        row["cause"].partition(":")[0] for row in sql(watched.engine, "SELECT cause FROM renders WHERE cause <> ''")
    }
    assert causes <= {"browser died"}


def test_a_clock_of_postgres_that_steps_fires_an_alert_until_it_stands_still(
    reachable_tmp: Path, tmp_path: Path, broker_url: str, web: Web
) -> None:
    """The log has what was fetched by one reading beside what was fetched by the other. It is the one cause to be had:
    a lease excludes a second visitor, its token fences one that a restored database let in, and within a visit the
    worker waits by a clock that nobody sets."""
    folder = reachable_tmp / f"stepping-{os.getpid()}"
    folder.mkdir(mode=0o711)
    clock = Clock(folder / "clock", 0)
    with (
        OwnPostgres(folder / "home", {**preloaded(clock), **A_SECOND_LATE}) as postgres,
        watch(tmp_path, postgres.make_database(), broker_url) as watched,
    ):
        sites = [web.site() for _ in range(8)]
        for site in sites:
            manual(site, 1_500)
            site.robots = f"User-agent: *\nCrawl-delay: {SLOW_S}\n"  # the alert judges the newest 200 requests
        watched.worker("w1", TIPTOE_ADDRESS_GAP_S="0", TIPTOE_CONSTANT_VISIT_MAX_S=str(VISIT_S))
        watched.beat()
        watched.crawl("stepped", sites)
        until(lambda: (watched.prometheus.number("sum(tiptoe_pages_total)") or 0) >= 20, "pages are counted")
        assert "TiptoePolitenessViolated" not in watched.prometheus.firing()
        step = Stepping(clock)
        waiting.until(
            lambda: step() or "TiptoePolitenessViolated" in watched.prometheus.firing(), "it fires", PATIENCE_S
        )
        clock.set(0)
        waiting.until(lambda: "TiptoePolitenessViolated" not in watched.prometheus.firing(), "it clears", PATIENCE_S)


class Stepping:
    """Call it again and again: it sets the clock now and then. Returns nothing, which is false."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._steps, self._next = clock, itertools.cycle(STEPS_S), time.monotonic()

    def __call__(self) -> None:
        if time.monotonic() >= self._next:
            self._next += STEP_EVERY_S
            self._clock.set(next(self._steps))
