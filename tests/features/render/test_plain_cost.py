"""A plain page costs nothing more where shells are rendered: counted in calls, which no other load can disturb."""

import sys
from collections.abc import Callable
from types import FrameType

from app.crawl.state.worker import Worker
from tests.crawl.loop import go, start
from tests.crawl.web import Site, Web, html
from tests.features.render.shells import rows

PAGES = 60
MOST_SHARE = 1.02  # of the calls without a browser: a rate of 0.98
SCRIPT = "<script src=/static/js/main.3f2a91bc.js></script>"


def calls(worker: Worker, site: Site, name: str, render: str) -> float:
    """Calls of Python and C functions that a page takes, from its claim to its settle."""
    start(worker, *(site.url(path) for path in site.pages), name=name, render=render)
    made = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal made
        made += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        go(worker)
    finally:
        sys.setprofile(None)
    (row,) = rows(worker, f"SELECT count(*) AS n FROM pages JOIN crawls c ON c.id = crawl_id WHERE c.name = '{name}'")
    assert row.n == PAGES
    return made / PAGES


def plain_site(web: Web) -> Site:
    """Pages that say much, and some that say little, each with a script."""
    site = web.site()
    for n in range(PAGES):
        text = f"Page {n} says what it has to say without a script. " * (1 if n % 4 == 0 else 14)
        site.pages[f"/{n}"] = html(text=text, head=SCRIPT)
    return site


def test_a_plain_page_takes_no_more_calls_where_shells_are_rendered(make: Callable[..., Worker], web: Web) -> None:
    worker = make(visit_max_fetches=PAGES + 5, visit_max_s=300.0)
    calls(worker, plain_site(web), "first", "auto")  # what is done once
    took = {mode: calls(worker, plain_site(web), mode, mode) for mode in ("never", "auto")}
    print(took)
    assert took["auto"] <= took["never"] * MOST_SHARE, took
    assert rows(worker, "SELECT url FROM renders") == []
