"""The threads of a render worker: what it says of itself where it cannot serve."""

from app.browser.values import BrowserProblem, Chromium
from app.crawl.state.worker import Worker
from app.features.render.serve import RenderService
from app.store import db, renders
from tests.acceptance.conftest import until
from tests.features.render.shells import Stand


def test_a_check_that_fails_is_a_problem_that_crawls_can_see(worker: Worker) -> None:
    """Else the worker would seem to be there, and every crawl with a shell would wait for it."""

    def check() -> Chromium | BrowserProblem:
        raise RuntimeError("out of file descriptors")

    service = RenderService(worker, check=check, pool=lambda chromium: Stand())
    service.start()
    try:
        until(lambda: bool(said(worker)), "the worker says what is lacking")
        assert said(worker) == [
            "the check of the browser failed: out of file descriptors; see the log, and tiptoe doctor"
        ]
    finally:
        worker.stop()
        service.join()
    assert said(worker) == [], "it signed off"


def said(worker: Worker) -> list[str | None]:
    with db.transaction(worker.engine) as tx:
        return [each.problem for each in renders.workers(tx)]
