"""The doctor's check of the browser: a grade for each thing that may be wrong, and a remedy."""

from pathlib import Path

import pytest

from app.admin.browser_check import browser
from app.admin.doctor import Grade
from app.browser.find import find
from app.browser.values import BrowserProblem
from app.config import Settings


def test_a_browser_that_was_named_and_is_not_there_is_a_fault(tmp_path: Path) -> None:
    check = browser(Settings(chromium=str(tmp_path / "chromium")))
    assert (check.name, check.grade) == ("browser", Grade.FAIL)
    assert check.finding == f"{tmp_path}/chromium is not a program: pages that need JavaScript keep their plain text"
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
    check = browser(Settings())
    assert (check.grade, check.remedy) == (Grade.OK, "")
    assert check.finding == f"Chromium {there.version} at {there.path}, without a network"
