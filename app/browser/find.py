"""Finds a Chromium that may render here, and says what is lacking otherwise: none, too old, no guard, no memory.

A trial renders one small page, to show that it works here: sandbox, guard and pipe.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from app.browser import guard
from app.browser.page import Browsers
from app.browser.values import Bounds, BrowserDeath, BrowserProblem, Chromium, PlainResponse, Refused, SubRequest
from app.model.render import RenderRefusal
from app.words import sized

# The programs themselves before their wrappers, which add switches of their own.
PLACES: Final = (
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/usr/lib/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
)
NAMES: Final = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
LEAST_VERSION: Final = 120
LEAST_BYTES: Final = 700_000_000  # a browser holds 130 MB, with a common page 190 MB, with a heavy one 500 MB
INSTALL: Final = (
    "apt-get install chromium, or `pip install playwright` and `playwright install chromium`; "
    "elsewhere set TIPTOE_CHROMIUM=/path/to/chromium"
)
_WORD = "rendered"
_PAGE = PlainResponse(
    url="http://trial.invalid/",
    status=200,
    headers={"content-type": "text/html; charset=utf-8"},
    body=(
        f"<p id=root></p><script>document.getElementById('root').textContent = '{_WORD}'</script>"
        f"<p>{'a page with text is not waited for, as a shell is. ' * 9}"
    ).encode(),
)


def find(path: str | None, *, free_bytes: int | None = None) -> Chromium | BrowserProblem:
    """Find a browser and check the place. It takes 0.2 s, and starts no browser.

    path        `TIPTOE_CHROMIUM`; None: the usual places
    free_bytes  memory that programs may still take; None: nobody knows
    """
    executable = path or _in_usual_places()
    if executable is None:
        return BrowserProblem("no Chromium was found", INSTALL, is_absence=True)
    if not (os.path.isfile(executable) and os.access(executable, os.X_OK)):
        return BrowserProblem(f"{executable} is not a program", INSTALL)
    version = _version(executable)
    if isinstance(version, BrowserProblem):
        return version
    if int(version.partition(".")[0]) < LEAST_VERSION:
        return BrowserProblem(f"{executable} is Chromium {version}", f"install {LEAST_VERSION} or newer: {INSTALL}")
    if problem := guard.check():
        return problem
    if free_bytes is not None and free_bytes < LEAST_BYTES:
        finding = f"{sized(free_bytes)} of memory are free, and a browser needs {sized(LEAST_BYTES)}"
        return BrowserProblem(finding, "free some, or run workers of queue render on another machine")
    return Chromium(path=str(executable), version=version)


def _in_usual_places() -> str | None:
    known = [place for place in PLACES if os.access(place, os.X_OK)]
    by_playwright = sorted(Path.home().glob(".cache/ms-playwright/chromium-*/chrome-linux*/chrome"))
    named = [found for name in NAMES if (found := shutil.which(name))]
    return next((str(found) for found in [*known, *named, *reversed(by_playwright)]), None)


def _version(executable: str) -> str | BrowserProblem:
    try:
        said = subprocess.run(
            [executable, "--version"], capture_output=True, timeout=20.0, check=False, text=True, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return BrowserProblem(f"{executable} --version: {error}", INSTALL)
    found = re.search(r"\b(\d+)(?:\.\d+){1,3}\b", said.stdout)
    if found is None or "chrom" not in said.stdout.lower():
        last = (said.stderr.strip().splitlines() or ["it says no version"])[-1]
        return BrowserProblem(f"{executable} is no Chromium: {last[:100]}", INSTALL)
    return found[0]


def trial(chromium: Chromium) -> BrowserProblem | None:
    """Start the browser, and render. It takes 1.5 seconds. None: it works."""
    browsers = Browsers(chromium.path, most=1)
    try:
        found = browsers.render(_PAGE, _refuse, Bounds(wall_s=20.0), user_agent="Tiptoe")
    finally:
        browsers.close()
    if isinstance(found, BrowserDeath):
        return found.problem or BrowserProblem(found.cause, "try another Chromium: TIPTOE_CHROMIUM")
    if f">{_WORD}<" not in found.html:
        return BrowserProblem(f"{chromium.path} ran no script", "try another Chromium: TIPTOE_CHROMIUM")
    return None


def _refuse(_: SubRequest) -> Refused:
    return Refused(RenderRefusal.SCOPE)
