"""App shells are recognised by evidence; plain pages never are, however short they are."""

import json

import pytest

from app.model.render import ShellSign, lines
from app.parse.html.shell import LITTLE_TEXT_CHARS
from tests.parse.html.reading import BUNDLE, module, page, read

PROSE = "This sentence is long enough to be read as one by whoever counts the letters in it. " * 8
CHINESE = "这是一个足够长的句子，任何数其中字母的人都会把它读成一句话。" * 40  # as they are written there
ASKS = "<noscript>You need to enable JavaScript to run this app.</noscript>"
DATA = json.dumps({"props": {"pageProps": {"post": [{"body": PROSE}]}}})
ROOT, BODY, NOSCRIPT, TEXT = ShellSign.EMPTY_ROOT, ShellSign.EMPTY_BODY, ShellSign.NOSCRIPT, ShellSign.TEXT


def data(of: str, kind: str = "id=__NEXT_DATA__ type=application/json") -> str:
    return f"<script {kind}>{of}</script>"


NEXT = '<div id="__next"></div><script src="/_next/static/chunks/main-0a1b2c3d4e5f6a7b.js" defer></script>'
VITE = page("<div id=app></div>", "<script type=module crossorigin src=/assets/index-BkQz81ab.js></script>")

SHELLS = [
    # markup, evidence that it is one
    pytest.param(page(f"{ASKS}<div id=root></div>{BUNDLE}"), {ROOT: "#root", NOSCRIPT: "asks"}, id="React CRA"),
    pytest.param(VITE, {ROOT: "#app"}, id="Vue by Vite"),
    pytest.param(VITE.replace("id=app>", "id=root>"), {ROOT: "#root"}, id="React by Vite"),
    pytest.param(
        page(f"{NEXT}{data(DATA)}"),
        {ROOT: "#__next", ShellSign.DATA: "#__NEXT_DATA__, 672 characters"},
        id="Next, data",
    ),
    pytest.param(page(f"{NEXT}{data('{}')}"), {ROOT: "#__next", ShellSign.STATE: "#__NEXT_DATA__"}, id="Next, none"),
    pytest.param(
        page(
            "<div id=__nuxt></div><script>window.__NUXT__=(function(a){return {b:a}}(1))</script>",
            "<script src=/_nuxt/entry.js></script>",
        ),
        {ROOT: "#__nuxt", ShellSign.STATE: "__NUXT__"},
        id="Nuxt",
    ),
    pytest.param(
        page(
            f"<div id=__nuxt></div>{data(json.dumps([PROSE]), 'id=__NUXT_DATA__ type=application/json')}"
            f"{module('/_nuxt/DfKx2.js')}"
        ),
        {ROOT: "#__nuxt", ShellSign.DATA: "#__NUXT_DATA__, 672 characters"},
        id="Nuxt 3",
    ),
    pytest.param(
        page("<app-root></app-root>" + module("runtime.a1b2c3d4e5f6.js") + module("main.0a9b8c7d6e5f.js")),
        {ROOT: "<app-root>", ShellSign.SCRIPTS: "2 scripts"},
        id="Angular",
    ),
    pytest.param(page(f"<div ng-view></div>{BUNDLE}"), {ROOT: "[ng-view]"}, id="AngularJS"),
    pytest.param(page("", "<script defer src=/build/bundle.js></script>"), {BODY: "body"}, id="Svelte by Rollup"),
    pytest.param(
        page(
            "<div style='display: contents'><script type=module src=/_app/immutable/entry/start.CbX.js></script></div>"
        ),
        {BODY: "body"},
        id="SvelteKit",
    ),
    pytest.param(page(f"<div id=___gatsby></div>{BUNDLE}"), {ROOT: "#___gatsby"}, id="Gatsby"),
    pytest.param(
        page(f"<div id=root><div class=spin><img src=s.gif>Loading …</div></div>{BUNDLE}"),
        {ROOT: "#root"},
        id="loading",
    ),
    pytest.param(
        page(f"<div id=app>Lädt...</div>{BUNDLE}<footer>© Us</footer>"),
        {ROOT: "#app", TEXT: "11 characters"},
        id="footer",
    ),
    pytest.param(page(f"<div id=main></div>{ASKS}{BUNDLE}"), {ROOT: "#main", NOSCRIPT: "asks"}, id="main, and it asks"),
    pytest.param(
        page(f"<div id=c></div><noscript>Bitte JavaScript aktivieren</noscript>{BUNDLE}"),
        {BODY: "body", NOSCRIPT: "asks"},
        id="German",
    ),
    pytest.param(
        page(f"<div id=root></div>{data('window.__INITIAL_STATE__ = ' + DATA + ';', '')}{BUNDLE}"),
        {ROOT: "#root", ShellSign.DATA: "__INITIAL_STATE__, 672 characters"},
        id="state",
    ),
    pytest.param(
        page(f"<div id=root></div>{data(json.dumps({'articleBody': CHINESE}), 'type=application/ld+json')}{BUNDLE}"),
        {ROOT: "#root", ShellSign.DATA: "application/ld+json, 1,200 characters", ShellSign.ARTICLE: "JSON-LD"},
        id="ld+json",
    ),
    pytest.param(
        page(f"<div id=root></div>{data('[' * 99_999)}{BUNDLE}"), {ShellSign.STATE: "#__NEXT_DATA__"}, id="deep data"
    ),
    pytest.param(
        page(f"<div id=root></div>{data(DATA[:-1])}{BUNDLE}"), {ShellSign.STATE: "#__NEXT_DATA__"}, id="cut data"
    ),
    pytest.param(
        page(f"<div id=root></div>{data(json.dumps(['/x' * 999]))}{BUNDLE}"),
        {ShellSign.STATE: "#__NEXT_DATA__"},
        id="no prose",
    ),
]


