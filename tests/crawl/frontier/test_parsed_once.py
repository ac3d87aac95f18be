"""A link is parsed once, where it is found: what judges it later, and what makes its row, has the parsed URL."""

from collections import Counter
from dataclasses import replace

import pytest

from app.crawl.state.worker import Worker
from app.model import Budgets, Refusal, Url
from app.policy.url import Canon
from tests.crawl.loop import go, start
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import make_host, sql


class Counting(Canon):
    """Counts how often each URL is made from text, by its key."""

    __slots__ = ("parsed",)

    def __init__(self) -> None:
        super().__init__()
        self.parsed: Counter[bytes] = Counter()

    def canonicalise(self, text: str) -> Url | Refusal:
        return self._counted(super().canonicalise(text))

    def join(self, base: str, href: str) -> Url | Refusal:
        return self._counted(super().join(base, href))

    def of_row(self, text: str, key: bytes, linked: str | None = None) -> Url | Refusal:
        return self._counted(super().of_row(text, key, linked))

    def _counted(self, url: Url | Refusal) -> Url | Refusal:
        if isinstance(url, Url):
            self.parsed[url.key] += 1
        return url


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


OTHER = [
    "http://other.test:8080/allowed",
    "http://other.test:8080/no",
    "http://[2001:db8::1]:81/x",
    "http://new.test/y",
]


def robots_of_other(worker: Worker) -> None:
    """Somebody has the robots.txt of another host."""
    sql(
        worker.engine,
        """INSERT INTO robots (host_id, scheme, port, availability, status, body, fetched_at, expires_at)
           VALUES (:id, 'http', 8080, 'available', 200, convert_to(:body, 'UTF8'), now(), now() + interval '1 hour')""",
        id=make_host(worker.engine, "other.test"),
        body="User-agent: *\nDisallow: /no",
    )


def states(worker: Worker) -> dict[str, str]:
    rows = sql(worker.engine, "SELECT u.url, h.name, u.state FROM urls AS u JOIN hosts AS h ON h.id = u.host_id")
    assert all(row["url"].startswith((f"http://{row['name']}/", f"http://{row['name']}:")) for row in rows)
    return {row["url"]: row["state"] for row in rows}


@pytest.mark.parametrize("floor", [None, 0.01])
def test_the_links_of_a_page_are_parsed_once(worker: Worker, site: Site, floor: float | None) -> None:
    """Own and foreign, allowed, refused, sent otherwise than linked; judged by a full crawl's floor, too."""
    links = ["/a", "/b?utm_source=x", "/c?b=1&a=2", "/private", *OTHER]
    site.robots = "User-agent: *\nDisallow: /private"
    site.pages["/"] = html(*links)
    counting = Counting()
    worker = replace(worker, canon=counting)
    robots_of_other(worker)
    start(worker, site.url(), scope="any", budgets=Budgets(max_pages=1))
    sql(worker.engine, "UPDATE crawls SET admits_above = :floor", floor=floor)
    go(worker)
    assert site.pages_asked == ["/"]
    found = states(worker)
    own = [site.url(path) for path in ("/a", "/b", "/c?b=1&a=2", "/private")]
    refused = {site.url("/private"), OTHER[1]}
    assert {text: found[text] for text in own + OTHER} == {
        text: "refused" if text in refused else "queued" for text in own + OTHER
    }
    keys = [row["key"] for row in sql(worker.engine, "SELECT key FROM urls WHERE depth > 0")]
    assert len(keys) == len(links)
    assert {key.hex(): counting.parsed[key] for key in keys} == dict.fromkeys((key.hex() for key in keys), 1)


def test_and_so_are_the_pages_of_a_sitemap(worker: Worker, site: Site) -> None:
    pages = [site.url(f"/{number}") for number in range(5)]
    entries = "".join(
        f"<url><loc>{page}</loc><lastmod>2024-01-0{n + 1}</lastmod></url>" for n, page in enumerate(pages)
    )
    body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
    site.pages["/sitemap.xml"] = Answer(body=body.encode(), headers={"Content-Type": "application/xml"})
    site.pages["/"] = html()
    counting = Counting()
    worker = replace(worker, canon=counting)
    start(worker, site.url(), budgets=Budgets(max_pages=1), sitemaps="all")
    go(worker)
    go(worker)
    rows = sql(
        worker.engine, "SELECT key, lastmod, sitemap_id FROM urls WHERE found_on LIKE '%/sitemap.xml' ORDER BY url"
    )
    assert len(rows) == len(pages)
    assert [row["lastmod"].day for row in rows] == [1, 2, 3, 4, 5]
    assert all(row["sitemap_id"] is not None for row in rows)
    assert site.pages_asked == ["/"], "a page of the list that was fetched would be parsed again, from its row"
    assert [counting.parsed[row["key"]] for row in rows] == [1] * len(pages)
