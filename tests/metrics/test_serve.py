"""A page of figures that cannot be made: 503, and one line in the log that fits the cause."""

from collections.abc import Callable

import pytest
import requests
from structlog.testing import capture_logs

from app.errors import ServiceError
from app.metrics.serve import Page, serve_pages


def away() -> Page:
    raise ServiceError("Postgres at db:5432", "does not answer")


def broken() -> Page:
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("page", "event", "has_traceback"), [(away, "metrics.not_read", False), (broken, "metrics.failed", True)]
)
def test_a_page_that_fails_is_told(page: Callable[[], Page], event: str, has_traceback: bool) -> None:
    with capture_logs() as lines:
        place = serve_pages("127.0.0.1:0", {"/figures": page}, role="web")
        assert place is not None
        answer = requests.get(f"http://{place[0]}:{place[1]}/figures", timeout=30)
    assert (answer.status_code, answer.content) == (503, b"")
    (found,) = [line for line in lines if line["event"] not in {"metrics.served"}]
    assert (found["event"], found["path"], "exc_info" in found) == (event, "/figures", has_traceback)
