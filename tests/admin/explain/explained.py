"""What `url why` says of a URL."""

from app.admin import explain
from app.admin.explain import Explanation, InCrawl
from app.crawl.state.worker import Kit

ROBOTS = "User-agent: *\nDisallow: /private\n"


def why(kit: Kit, text: str) -> Explanation:
    return explain.why(kit.engine, kit.settings, text)


def alone(kit: Kit, text: str) -> InCrawl:
    (found,) = why(kit, text).crawls
    return found
