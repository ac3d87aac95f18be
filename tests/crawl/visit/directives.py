"""Pages that ask something of robots, and what became of them."""

from typing import Any

from app.crawl.state.worker import Worker
from tests.crawl.web import Answer, html
from tests.store.rows import sql

WORDS = "words that make a text of some length, " * 10


def tag(value: str, *links: str, **rest: Any) -> Answer:
    """A document that says this in its header."""
    return html(*links, headers={"X-Robots-Tag": value}, **rest)


def meta(value: str, *links: str, name: str = "robots", **rest: Any) -> Answer:
    return html(*links, head=f"<meta name='{name}' content='{value}'>", **rest)


def pages(worker: Worker) -> list[str]:
    """Paths of what is kept."""
    rows = sql(worker.engine, "SELECT url FROM pages ORDER BY url")
    return ["/" + row["url"].split("/", 3)[3] for row in rows]


def refusals(worker: Worker) -> dict[str, str]:
    """{path: reason}."""
    rows = sql(worker.engine, "SELECT url, reason FROM suppressions")
    return {"/" + row["url"].split("/", 3)[3]: row["reason"] for row in rows}
