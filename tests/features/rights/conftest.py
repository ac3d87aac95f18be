"""A Worker on the module's own database, and a small web, as the tests of the crawl have them."""

from tests.crawl.conftest import archiving, engine, make, web, worker

__all__ = ["archiving", "engine", "make", "web", "worker"]
