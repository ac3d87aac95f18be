"""What `url why` says of a URL."""

from app.admin import explain
from app.admin.explain import Explanation, InCrawl
from app.crawl.state.worker import Worker

ROBOTS = "User-agent: *\nDisallow: /private\n"


def why(worker: Worker, text: str) -> Explanation:
    return explain.why(worker.engine, worker.settings, text)


def alone(worker: Worker, text: str) -> InCrawl:
    (found,) = why(worker, text).crawls
    return found
