"""The readers that a test has started."""

from tests.crawl.page.isolation.conftest import own_readers

__all__ = ["own_readers"]
