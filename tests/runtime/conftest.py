"""The fixtures of tests/crawl: a Worker on the module's own database, a small web, and the readers that are its own."""

from tests.crawl.conftest import engine, make, web, worker
from tests.crawl.page.isolation.conftest import own_readers

__all__ = ["engine", "make", "own_readers", "web", "worker"]
