"""A site with a page of every fate."""

import pytest

from tests.admin.explain.explained import ROBOTS
from tests.crawl.web import Answer, Site, Web, html, redirect


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.robots = ROBOTS
    same = html(text="The same words twice.")
    site.pages |= {
        "/": html(
            "/a", "/one", "/two", "/private/x", "/gone", "/moved", "/broken", "http://elsewhere.test/", "http://"
        ),
        "/a": html(title="Page A", text="Words of its own."),
        "/one": same,
        "/two": same,
        "/gone": Answer(status=410),
        "/moved": redirect("/a"),
        "/broken": Answer(status=500),
    }
    return site
