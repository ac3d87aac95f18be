"""Sites with a document that ends its reader."""

from collections.abc import Callable

from app.crawl.state.worker import Worker
from tests.crawl.poisoned import poison
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import url

Make = Callable[..., Worker]
PROOF = ("abort", "parser died: signal SIGABRT")


def deadly(deed: str, **headers: str) -> Answer:
    return Answer(body=poison(deed).encode(), headers={"Content-Type": "text/html", **headers})


def site_with(web: Web, document: Answer) -> Site:
    """/ links to /poison, /1 and /2."""
    site = web.site()
    site.pages |= {
        "/": html("/poison", "/1", "/2"),
        "/poison": document,
        "/1": html(text="one"),
        "/2": html(text="two"),
    }
    return site


def row(worker: Worker, site: Site) -> dict[str, object]:
    return url(worker.engine, site.url("/poison"))
