"""The fixtures of tests/crawl, and a browser for those tests that need a real one."""

from collections.abc import Iterator

import pytest

from app.browser.pool import Browsers
from app.browser.values import Chromium
from tests.browser.conftest import chromium
from tests.crawl.conftest import archiving, engine, make, web, worker

__all__ = ["archiving", "chromium", "engine", "make", "web", "worker"]


@pytest.fixture
def browsers(chromium: Chromium) -> Iterator[Browsers]:  # a fixture
    made = Browsers(chromium.path)
    yield made
    made.close()
