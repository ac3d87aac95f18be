"""Tiptoe for scripts and notebooks: crawl politely, and read what was crawled.

    import tiptoe

    for page in tiptoe.crawl("https://example.org/", max_pages=100, contact="you@example.org"):
        print(page.url, page.title)

docs/python.md has an example of every name. Importing this package imports nothing else: a
name is loaded when it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.errors import InputError, ServiceError, TiptoeError
    from app.features.extract.handlers import follow, handler
    from app.features.extract.page import CrawledPage as Page
    from tiptoe._crawl import Crawling, crawl
    from tiptoe._data import Item, add_seeds, changes, export, items, pages

__all__ = [
    "Crawling",
    "InputError",
    "Item",
    "Page",
    "ServiceError",
    "TiptoeError",
    "add_seeds",
    "changes",
    "crawl",
    "export",
    "follow",
    "handler",
    "items",
    "pages",
]

# name → module, name there
_WHERE = {
    "Crawling": ("tiptoe._crawl", "Crawling"),
    "InputError": ("app.errors", "InputError"),
    "Item": ("tiptoe._data", "Item"),
    "Page": ("app.features.extract.page", "CrawledPage"),
    "ServiceError": ("app.errors", "ServiceError"),
    "TiptoeError": ("app.errors", "TiptoeError"),
    "add_seeds": ("tiptoe._data", "add_seeds"),
    "changes": ("tiptoe._data", "changes"),
    "crawl": ("tiptoe._crawl", "crawl"),
    "export": ("tiptoe._data", "export"),
    "follow": ("app.features.extract.handlers", "follow"),
    "handler": ("app.features.extract.handlers", "handler"),
    "items": ("tiptoe._data", "items"),
    "pages": ("tiptoe._data", "pages"),
}


def __getattr__(name: str) -> Any:
    """Load a name at its first use."""
    if name not in _WHERE:
        raise AttributeError(f"module 'tiptoe' has no attribute {name!r}")
    from tiptoe import _clash

    _clash.check()
    module, there = _WHERE[name]
    found = getattr(import_module(module), there)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