@pytest.mark.parametrize(("markup", "signs"), SHELLS)
def test_ours_a_shell_has_evidence(markup: str, signs: dict[ShellSign, str]) -> None:
    found = read(markup).shell
    assert signs.items() <= found.items()
    assert found.keys() & {ROOT, BODY, NOSCRIPT}
    assert {ShellSign.SCRIPTS, TEXT} <= found.keys()


PLAIN = {
    "an empty answer": "",
    "an empty body": page(""),
    "a short page": page("<h1>Back soon</h1><p>We are moving house.</p>"),
    "It works!": page("<h1>It works!</h1>", BUNDLE),
    "a short page in a root": page(f"<div id=app><h1>It works!</h1></div>{BUNDLE}"),
    "rendered on the server": page(f"<div id=root><p>{PROSE[:200]}</p></div>{data(DATA)}{BUNDLE}"),
    "rendered, and little": page(
        f'<div id=__next><h1>Not found</h1></div><script src="/_next/a.js"></script>{data(DATA)}'
    ),
    "rendered, and long": page(f"<div id=root>{PROSE}</div><div id=app></div>{BUNDLE}"),
    "long, with an empty root": page(f"<p>{PROSE}</p><div id=app></div>{ASKS}{BUNDLE}"),
    "a widget below a text": page(f"<p>{PROSE[:300]}</p><div id=app></div>{ASKS}{BUNDLE}"),
    "an empty root, and no script": page("<div id=root></div>"),
    "an empty root, and a counter": page(
        "<div id=root></div><script src=https://www.googletagmanager.com/gtag/js></script>"
    ),
    "an empty root, and a short script": page("<div id=root></div><script>var a = 1</script>"),
    "an empty root, and data alone": page(f"<div id=root></div>{data(DATA)}"),
    "an empty #main": page(f"<h1>News</h1><div id=main></div><script src=/jquery.js></script>{BUNDLE}"),
    "a login page": page(f"{ASKS}<form action=/in><input name=u><input name=p type=password></form>{BUNDLE}"),
    "a login page in a root": page(f"{ASKS}<div id=app></div><form><input name=u></form>{BUNDLE}"),
    "a redirect": page(f"{ASKS}{BUNDLE}", "<meta http-equiv=refresh content='0; url=/new'>"),
    "a redirect by noscript": page(
        f"<noscript><meta http-equiv=Refresh content='0;/n'></noscript><div id=root></div>{BUNDLE}"
    ),
    "a redirect by script": page(f"{ASKS}<script>window.location.replace('/new')</script>{BUNDLE}"),
    "a redirect by href": page(f"<script>location.href = '/new'</script>{BUNDLE}"),
    "pictures": page(f"<img src=a.jpg><img src=b.jpg><div id=root></div>{BUNDLE}"),
    "a picture": page("<img src=a.jpg>", "<script src=/app.js></script>"),
    "a link": page("<a href=/in>Enter</a>", "<script src=/app.js></script>"),
    "a drawing": page(f"<canvas></canvas><div id=root></div>{BUNDLE}"),
    "frames": f"<html><head>{BUNDLE}</head><frameset><frame src=a.html></frameset>{ASKS}</html>",
    "a frame": page(f"<iframe src=/old></iframe><div id=app></div>{BUNDLE}"),
    "an index": page("".join(f"<a href=/{n}>{n}</a>" for n in range(6)) + f"<div id=app></div>{BUNDLE}"),
    "a search page of docs": page(
        "<h1>Search</h1><noscript><p>Please activate JavaScript to enable the search functionality.</p></noscript>"
        "<p>Searching for multiple words only shows matches that contain all words.</p><div id=search-results></div>",
        "<script src=_static/jquery.js></script><script src=searchindex.js defer></script>",
    ),
    "a page of docs": page("<h1>Module</h1><p>See the index.</p><noscript>JavaScript is disabled.</noscript>", BUNDLE),
    "a template": page(f"<template><div id=root></div></template><p>A note.</p>{BUNDLE}"),
    "a shadow root": page(f"<div id=x><template shadowrootmode=open><p>A note.</p></template></div>{ASKS}{BUNDLE}"),
    "a word after dots": page("." * 190 + f"x<div id=app>{'.' * 9}x</div>{BUNDLE}"),
    "a library alone": page("", "<script src=/js/jquery.min.js></script>"),
    "a counter's script alone": page(
        "<script>document.body.appendChild(t).src='//www.google-analytics.com/a'</script>"
    ),
    "a window to close": page("<script>window.opener.postMessage('ok', '*'); window.close()</script>"),
    "a drawing in SVG": page("<svg viewBox='0 0 9 9'><text>Map</text></svg><script src=/js/d3.js></script>"),
    "a place for comments": page(
        "<h1>A post</h1><p>A short one.</p><div id=talk></div><script>fetch('/talk').then(r => {"
        "document.querySelector('#talk').innerHTML = r})</script>"
    ),
    "a place that grows": page("<h1>A post</h1><p>A short one.</p><div hx-get=/talk>Loading…</div>" + BUNDLE),
    "a menu, and a picture": page(f"<nav><a href=/>Home</a></nav><main><img src=a.jpg></main>{BUNDLE}"),
    "a menu, and no bundle": page("<nav><a href=/>Home</a></nav><main></main><script src=/js/effects.js></script>"),
    "a word of a template": page("<p>Write {{ name }} where the name should be.</p>" + BUNDLE),
    "a table": page("<table><tr><td>1<tr><td>2</table>" + BUNDLE),
}


