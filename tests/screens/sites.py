"""A small web for the pictures: sites with names, each with its own way to answer, on loopback."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.crawl.web import Answer, Hit, Page, Site, Web, html

HOSTS = ("docs.example", "blog.example", "news.example", "shop.example", "wiki.example")
PAGES = 40
TOPICS = ("Frontiers", "Leases", "Delays", "Robots", "Sitemaps", "Budgets", "Retries", "Audits")


@contextmanager
def sites(port: int) -> Iterator[dict[str, Site]]:
    """{host: its site}. port: 80 is not seen in URLs, but may need rights; 0: any that is free."""
    with Web() as web:
        first = web.site(port=port)
        found = {host: web.site(port=first.port) if host != HOSTS[0] else first for host in HOSTS}
        for host, site in found.items():
            site.pages |= {_path(number): _page(host, number, site.port) for number in range(PAGES)}
            site.robots = f"User-agent: *\nDisallow: /private/\n{'Crawl-delay: 5' if host == 'news.example' else ''}\n"
        found["shop.example"].pages |= {_path(number): _is_busy for number in range(3, PAGES)}
        yield found


def url(host: str, path: str, port: int) -> str:
    return f"http://{host}{'' if port == 80 else f':{port}'}{path}"


def _path(number: int) -> str:
    return f"/{TOPICS[number % len(TOPICS)].lower()}/{number}" if number else "/"


def _page(host: str, number: int, port: int) -> Page:
    """With links to the next three, to other sites, to one that is refused, and to one that is gone."""
    ahead = [_path((number + step) % PAGES) for step in (1, 2, 3)]
    others = [url(other, "/", port) for other in HOSTS if other != host and number % 8 == 0]
    title = f"{TOPICS[number % len(TOPICS)]}, part {number}"
    return html(*ahead, *others, "/private/drafts", "/old", title=title, text=f"{title}. " * 40)


def _is_busy(hit: Hit) -> Answer:
    return Answer(status=503, headers={"Retry-After": "120"})
