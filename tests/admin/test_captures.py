"""What can be said of a URL's captures without reading one back, and how long the text of one may take."""

from datetime import UTC, datetime

import pytest

from app.admin.captures import CapturedUrl, markdown_apart, text_of
from app.config import load
from app.errors import InputError
from app.model import Archived, Capture, CaptureKind
from tests.hostile.heavy import HEAVY

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


def archived(body: bytes) -> Archived:
    return Archived(
        status=200, reason="OK", headers=[("Content-Type", "text/html; charset=utf-8")], body=body, truncated=False
    )


def test_the_text_of_a_capture_is_read_apart() -> None:
    settings = load(_env_file=None)
    assert (
        text_of(capture(1, CaptureKind.PAGE), archived("<p>Ein Text für zwei".encode()), settings)
        == "Ein Text für zwei"
    )


def test_a_capture_that_takes_too_long_to_read_is_refused() -> None:
    settings = load(_env_file=None, parse_deadline_s=0.1)
    _, document = HEAVY["999 attributes a tag"]
    with pytest.raises(
        InputError, match=r"this capture: number 1 of http://h.test/a: parser (took longer|gave no answer)"
    ):
        text_of(capture(1, CaptureKind.PAGE), archived(document() * 8), settings)


def test_the_markdown_of_a_capture_is_written_apart() -> None:
    found = markdown_apart(
        capture(1, CaptureKind.PAGE),
        archived("<main><h1>Zwölf</h1><p>Ein Text, und ein <a href=b>Verweis</a> darin.".encode()),
        load(_env_file=None),
    )
    assert found == "# Zwölf\n\nEin Text, und ein [Verweis](http://h.test/b) darin."


# a document that would hold or end the dashboard, and the settings under which it does so here
@pytest.mark.parametrize(
    ("document", "bound"),
    [
        (HEAVY["999 attributes a tag"][1]() * 8, {"parse_deadline_s": 0.1}),
        (b"<p>" + b"<b>x</b>" * 400_000, {"parse_deadline_s": 0.1}),
    ],
)
def test_markdown_that_takes_too_long_is_refused(document: bytes, bound: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"this capture: number 1 of http://h.test/a: parser "):
        markdown_apart(capture(1, CaptureKind.PAGE), archived(document), load(_env_file=None, **bound))
