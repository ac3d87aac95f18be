"""Sites that opt out from text and data mining, and what became of their pages."""

import json

from app.admin import crawls
from app.crawl.state.worker import Worker
from tests.crawl.loop import run
from tests.crawl.web import Answer
from tests.store.rows import sql

TDMREP = "/.well-known/tdmrep.json"
SITE_OPTED_OUT = "kept out of pages: its site opts out of text and data mining"


def tdmrep(*rules: tuple[str, int]) -> Answer:
    body = json.dumps([{"location": location, "tdm-reservation": reservation} for location, reservation in rules])
    return Answer(headers={"Content-Type": "application/json"}, body=body.encode())


def pages(worker: Worker) -> list[str]:
    """Paths of what is kept."""
    rows = sql(worker.engine, "SELECT url FROM pages ORDER BY url")
    return ["/" + row["url"].split("/", 3)[3] for row in rows]


def again(worker: Worker) -> None:
    crawls.go_round(worker.engine, "c")
    run(worker)
