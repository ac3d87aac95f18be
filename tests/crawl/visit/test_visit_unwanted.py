"""An answer of a type that is not read: its row says which."""

import pytest

from app.admin import crawls
from app.crawl.state.worker import Worker
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Web, html
from tests.store.rows import url


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            Answer(headers={"Content-Type": "application/pdf", "ETag": '"1"'}, body=b"%PDF"),
            "application/pdf is not read",
        ),
        (Answer(status=204, headers={"ETag": '"1"'}), "it has no body"),
    ],
)
def test_an_unwanted_answer_says_why_also_when_it_is_unchanged(
    worker: Worker, web: Web, answer: Answer, why: str
) -> None:
    site = web.site()
    site.pages["/"] = lambda hit: Answer(status=304) if hit.headers["If-None-Match"] else answer
    start(worker, site.url())
    for status in (answer.status, 304):
        run(worker)
        found = url(worker.engine, site.url())
        assert (found["outcome"], found["status"], found["cause"], found["detail"]) == ("unwanted", status, None, why)
        crawls.start_round(worker.engine, "c", worker.settings)
    site.pages["/"] = html()
    run(worker)
    assert url(worker.engine, site.url())["detail"] is None
