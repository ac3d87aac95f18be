"""The fixtures of tests/crawl, a site of one shell, and a browser for those tests that need a real one."""

from collections.abc import Iterator

import pytest

from app.browser.page import Browsers
from app.browser.values import Chromium
from app.crawl.state.worker import Worker
from tests.browser.conftest import chromium
from tests.crawl.archiving import Archiving
from tests.crawl.conftest import archiving, engine, make, web, worker
from tests.crawl.web import Site, Web
from tests.features.render.shells import script, shell

__all__ = ["archiving", "chromium", "engine", "make", "web", "worker"]


@pytest.fixture
def browsers(chromium: Chromium) -> Iterator[Browsers]:  # a fixture
    made = Browsers(chromium.path)
    yield made
    made.close()


@pytest.fixture
def site(web: Web) -> Site:
    """A shell, and its script."""
    site = web.site()
    site.pages["/"] = shell()
    site.pages["/app.js"] = script()
    return site


@pytest.fixture
def keeping(archiving: Archiving) -> Worker:
    """The worker with an archive."""
    return archiving.worker
