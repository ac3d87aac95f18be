"""Takes the picture of the dashboard: its overview while `tiptoe demo` runs, in a window of 1200 × 780."""

import os
import re
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import IO
from urllib.parse import urljoin

from playwright.sync_api import ViewportSize

from tests.acceptance.conftest import until
from tests.web.chromium import launched

WINDOW = ViewportSize(width=1200, height=780)
WITHIN_MS = 120_000
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\?token=\S+")
_ENOUGH = "least => +document.querySelector('td[data-is=pages]')?.textContent >= least"


def take(path: Path, env: Mapping[str, str], *, pages: int) -> None:
    """pages: so many are in.   env: in which `tiptoe` is found"""
    with tempfile.TemporaryDirectory(prefix="tiptoe-") as home:
        Path(home).chmod(0o711)  # as root, Postgres runs as nobody
        demo = subprocess.Popen(
            ["tiptoe", "demo"],
            env={**env, "TIPTOE_HOME": f"{home}/home"},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            assert demo.stderr is not None
            _picture(path, _address(demo.stderr), pages)
        finally:
            os.killpg(demo.pid, signal.SIGINT)  # as a terminal does: the demo, and the crawl that it runs
            demo.communicate(timeout=60)


def _address(said: IO[str]) -> str:
    for line in said:
        if found := _ADDRESS.search(line):
            return found[0]
    raise RuntimeError("the demo ended before it served its dashboard")


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(urljoin(address, "/healthz"), timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _picture(path: Path, address: str, pages: int) -> None:
    until(lambda: _answers(address), "the dashboard is served")  # its address was said before
    with launched() as chromium:
        page = chromium.new_page(viewport=WINDOW, color_scheme="light", reduced_motion="reduce")
        page.goto(address)
        page.wait_for_function(_ENOUGH, arg=pages, timeout=WITHIN_MS)
        page.screenshot(path=path)
