"""The fixtures of tests/crawl, and a browser for those tests that need a real one."""

from tests.browser.conftest import browsers, chromium
from tests.crawl.conftest import archiving, engine, make, web, worker

__all__ = ["archiving", "browsers", "chromium", "engine", "make", "web", "worker"]
