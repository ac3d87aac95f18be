"""Rendering on a machine that may be busy: a page that it was too slow for has more time."""

from dataclasses import replace

from app.browser.page import Browsers
from app.browser.values import Ask, Bounds, BrowserDeath, PlainResponse, Rendering
from tests.browser.site import Site

LONGEST_S = 90.0


def patiently(browsers: Browsers, page: PlainResponse, ask: Ask, bounds: Bounds) -> Rendering | BrowserDeath:
    """Render a page. While its browser dies and the machine may be the cause, it has twice the time, as far as 90 s."""
    while True:
        found = browsers.render(page, ask, bounds, user_agent="Tiptoe")
        is_unproven = isinstance(found, BrowserDeath) and not found.is_proof
        if not is_unproven or bounds.wall_s >= LONGEST_S:
            return found
        bounds = replace(bounds, wall_s=min(2 * bounds.wall_s, LONGEST_S))
        if isinstance(ask, Site):
            ask.asked.clear()
