"""What can be said of a URL's captures without reading one back."""

from datetime import UTC, datetime

import pytest

from app.admin.captures import CapturedUrl
from app.model import Capture, CaptureKind

URL = "http://h.test/a"


def capture(number: int, kind: CaptureKind) -> Capture:
    at = datetime(2026, 1, number, tzinfo=UTC)
    return Capture(number, 1, 1, b"key", URL, at, kind, 200, None, None, None, None, None, 0, False, 1, 0, 1, None)


# kinds of the captures, the latest first → whether there is an earlier document
@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([CaptureKind.PAGE, CaptureKind.PAGE], True),
        ([CaptureKind.ERROR, CaptureKind.PAGE, CaptureKind.PAGE], True),
        ([CaptureKind.ERROR, CaptureKind.ERROR], False),
        ([CaptureKind.PAGE, CaptureKind.ERROR], False),
        ([CaptureKind.PAGE], False),
        ([], False),
    ],
)
def test_only_what_has_an_earlier_document_can_be_compared(kinds: list[CaptureKind], expected: bool) -> None:
    found = [capture(len(kinds) - n, kind) for n, kind in enumerate(kinds)]
    assert CapturedUrl(crawl="docs", url=URL, captures=found).has_earlier is expected
