"""The live line, as a person reads it."""

import io

import pytest

from app.crawl.live import MOST_QUEUED, Look
from app.local.progress import Progress


def look(**columns: object) -> Look:
    values: dict[str, object] = {"state": "active", "pages": 1_234, "failed": 2, "bytes": 5_000_000, "queued": 7}
    return Look(**{"waiting": [], "is_whole": True, **values, **columns})  # type: ignore[arg-type]


# what is different, what the line says then
ROWS = [
    ({}, "c: 1,234 pages (0.0/s), 7 queued, 2 failed, 5.0 MB\n"),
    ({"is_whole": False}, "c: over 1,234 pages (0.0/s), 7 queued, 2 failed, 5.0 MB\n"),
    ({"queued": MOST_QUEUED}, "c: 1,234 pages (0.0/s), over 1,000 queued, 2 failed, 5.0 MB\n"),
    (
        {"waiting": [("visited", 3), ("429", 1_200)]},
        "c: 1,234 pages (0.0/s), 7 queued, 2 failed, 5.0 MB | hosts: 3 being visited, 1,200 rest: 429\n",
    ),
]


@pytest.mark.parametrize(("columns", "line"), ROWS)
def test_the_line(columns: dict[str, object], line: str) -> None:
    stream, shown = io.StringIO(), look(**columns)
    assert Progress(name="c", stream=stream).show(shown) is shown
    assert stream.getvalue() == line
