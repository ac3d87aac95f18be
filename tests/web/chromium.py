"""A real browser for tests: the system's Chromium, and what its console said and what it asked for.

Skipped where Chromium is not installed (Debian and Ubuntu: `chromium`).
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import BrowserContext, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGS = ["--no-sandbox", "--disable-gpu"]  # tests may run as root
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


@dataclass
class Seen:
    """What a context's console said, and what it asked for."""

    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> None:
        context.on("console", lambda each: self.said.append(each.text) if each.type in {"error", "warning"} else None)
        context.on("weberror", lambda each: self.said.append(str(each.error)))
        context.on("request", lambda each: self.asked.append(each.url))


@contextmanager
def launched() -> Iterator[Chromium]:
    """Chromium, until the block ends."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield browser
        browser.close()


def opened(chromium: Chromium, seen: Seen, entrance: str, *, width: int = 1440, dark: bool = False) -> Page:
    """A page in a context of its own, without motion, of a person who came by this URL before."""
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(entrance)
    page.goto("about:blank")
    seen.watch(context)
    return page
