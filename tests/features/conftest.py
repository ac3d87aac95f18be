"""The fixtures of tests/crawl: a Worker on the module's own database, and a small web."""

from tests.crawl.conftest import engine, make, web, worker

__all__ = ["engine", "make", "web", "worker"]
