"""Pages and sitemaps that readers and this process read alike."""

import gzip

import pytest

PAGES = [
    pytest.param("<div id=root></div><script src=/static/js/main.3f2a91bc.js></script>", {}, id="app shell"),
    pytest.param("", {}, id="empty"),
    pytest.param("<p>a", {}, id="small"),
    pytest.param(
        """<html lang=de-AT><head><base href=/b/><title> A
        title </title><meta name=robots content="nofollow, max-snippet: 20"><meta name=description content="Wörter">
        <meta name=tdm-reservation content=1><meta name=tdm-policy content=x><link rel=canonical href=/c>
        <link rel="next alternate" href=/n></head><body><a href=/x rel="nofollow ugc">Anker</a><a href=/y hidden>z</a>
        <iframe src=/f></iframe><main>Ein Text.</main></body></html>""",
        {},
        id="everything",
    ),
    pytest.param(
        """<title>Of a day</title><meta property=og:title content="Of a day"><meta name=author content="A. Writer">
        <meta property=article:published_time content=2024-02-29T23:30:00-05:00><article><h1>Of a day</h1>
        <time itemprop=dateModified datetime=2024-03-01>1 March</time><p>A text.</article>""",
        {},
        id="dated by meta",
    ),
    pytest.param(
        """<script type=application/ld+json>{"@type": "NewsArticle", "datePublished": "2023-05-06", "wordCount": 9,
        "dateModified": "2023-05-07T08:09:10Z", "author": {"name": "A. Writer"}}</script><p>A text.""",
        {},
        id="dated by JSON-LD",
    ),
    pytest.param("<article><p class=byline>Published 7 May 2021 by A. Man<p>A.</article>", {}, id="dated by text"),
    pytest.param("<a href=/x>y</a><p>words", {"want_text": False}, id="links only"),
    pytest.param("<a href=1>a</a><a href=2>b</a>", {"max_links": 1}, id="few links"),
    pytest.param("<meta name=other content=noindex><p>x", {"token": "other"}, id="token"),
    pytest.param("words\nand words", {"content_type": "text/plain", "content_language": "fr"}, id="plain"),
    pytest.param(b"<p>caf\xe9 \x00 \xff\xed\xa0\x80 &#xd800; "
                 b"\xf0\x9f\x98\x80", {"content_type": "text/html"}, id="bytes"),
    pytest.param("<p>" + "line\n" * 100_000, {}, id="long"),
    pytest.param("<p>\u2028\u0085\x1c lines that are none", {}, id="line ends"),
]  # fmt: skip


URLS = "".join(
    f"<url><loc>/{n}</loc><lastmod>2026-01-{n:02}</lastmod><priority>0.5</priority></url>" for n in (1, 2, 3)
)
INDEX = "<sitemapindex><sitemap><loc>/a.xml</loc></sitemap><url><loc>/page</loc></url></sitemapindex>"
SITEMAPS = [
    pytest.param(f"<urlset>{URLS}</urlset>".encode(), id="urlset"),
    pytest.param(gzip.compress(f"<urlset>{URLS}</urlset>".encode()), id="gzip"),
    pytest.param(INDEX.encode(), id="index"),
    pytest.param(b"http://a.test/1\nhttp://a.test/2\nno url\n", id="text"),
    pytest.param(b"<html>", id="none"),
    pytest.param(b"", id="empty"),
    pytest.param(f"<urlset>{URLS}<url><lo".encode(), id="cut"),
]
