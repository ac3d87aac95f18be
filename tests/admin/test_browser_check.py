"""The doctor's check of the browser: a grade for each thing that may be wrong, and a remedy."""

from pathlib import Path

import pytest

from app.admin.check import Check, Grade
from app.admin.rendering import browser, renderers
from app.browser.find import find
from app.browser.process import BUSY
from app.browser.values import BrowserProblem
from app.config import Settings
from app.crawl.state.worker import Worker
from app.store import db, renders
from tests.crawl.loop import go, start
from tests.crawl.web import Web
from tests.faults.waiting import until
from tests.features.render.shells import shell


def test_a_browser_that_was_named_and_is_not_there_is_a_fault(tmp_path: Path) -> None:
    check = browser(Settings(chromium=str(tmp_path / "chromium")))
    assert (check.name, check.grade) == ("browser", Grade.FAIL)
    assert check.finding == f"{tmp_path}/chromium is not a program: no page is rendered here"
    assert "apt-get install chromium" in check.remedy


def test_a_browser_that_starts_and_shows_nothing_is_a_fault(tmp_path: Path) -> None:
    if isinstance(there := find(None), BrowserProblem):
        pytest.skip(there.line)
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\necho Chromium 156.0.1.1\n")
    program.chmod(0o755)
    check = browser(Settings(chromium=str(program)))
    assert check.grade is Grade.FAIL
    assert check.finding.startswith("Chromium ")
    assert check.remedy


def test_the_browser_of_this_machine_is_in_order() -> None:
    if isinstance(there := find(None), BrowserProblem):
        pytest.skip(there.line)

    def checked() -> Check | None:
        found = browser(Settings())
        return None if found.remedy == BUSY else found

    check = until(checked, "the machine has time for a browser", timeout_s=300)
    assert (check.grade, check.remedy) == (Grade.OK, "")
    assert check.finding == f"Chromium {there.version} at {there.path}, without a network"


def test_pages_that_wait_for_a_browser_are_told_of_where_nobody_renders(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = shell()
    start(worker, site.url("/"))
    assert renderers(worker.engine) == []
    go(worker)
    assert renderers(worker.engine) == [
        Check(
            name="renderers",
            grade=Grade.WARN,
            finding="none; waiting for a browser: 1 page",
            remedy="start a worker with -Q render",
        )
    ]


def test_workers_that_render_elsewhere_are_told_of_with_what_they_lack(worker: Worker) -> None:
    """A machine of a fleet need not have a browser itself."""
    with db.transaction(worker.engine) as tx:
        renders.seen(tx, name="a:1", browser="156.0", problem=None)
        renders.seen(tx, name="b:1", browser=None, problem="no Chromium was found; install one")
    assert renderers(worker.engine) == [
        Check(name="renderers", grade=Grade.OK, finding="a:1 has Chromium 156.0"),
        Check(name="renderers", grade=Grade.WARN, finding="b:1: no Chromium was found", remedy="install one"),
    ]
