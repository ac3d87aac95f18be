"""Documents of odd types: what a browser shows is read, as what it is."""

import gzip
import json

import pytest

from app.admin import crawls, report
from app.crawl.state.worker import Worker
from tests.crawl.loop import run, start
from tests.crawl.page.test_sitemaps import index, kinds, urlset
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import one, sql, url

PAGE = html("/next", text="Boats in the harbour.").body
XHTML = (
    b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><title>x</title><script/></head>'
    b'<body><p>Boats in the harbour.</p><p><a href="/next">on</a></p></body></html>'
)
PREFIXED = XHTML.replace(b"xmlns=", b"xmlns:h=")
for tag in (b"html", b"head", b"title", b"script", b"body", b"p", b"a"):
    PREFIXED = PREFIXED.replace(b"<" + tag, b"<h:" + tag).replace(b"</" + tag + b">", b"</h:" + tag + b">")


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.pages |= {f"/{name}": html(text=name) for name in "abc"} | {"/next": html(text="Next.")}
    return site


def typed(content_type: str | None, body: bytes) -> Answer:
    return Answer(headers={} if content_type is None else {"Content-Type": content_type}, body=body)


# Content-Type, body
PAGES = [
    *((field, PAGE) for field in ("text/html charset=utf-8", '"text/html"', "html", "*/*", "unknown/unknown", None)),
    *(
        (field, PAGE)
        for field in ("charset=utf-8", "application/octet-stream, text/html", "text/html;", "TEXT/HTML, x")
    ),
    *((field, XHTML) for field in ("application/xhtml+xml", "application/xml", "text/xml; charset=utf-8", "", "x+xml")),
    *((field, PREFIXED) for field in ("application/xml", "application/vnd.wap.xhtml+xml")),
]


@pytest.mark.parametrize(("content_type", "body"), PAGES)
def test_a_page_whatever_its_type_says(worker: Worker, site: Site, content_type: str | None, body: bytes) -> None:
    site.pages["/"] = typed(content_type, body)
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/next"]
    assert "Boats in the harbour." in one(worker.engine, "SELECT main_text FROM pages WHERE url = :u", u=site.url())


@pytest.mark.parametrize("content_type", ["text/markdown", "text/x-rst; charset=utf-8", "text/csv", None, "*/*"])
def test_a_text_is_kept_as_it_stands(worker: Worker, site: Site, content_type: str | None) -> None:
    text = "# Boats\n\n* <a href='/next'>one</a>\n* 2 < 3\n"
    site.pages["/guide.md"] = typed(content_type, text.encode())
    start(worker, site.url("/guide.md"))
    run(worker)
    assert site.pages_asked == ["/guide.md"]
    assert one(worker.engine, "SELECT main_text FROM pages") == text


# Content-Type, body, why it is not read
UNREAD = [
    ("application/pdf", b"%PDF-1.7", "application/pdf is not read"),
    ("application/xml", b"<boats/>", "application/xml is not read"),
    ("text/xml", b"<rss/>", "text/xml is not read"),
    (None, b"%PDF-1.7", "what names no media type, and looks like neither a page nor a text, is not read"),
]


@pytest.mark.parametrize(("content_type", "body", "why"), UNREAD)
def test_what_is_not_read_says_why(worker: Worker, site: Site, content_type: str | None, body: bytes, why: str) -> None:
    site.pages |= {"/": html("/odd"), "/odd": typed(content_type, body)}
    start(worker, site.url())
    run(worker)
    assert (url(worker.engine, site.url("/odd"))["outcome"], url(worker.engine, site.url("/odd"))["detail"]) == (
        "unwanted",
        why,
    )


def rss(*locations: str) -> bytes:
    items = "".join(f"<item><title>x</title><link>{each}</link></item>" for each in locations)
    return f'<?xml version="1.0"?><rss version="2.0"><channel>{items}</channel></rss>'.encode()


def atom(*locations: str) -> bytes:
    entries = "".join(f'<entry><link href="{each}"/></entry>' for each in locations)
    return f'<feed xmlns="http://www.w3.org/2005/Atom">{entries}</feed>'.encode()


