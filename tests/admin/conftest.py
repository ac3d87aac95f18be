"""The fixtures of tests/crawl: a Kit on the module's own database, and a small web."""

from tests.crawl.conftest import engine, kit, make, web

__all__ = ["engine", "kit", "make", "web"]
