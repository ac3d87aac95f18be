"""The time that a page has, and the lease that has to last for it. With a stand-in for the browser."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from app.browser.values import Ask, Bounds, BrowserDeath, BrowserProblem, PlainResponse, Rendering
from app.clock import monotonic
from app.crawl.state.worker import Worker
from app.features.render.requests import PageRequests
from app.features.render.turn import ATTEMPTS_MOST, LEASE_REST_S, SLOW_STARTS_MOST, TAKES_MOST, RenderTurns, TurnEnding
from app.model.render import RenderEnding, RenderRefusal
from tests.crawl.loop import go, start
from tests.crawl.web import Answer, Hit, Site
from tests.features.render.shells import DOCUMENT, SHELL, Stand, render, rows, shell, there, turns
from tests.store.rows import sql

LEASE_S, RENDER_S, LATE_S = 40.0, 20.0, 12.0


@dataclass
class Clock:
    """Seconds of this process, and those that passed without our waiting for them."""

    more_s: float = 0.0

    def __call__(self) -> float:
        return monotonic() + self.more_s


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


def test_a_start_that_was_slow_is_no_problem_until_others_are(worker: Worker, site: Site) -> None:
    """A crawl ends without its renders where no worker has a browser: one slow start is not that."""
    start(worker, site.url("/"))
    go(worker)
    slow = BrowserProblem("Chromium did not start: no answer within 30 s", "wait", is_slowness=True)
    stand = Stand(dies=BrowserDeath(cause="it", problem=slow))
    made = turns(worker, stand)
    found: list[BrowserProblem | None] = []
    for _ in range(SLOW_STARTS_MOST):
        sql(worker.engine, "UPDATE renders SET due_at = now()")
        made.run()
        found.append(made.problem)
    assert found == [*[None] * (SLOW_STARTS_MOST - 1), slow]
    stand.dies = None
    sql(worker.engine, "UPDATE renders SET due_at = now()")
    made.run()
    assert (made.problem, made.slow_starts) == (None, 0)


AGAIN, STANDS = ["due", "due", "done"], ["done"] * 3


# of 30 s that the page was open, seconds of processor time; its document; what it waited for → its states
@pytest.mark.parametrize(
    ("cpu_s", "document", "waited", "states"),
    [
        (1.0, SHELL, {}, AGAIN),
        (20.0, SHELL, {}, STANDS),
        (1.0, DOCUMENT, {RenderRefusal.TIME: 1}, AGAIN),
        (1.0, DOCUMENT, {}, STANDS),
    ],
)
def test_a_page_that_a_busy_machine_cut_short_is_made_again_twice(
    worker: Worker, site: Site, cpu_s: float, document: str, waited: dict[RenderRefusal, int], states: list[str]
) -> None:
    start(worker, site.url("/"))
    go(worker)
    there(worker.engine)
    ending = {"ending": RenderEnding.DEADLINE, "wall_s": 30.0, "cpu_s": cpu_s, "refused": waited}
    stand = Stand(html=document, options=ending)
    found: list[str] = []
    for _ in states:
        sql(worker.engine, "UPDATE renders SET due_at = now()")
        turns(worker, stand).run()
        found += [row.state for row in rows(worker, "SELECT state FROM renders")]
    assert found == states


SLOW = BrowserProblem("Chromium showed no page: it showed no document", "wait", is_slowness=True)
NOT_SHOWN = BrowserDeath(cause="it", problem=SLOW)


def run_with(
    worker: Worker, made: RenderTurns, stand: Stand, url: str, dies: BrowserDeath | None
) -> tuple[object, ...]:
    """A turn of this page, with all others out of the way. Returns its state, takes and attempts."""
    sql(worker.engine, "UPDATE renders SET due_at = now() + interval '1 hour'")
    sql(worker.engine, f"UPDATE renders SET due_at = now() WHERE url = '{url}'")
    stand.dies = dies
    assert made.run() is TurnEnding.DONE
    (row,) = rows(worker, f"SELECT state, takes, attempts FROM renders WHERE url = '{url}'")
    return tuple(row)


def test_a_page_that_a_starved_machine_shows_to_nobody_does_not_fail(worker: Worker, site: Site) -> None:
    """However often: what ends it is that its worker has a problem, which ends the crawl and leaves the page due."""
    start(worker, site.url("/"))
    go(worker)
    stand = Stand()
    made = turns(worker, stand)
    made.slow_starts = 1  # it was slow before
    for _ in range(10):
        assert run_with(worker, made, stand, site.url("/"), NOT_SHOWN) == ("due", 0, 0)
    assert made.problem == SLOW
    assert run_with(worker, made, stand, site.url("/"), None) == ("done", 0, 0)
    assert made.problem is None


def test_a_page_that_is_never_shown_while_others_are_fails_in_the_end(worker: Worker, site: Site) -> None:
    """Its answer is what takes browsers down: it would be tried again for ever, as the machine is in order."""
    others = [f"/item/{n}" for n in range(TAKES_MOST * ATTEMPTS_MOST)]
    site.pages |= dict.fromkeys(others, shell())
    start(worker, site.url("/"), *map(site.url, others))
    go(worker)
    stand = Stand()
    made = turns(worker, stand)
    states: list[tuple[object, ...]] = []
    for other in others:
        assert run_with(worker, made, stand, site.url(other), None)[0] == "done"
        states.append(run_with(worker, made, stand, site.url("/"), NOT_SHOWN))
    assert states[:4] == [("due", 1, 0), ("due", 2, 0), ("due", 0, 1), ("due", 1, 1)]
    assert states[-2:] == [("due", 2, 2), ("failed", 0, 3)]
    assert made.problem is None
