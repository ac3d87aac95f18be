"""watched: a fleet without processes, its web and its Prometheus.   web: sites.   chromium: a browser, or a skip."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import chromium
from tests.crawl.web import Web
from tests.metrics.watched import Watched, watch

__all__ = ["chromium"]


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as small:
        yield small


@pytest.fixture
def watched(database_url: str, broker_url: str, tmp_path: Path) -> Iterator[Watched]:
    with watch(tmp_path, database_url, broker_url) as made:
        yield made
