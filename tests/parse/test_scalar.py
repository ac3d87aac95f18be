"""Any text that a site can send is Unicode text when we keep it: no half of a surrogate pair, no NUL."""

import json
import os
from io import BytesIO
from xml.sax.saxutils import escape

from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.browser.connection import DevToolsPipe
from app.features.extract.child import as_json
from app.parse.html import html
from app.parse.sitemap.sitemap import SitemapReading
from app.policy import header_fields, robots, tdm
from app.words import scalar
from tests.examples import examples
from tests.fuzz.parts import assert_storable

TRIES = settings(max_examples=examples(400), deadline=None)
ODD = st.sampled_from(
    ["\ud83d", "\ude00", "\ud83d\ude00", "\0", "\ufffd", "\U0001f600", "é", "\\ud83d", "\\u0000", "<", '"']
)
WORDS = st.lists(st.one_of(ODD, st.text(st.characters(exclude_categories=()), max_size=5)), max_size=6).map("".join)
PROSE = "A sentence of an article, which only its data holds, and which a script would show. " * 8
SHELL = "<div id=root></div><script src=/static/js/main.3f2a91bc.js></script>"
_WHOLE = "\ufffd"


def octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def references(text: str) -> str:
    return "".join(f"&#{ord(each)};&#x{ord(each):x};" for each in text)


@TRIES
@given(text=WORDS)
@example("\ud83d\0\ude00")
def test_scalar_leaves_nothing_but_what_is_no_text(text: str) -> None:
    found = scalar(text)
    assert_storable(found)
    assert scalar(found) == found
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert found == joined.replace("\0", _WHOLE)
    if found == text:
        assert found is text


@TRIES
@given(text=WORDS, charset=st.sampled_from(["", "; charset=utf-8", "; charset=utf-16", "; charset=gb18030"]))
@example("\ud83d", "")
@example("\0", "")
def test_every_string_of_a_page(text: str, charset: str) -> None:
    said = json.dumps({"articleBody": f"{PROSE}{text}", "datePublished": text, text: [text]})
    for written in (text, references(text)):
        body = (
            f'<html lang="{written}"><title>{written}</title><meta name=description content="{written}">'
            f'<meta name=robots content="{written}"><meta name=tdm-policy content="{written}">'
            f'<base href="/{written}"><link rel=canonical href="/{written}">'
            f'<meta http-equiv=refresh content="0;{written}">'
            f'<a href="/{written}" rel="{written}">{written}</a><img alt="{written}"><p>{written}'
            f'<script type="application/ld+json">{said}</script><script id="{written}">location="/{written}"</script>'
            f"{SHELL}"
        )
        for kind in ("text/html", "text/plain", "application/xhtml+xml"):
            page = html.read(octets(body), content_type=kind + charset, content_language=text)
            assert_storable(page)


def test_an_article_keeps_its_words_around_what_is_no_text() -> None:
    for odd, shown in (("\ud83d", _WHOLE), ("\0", _WHOLE), ("\ud83d\ude00", "\U0001f600")):
        said = json.dumps({"@type": "Article", "articleBody": f"{PROSE}cut {odd} here"})
        body = f'<script type="application/ld+json">{said}</script>{SHELL}'
        page = html.read(body.encode(), content_type="text/html")
        assert page.main_text == f"{PROSE}cut {shown} here"


@TRIES
@given(text=WORDS)
@example("\ud83d")
@example("\0")
def test_every_string_of_a_sitemap_and_of_a_feed(text: str) -> None:
    for written in (escape(text), references(text), f"<![CDATA[{text}]]>"):
        loc = f"http://h.test/{written}"
        for file in (
            f"<urlset><url><loc>{loc}</loc><lastmod>{written}</lastmod><changefreq>{written}</changefreq></url></urlset>",
            f"<sitemapindex><sitemap><loc>{loc}</loc><lastmod>{written}</lastmod></sitemap></sitemapindex>",
            f"<rss><item><link>{loc}</link><guid>{loc}</guid><pubDate>{written}</pubDate></item></rss>",
            f'<feed><entry><link href="http://h.test/{references(text)}"/><updated>{written}</updated></entry></feed>',
            f"http://h.test/{text}\nhttp://h.test/b\n",
        ):
            for body in (octets(file), file.encode("utf-16", "surrogatepass")):
                reading = SitemapReading(BytesIO(body))
                assert_storable([list(reading), reading.problem, reading.kind.value])


@TRIES
@given(text=WORDS)
@example("\ud83d")
@example("\0")
def test_every_string_of_a_site_s_rules_and_headers(text: str) -> None:
    rule = {"location": "/", "tdm-reservation": 1, "tdm-policy": f"http://h.test/{text}"}
    signals = tdm.of_tdmrep(json.dumps([rule]).encode(), "/")
    assert_storable([signals, tdm.text(signals)])
    file = f"Sitemap: http://h.test/{text}\nHost: {text}\nUser-agent: *\nCrawl-delay: {text}\nDisallow: /{text}\n"
    rules = robots.parse(octets(file), "tiptoe")
    assert_storable([rules.sitemaps, rules.host, rules.crawl_delay_raw])
    field = octets(text).decode("latin-1").replace("\0", " ")  # as app.net.head reads it
    signals = tdm.of_reply({"tdm-reservation": f"1{field}", "tdm-policy": field, "content-usage": f"train-ai={field}"})
    assert_storable([signals, tdm.text(signals)])
    assert_storable(header_fields.canonical(f'</{field}>; rel="canonical"') or "")


@TRIES
@given(text=WORDS, name=WORDS)
@example("\ud83d", "\0")
def test_every_string_of_an_item(text: str, name: str) -> None:
    assert_storable(as_json({"a": text, name: [text, {name: (text,)}]}, None))


@settings(max_examples=examples(100), deadline=None)
@given(text=WORDS)
@example("\ud83d\0")
def test_every_string_of_a_rendering(text: str) -> None:
    theirs, ours = os.pipe()
    unread, commands = os.pipe()
    pipe = DevToolsPipe(theirs, commands)
    os.write(ours, json.dumps({"id": 1, "result": {"html": text, text: [text, "\\u0000"]}}).encode() + b"\0")
    os.close(ours)
    found = pipe.events.get()
    pipe.close()
    os.close(unread)
    assert_storable(found)
    assert found["result"]["html"] == scalar(text)
