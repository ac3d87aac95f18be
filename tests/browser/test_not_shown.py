"""Pages that no browser showed: whether the machine is to blame, or the page."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from app.browser.connection import DevToolsPipe
from app.browser.page import OpenPage
from app.browser.process import BrowserProcess
from app.browser.values import Bounds, BrowserDeath, Chromium, PlainResponse, ResourceKind, SubRequest
from tests.browser.processes import below, named
from tests.browser.site import Site, plain
from tests.faults.waiting import until

SHORT, AMPLE = Bounds(wall_s=3), Bounds(wall_s=60)
OWN = "Fetch.fulfillRequest"  # the command that hands the page's document over


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[BrowserProcess]:
    made = BrowserProcess(chromium.path)
    yield made
    made.end()


class Calling(DevToolsPipe):
    """The pipes of a browser; before the command `at` is sent, `does` is called."""

    def __init__(self, pipe: DevToolsPipe, at: str, does: Callable[[], object]) -> None:
        self._pipe, self._at, self._does = pipe, at, does
        self.events, self.quieten, self.close = pipe.events, pipe.quieten, pipe.close  # type: ignore[method-assign]

    def send(self, method: str, params: Mapping[str, Any], session: str | None, until: float) -> int:
        if method == self._at:
            self._does()
        return self._pipe.send(method, params, session, until)


def render(browser: BrowserProcess, page: PlainResponse, bounds: Bounds, site: Site) -> BrowserDeath:
    found = OpenPage(browser, page, site, bounds, "Tiptoe").render(screenshot=False)
    assert isinstance(found, BrowserDeath), found
    return found


def signalled(browser: BrowserProcess, number: signal.Signals, word: str = "") -> None:
    for pid in named(below(browser.pid), word):
        os.kill(pid, number)


@pytest.mark.parametrize(
    # the command before which it happens; what happens, and to which processes; what is said of it
    ("at", "number", "word", "why"),
    [
        ("Target.createTarget", signal.SIGKILL, "", "it ended"),
        pytest.param("Target.createTarget", signal.SIGSTOP, "", "no answer to", marks=pytest.mark.faults),
        (OWN, signal.SIGSTOP, "--type=renderer", "it showed no document"),
        (OWN, signal.SIGKILL, "", "it ended"),
    ],
)
def test_a_browser_that_shows_no_page_says_nothing_of_the_page(
    browser: BrowserProcess, at: str, number: signal.Signals, word: str, why: str
) -> None:
    browser.connection = Calling(browser.connection, at, lambda: signalled(browser, number, word))
    found = render(browser, plain("/react/"), SHORT if number is signal.SIGSTOP else AMPLE, Site())
    assert not found.is_proof
    assert found.problem is not None
    assert found.problem.is_slowness
    assert f"showed no page: {why}" in found.problem.finding


def test_a_browser_that_is_lost_once_the_page_is_shown_costs_an_attempt(browser: BrowserProcess) -> None:
    def lose(request: SubRequest) -> None:
        if request.resource is ResourceKind.FETCH:  # scripts are asked for ahead of the document that names them
            os.kill(browser.pid, signal.SIGKILL)
            until(lambda: not browser.is_alive, "it has ended")

    found = render(browser, plain("/react/"), AMPLE, Site(lose))
    assert (found.is_proof, found.problem) == (False, None)


def test_an_answer_that_a_browser_would_save_is_the_pages_own_fault(browser: BrowserProcess) -> None:
    """It is known at once: nobody waits for a document until the page's time is over."""
    page = replace(plain("/react/"), headers={"content-type": "application/octet-stream"})
    found = render(browser, page, Bounds(wall_s=600), Site())
    assert found == BrowserDeath(cause="browser died: it did not take the answer: net::ERR_ABORTED")