@pytest.mark.parametrize("content_type", ["application/rss+xml", "text/xml", "text/html", "text/plain", None])
def test_a_seed_that_is_a_feed_is_read_as_one(worker: Worker, site: Site, content_type: str | None) -> None:
    site.pages["/feed"] = typed(content_type, rss(site.url("/a"), site.url("/b")))
    start(worker, site.url("/feed"))
    run(worker)
    assert sorted(site.pages_asked) == ["/a", "/b", "/feed"], "each once"
    assert kinds(worker.engine) == {"page": ["/a", "/b"], "sitemap": ["/feed"]}
    assert sql(worker.engine, "SELECT format, entries FROM sitemaps") == [{"format": "rss", "entries": 2}]
    assert one(worker.engine, "SELECT pages FROM crawl_hosts") == 2


@pytest.mark.parametrize("content_type", ["application/feed+json", "application/json; charset=utf-8", "text/plain"])
@pytest.mark.parametrize("slash", ["/", "\\/"])  # as PHP writes it
def test_a_seed_that_is_a_json_feed(worker: Worker, site: Site, content_type: str, slash: str) -> None:
    items = [{"id": "1", "url": site.url("/a"), "date_modified": "2024-03-21T10:00:00+01:00"}, {"id": "2"}]
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": "Harbour", "items": items}
    site.pages["/feed.json"] = typed(content_type, json.dumps(feed).replace("/", slash).encode())
    start(worker, site.url("/feed.json"))
    run(worker)
    assert kinds(worker.engine) == {"page": ["/a"], "sitemap": ["/feed.json"]}
    assert sql(worker.engine, "SELECT format, entries FROM sitemaps") == [{"format": "json", "entries": 1}]


def test_seeds_of_every_form_of_sitemap(worker: Worker, site: Site) -> None:
    plain = f"{site.url('/b')}\n{site.url('/c')}\n".encode()
    site.pages |= {
        "/index.xml": index(site.url("/map.xml")),
        "/map.xml": urlset(site.url("/a")),
        "/map.gz": typed("application/x-gzip", gzip.compress(urlset(site.url("/b")).body)),
        "/map.txt": typed("text/plain", plain),
        "/atom": typed("application/atom+xml", atom(site.url("/next"))),
    }
    start(worker, *map(site.url, ("/index.xml", "/map.gz", "/map.txt", "/atom")))
    run(worker)
    assert kinds(worker.engine) == {
        "page": ["/a", "/b", "/c", "/next"],
        "sitemap": ["/atom", "/index.xml", "/map.gz", "/map.txt", "/map.xml"],
    }
    assert len(site.pages_asked) == len(set(site.pages_asked))


def test_a_feed_of_another_site_says_that_no_page_came_of_it(worker: Worker, site: Site) -> None:
    site.pages["/feed"] = typed("text/xml", rss("http://elsewhere.test/a"))
    start(worker, site.url("/feed"))
    run(worker)
    assert report.report(worker.engine, "c").why_nothing == (
        f"{site.url('/feed')} was read as a sitemap (rss, 1 entry), and no page came of it"
    )


def test_a_feed_that_a_page_links_to_is_no_page(worker: Worker, site: Site) -> None:
    site.pages |= {"/": html("/feed"), "/feed": typed("application/rss+xml", rss(site.url("/a")))}
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/feed"]


def test_a_seed_longer_than_a_page_may_be_is_asked_for_again_as_a_sitemap(worker: Worker, site: Site) -> None:
    padding = f"<!--{'x' * worker.settings.max_body_bytes}-->".encode()
    body = urlset(site.url("/a"), site.url("/b")).body.replace(b"<url>", padding + b"<url>", 1)
    site.pages["/map.xml"] = Answer(headers={"Content-Type": "application/xml", "ETag": '"1"'}, body=body)
    start(worker, site.url("/map.xml"))
    run(worker)
    assert site.pages_asked[:2] == ["/map.xml", "/map.xml"]
    assert sorted(site.pages_asked[2:]) == ["/a", "/b"]


def test_a_seed_that_was_a_feed_stays_one(worker: Worker, site: Site) -> None:
    site.pages["/feed"] = typed("text/xml", rss(site.url("/a")))
    start(worker, site.url("/feed"))
    run(worker)
    site.pages["/feed"] = typed("text/xml", rss(site.url("/a"), site.url("/b")))
    crawls.go_round(worker.engine, "c")
    run(worker)
    assert kinds(worker.engine) == {"page": ["/a", "/b"], "sitemap": ["/feed"]}
