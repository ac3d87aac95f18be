"""Every heavy document is read within what a reader may take: that is the product's own bound, the kernel keeps it."""

import pytest

from app.config import load
from app.model import Page
from app.sandbox.reader import PageOptions
from app.sandbox.readers import Readers
from tests.hostile.heavy import HEAVY, MIB

pytestmark = pytest.mark.faults  # eighty documents that take time and memory: `make faults-quick` has room for it


def test_heavy_documents_are_read_within_the_bounds_of_a_reader() -> None:
    settings = load(_env_file=None)
    readers = Readers(deadline_s=settings.parse_deadline_s, memory_bytes=settings.parse_memory_bytes)
    ended = {}
    for name, (content_type, document) in HEAVY.items():
        body = document()
        assert 0.98 * MIB < len(body) <= settings.max_body_bytes
        options = PageOptions(
            content_type=content_type,
            content_language=None,
            token="tiptoe",
            max_links=5000,
            want_text=True,
            want_language=True,
        )
        found = readers.page(body, options, within_s=60.0)
        if not isinstance(found, Page):
            ended[name] = found
    readers.close()
    assert ended == {}