@pytest.mark.parametrize("markup", PLAIN.values(), ids=PLAIN)
def test_ours_a_plain_page_has_none(markup: str) -> None:
    assert read(markup).shell == {}


def test_it_is_not_asked_for_where_nobody_wants_text() -> None:
    assert read(VITE, want_text=False).shell == {}


def test_a_person_reads_it_in_three_lines_that_fit() -> None:
    evidence = read(page(f"{ASKS}{NEXT}{data(DATA)}")).shell
    assert lines(evidence) == [
        "#__next is empty; a noscript asks for JavaScript",
        "1 script; 0 characters of text",
        "prose in JSON: #__NEXT_DATA__, 672 characters",
    ]
    assert lines({}) == []


def test_every_sign_has_its_words() -> None:
    assert "; ".join(lines(dict.fromkeys(ShellSign, "x"))).count(";") == len(ShellSign) - 1
    assert len(PROSE) > LITTLE_TEXT_CHARS


LD = "type=application/ld+json"
TWO_LINES = f"{PROSE}\n\n  And   a second paragraph.  "
READ = f"{PROSE.strip()}\nAnd a second paragraph."
# JSON-LD of a shell → the text that is taken from it
ARTICLES = [
    ({"@type": "NewsArticle", "articleBody": TWO_LINES}, READ),
    ({"@graph": [{"@type": "WebPage"}, {"articleBody": TWO_LINES}]}, READ),
    ([{"articleBody": TWO_LINES}, {"articleBody": TWO_LINES}], READ),  # the same one twice
    ([{"articleBody": PROSE}, {"articleBody": TWO_LINES}], ""),  # which of them the page shows, nobody knows
    ({"articleBody": f"<p>{PROSE}</p>"}, ""),
    ({"articleBody": PROSE + "&nbsp;"}, ""),
    ({"articleBody": "Short."}, ""),
    ({"articleBody": "x" * 900}, ""),  # no prose
    ({"articleBody": [PROSE]}, ""),
    ({"description": PROSE, "text": PROSE}, ""),  # of what, nobody knows
]


@pytest.mark.parametrize(("ld", "text"), ARTICLES)
def test_the_article_of_json_ld_is_the_text_of_a_shell(ld: object, text: str) -> None:
    found = read(page(f"<div id=root></div>{data(json.dumps(ld), LD)}{BUNDLE}"))
    assert found.main_text == text
    assert (ShellSign.ARTICLE in found.shell) is bool(text)
    assert ROOT in found.shell, "it is a shell all the same"


def test_a_page_that_shows_its_text_keeps_it() -> None:
    shown = "Another text than that of its data, which a person reads on the page. " * 12
    assert (
        read(page(f"<p>{shown}</p>{data(json.dumps({'articleBody': PROSE}), LD)}{BUNDLE}")).main_text == shown.strip()
    )


def test_other_data_is_not_read() -> None:
    assert read(page(f"{NEXT}{data(DATA)}")).main_text == ""
