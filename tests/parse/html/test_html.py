"""What a document says, in rows of small documents."""

from dataclasses import replace

import pytest

from app.model.page import Link, Page
from app.parse.html import survey
from tests.parse.html.reading import read


@pytest.mark.parametrize(
    # markup, links
    ("markup", "links"),
    [
        pytest.param("<a href=/x>y</a>", [Link("/x", "y")], id="anchor"),
        pytest.param("<a href='\n /x\t'>y</a>", [Link("/x", "y")], id="white space around an href"),
        pytest.param("<a href='?a=1&amp;b=2&copy'>y</a>", [Link("?a=1&b=2©", "y")], id="references are resolved"),
        pytest.param("<a href=x> a <b>b</b>\n\u00a0c </a>", [Link("x", "a b c")], id="anchor text is folded"),
        pytest.param("<a href=x>a<b>b</b>c</a>", [Link("x", "abc")], id="around one element"),
        pytest.param("<a href=x>a<b>b<i>c</i>d</b>e</a>", [Link("x", "abcde")], id="and one in it"),
        pytest.param("<a href=x><b>a</b> <i>b</i></a>", [Link("x", "a b")], id="of two elements"),
        pytest.param("<a href=x><b><img src=i alt=p></b></a>", [Link("x", "p")], id="alt of an image within"),
        pytest.param(f"<a href=x>{'ab ' * 100}</a>", [Link("x", ("ab " * 100)[:200].rstrip())], id="and cut"),
        pytest.param("<a href=x><img src=i alt='a  picture'></a>", [Link("x", "a picture")], id="alt"),
        pytest.param("<a href=x>t<img src=i alt=picture></a>", [Link("x", "t")], id="text before alt"),
        pytest.param("<a href=x rel='NoFollow  ugc'>t</a>", [Link("x", "t", ("nofollow", "ugc"))], id="rel"),
        pytest.param("<map><area href=x alt=left></map>", [Link("x", "left", kind="area")], id="area"),
        pytest.param("<iframe src=x></iframe>", [Link("x", kind="iframe")], id="iframe"),
        pytest.param("<frameset><frame src=x></frameset>", [Link("x", kind="frame")], id="frame"),
        pytest.param("<a href=1>a</a><area href=2><iframe src=3></iframe><a href=4>b</a>", None, id="document order"),
        pytest.param("<a>x</a><a href>x</a><a href=''>x</a><a href=' '>x</a>", [], id="nothing linked"),
        pytest.param("<a href='#top'>x</a><a href=' #'>x</a>", [], id="fragments of this page"),
        pytest.param("<a href=x#y>x</a>", [Link("x#y", "x")], id="a fragment of another"),
        pytest.param(
            "<a href=javascript:x()>1</a><a href='MailTo:a@b'>2</a><a href=TEL:1>3</a><a href=Data:,x>4</a>"
            "<iframe src=about:blank></iframe><area href=blob:x>",
            [],
            id="schemes without a server",
        ),
        pytest.param(
            "<a href=ftp://h/>f</a><a href=database>d</a>", [Link("ftp://h/", "f"), Link("database", "d")], id="others"
        ),
        pytest.param("<a href=1>x<a href=2>y", [Link("1", "x"), Link("2", "y")], id="unclosed"),
        pytest.param("<A HREF=x>y</A>", [Link("x", "y")], id="capitals"),
        pytest.param("<!-- <a href=x>y</a> --><script>'<a href=x>'</script>", [], id="comments and scripts"),
        pytest.param("<html><body>x</body></html><a href=y>z</a>", [Link("y", "z")], id="after the end"),
    ],
)
def test_links(markup: str, links: list[Link] | None) -> None:
    found = read(markup).links
    if links is None:
        assert [link.href for link in found] == sorted(link.href for link in found)
    else:
        assert list(found) == links


@pytest.mark.parametrize(
    # attributes of <link>, whether it is a link to a page
    ("attributes", "kept"),
    [
        ("rel=next", True),
        ("rel=PREV", True),
        ("rel=alternate hreflang=de", True),
        ("rel=alternate type=application/rss+xml", True),
        ("rel=alternate type=application/json+oembed", False),
        ("rel=amphtml", True),
        ("rel=index", True),
        ("rel='author help'", True),
        ("rel=search", True),
        ("rel=search type=application/opensearchdescription+xml", False),
        ("rel=stylesheet", False),
        ("rel='alternate stylesheet'", False),
        ("rel='shortcut icon'", False),
        ("rel=preload", False),
        ("rel=dns-prefetch", False),
        ("rel=pingback", False),
        ("rel=shortlink", False),
        ("rel=canonical", False),
        ("", False),
    ],
)
def test_link_elements(attributes: str, kept: bool) -> None:
    links = read(f"<head><link {attributes} href=x></head>").links
    assert [(link.href, link.kind) for link in links] == [("x", "link")] * kept


@pytest.mark.parametrize(
    # content of <meta http-equiv=refresh>, href
    ("content", "href"),
    [
        ("0;url=x", "x"),
        ("5; URL = 'x y'", "x y"),
        ('0;url="x"', "x"),
        ("0, x", "x"),
        ("0 url=x", "x"),
        (".5;url=x", "x"),
        ("0;url='x", "x"),
        ("30", None),
        ("30;", None),
        ("0;url=", None),
        ("0;url=#x", None),
        ("0;url=javascript:x", None),
        ("url=x", None),
        ("", None),
    ],
)
def test_meta_refresh(content: str, href: str | None) -> None:
    quoted = content.replace('"', "&quot;")
    links = read(f'<meta http-equiv=Refresh content="{quoted}">').links
    assert list(links) == ([] if href is None else [Link(href, kind="refresh")])


WORDS = "<p>Boats lie in the harbour, and the tide is out."
LINKS = "<li><a href=x>a boat</a>" * 9


@pytest.mark.parametrize(
    # markup, for each link whether it is hidden
    ("markup", "hidden"),
    [
        ("<a href=x hidden>y</a><a href=x>y</a>", [True, False]),
        ("<div hidden><p><a href=x>y</a></div><a href=x>y</a>", [True, False]),
        ("<p style='color:red; Display : NONE'><a href=x>y</a></p>", [True]),
        ("<a href=x style=visibility:hidden>y</a>", [True]),
        ("<div hidden><p style=display:none><a href=x>y</a></p><a href=x>z</a></div>", [True, True]),
        ("<iframe src=x style='display:none'></iframe>", [True]),
        ("<style>a{display:none}</style><input type='hidden'><a href=x>y</a>", [False]),
        ("<a href=x aria-hidden=true></a><a href=x aria-hidden=true>¶</a>", [True, False]),
        ("<a href=x aria-hidden=true><img src=y></a>", [False]),
        ("<a href=hidden>display:none</a>", [False]),
        ("<template><p><a href=x>y</a></p></template><a href=x>y</a>", [True, False]),
        ("<div hidden><Template><a href=x>y</a></Template></div><template><template><a href=x></a>", [True, True]),
        ("<html style='visibility: hidden'><body style=display:none><a href=x>y</a>", [False]),
        ("<body hidden><a href=x>y</a><p hidden><a href=x>z</a>", [False, True]),
        ("<div hidden=until-found><a href=x>y</a></div><a href=x hidden=Until-Found>y</a>", [False, False]),
        ("<a href=x hidden=until-found style=display:none>y</a>", [True]),
        (f"<p>Loading<div hidden>{WORDS}<a href=x>y</a><a href=x>y</a></div>", [False, False]),
        (f"<p>Loading<main style=display:none>{WORDS}<a href=x>y</a><p hidden><a href=x>y</a></main>", [False, True]),
        (f"<div hidden><div style=visibility:hidden>{WORDS}<a href=x>y</a></div></div>", [False]),
        (f"<div hidden>{WORDS}<a href=x>y</a></div><a href=x>y</a><a href=x>y</a>", [True, False, False]),
        (f"<ul hidden>{LINKS}</ul><p>{WORDS}<a href=x>y</a>", [True] * 9 + [False]),
        (f"<noscript>{WORDS * 9}</noscript><div hidden>{WORDS}{LINKS}</div>", [False] * 9),
        (f"<ul hidden>{LINKS}</ul>", [True] * 9),
        ("<div style='backface-visibility: hidden; transform: scale(1)'><a href=x>y</a></div>", [False]),
        ("<a href=x style='content-visibility:hidden'>y</a>", [True]),
        ("<a href=x style='/* display:none */color:red'>y</a><a href=x style='display:none/* x'>y</a>", [False, True]),
        (
            "<a href=x style='display:none;display:block'>y</a><a href=x style='display:;display:none;'>y</a>",
            [False, True],
        ),
        ("<a href=x style='display:none ! Important;display:block'>y</a>", [True]),
        ("<a href=x style='display:none;display:flex !important;display:none'>y</a>", [False]),
        ("<a href=x style='display:nonesuch'>y</a><a href=x style=--display:none>y</a>", [False, False]),
        (
            "<a href=x style='background:url(a;display:none)'>y</a><a href=x style='content:\";display:none\"'>y</a>",
            [False, False],
        ),
        ("<a href=x hidden style='display:block'>y</a><a href=x hidden style='color:red'>y</a>", [False, True]),
        ("<a href=x style='visibility:hidden;visibility:visible'>y</a>", [False]),
        (f"<nav hidden>{WORDS}{LINKS}</nav><p>Boats", [True] * 9),
        (f"<div role=Menu hidden>{WORDS}{LINKS}</div><p>Boats", [True] * 9),
        ("<my-card><template shadowrootmode=open><a href=x>y</a></template></my-card>", [False]),
    ],
)
@pytest.mark.parametrize("want_text", [True, False])
def test_hidden(markup: str, hidden: list[bool], want_text: bool) -> None:
    assert [link.hidden for link in read(markup, want_text=want_text).links] == hidden


HEAD = """<html lang=en-US><head><title>\n A  title </title><base href=" /b/ "><base href=/c/>
<link rel=canonical href=' /canonical '><link rel=canonical href=/other>
<meta name=Description content="  What it\nis "><meta name=description content=second>
<meta name=ROBOTS content="NoIndex, max-snippet: 20,,unavailable_after: 25 Jun 2026">
<meta name=tiptoe content="nofollow noarchive">
<meta name=googlebot content=none></head><body><p>Text.</body></html>"""


def test_head() -> None:
    assert replace(read(HEAD), data=None) == Page(
        base="/b/",
        canonical="/canonical",
        title="A title",
        headline="A title",
        description="What it is",
        language="en-us",
        main_text="Text.",
        robots=frozenset({"noindex", "max-snippet: 20", "", "unavailable_after: 25 jun 2026", "nofollow", "noarchive"})
        - {""},
    )


def test_without_text_the_crawl_has_what_it_needs() -> None:
    page = read("<meta name=tdm-reservation content=1>" + HEAD + "<a href=x>y</a>", want_text=False)
    assert (page.base, page.canonical, page.links) == ("/b/", "/canonical", (Link("x"),))
    assert {"noindex", "nofollow"} <= page.robots
    assert page.tdm == {"tdm-reservation": "1"}
    assert (page.title, page.description, page.language, page.main_text) == (None, None, None, "")


def test_our_product_token_is_matched_in_any_case() -> None:
    assert read("<meta name=tipTOE content=noindex>", token="TipToe").robots == {"noindex"}
    assert read("<meta name=tiptoe content=noindex>", token="other").robots == frozenset()


@pytest.mark.parametrize(
    # markup, header, language
    ("markup", "header", "language"),
    [
        ("<html lang=de><p>x", "fr", "de"),
        ("<html xml:lang=pt_BR><p>x", None, "pt-br"),
        ("<html><meta http-equiv=Content-Language content=' nl '><p>x", "fr", "nl"),
        ("<p>x", "fr, en", "fr"),
        ("<p>x", "zh-Hant-TW", "zh-hant-tw"),
        ("<html lang=''><p>x", "fr", "fr"),
        ("<html lang='{{ lang }}'><p>x", None, None),
        ("<html lang=english!><p>x", None, None),
        ("<p>x", "e" * 400, None),
        ("<p>x", None, None),
    ],
)
def test_language(markup: str, header: str | None, language: str | None) -> None:
    assert read(markup, content_language=header).language == language


@pytest.mark.parametrize(
    "markup", ["<p>x", "<title></title>x", "<title> \n</title><meta name=description content=' '>x"]
)
def test_absent_fields_are_none(markup: str) -> None:
    page = read(markup)
    assert (page.title, page.description, page.base, page.canonical) == (None, None, None, None)


def test_fields_are_cut() -> None:
    page = read(f"<title>{'t' * 5000}</title><meta name=description content={'d' * 5000}>")
    assert (len(page.title or ""), len(page.description or "")) == (survey.MAX_FIELD_CHARS, survey.MAX_FIELD_CHARS)


# metas, what they say about mining
@pytest.mark.parametrize(
    ("metas", "tdm"),
    [
        ("<meta name=tdm-reservation content=1>", {"tdm-reservation": "1"}),
        ("<meta name=' TDM-Reservation ' content=' 1 '>", {"tdm-reservation": " 1 "}),
        (
            "<meta name=tdm-reservation content=0><meta name=tdm-policy content=/p.json>",
            {"tdm-reservation": "0", "tdm-policy": "/p.json"},
        ),
        ("<meta name=tdm-reservation content=0><p>x<meta name=tdm-reservation content=1>", {"tdm-reservation": "0, 1"}),
        (
            "<meta name=tdm-reservation><meta name=tdm-reservation content=''><meta property=tdm-reservation "
            "content=1>",
            {},
        ),
        ("<meta name=tdm content=1>", {}),
    ],
)
def test_tdm_metas(metas: str, tdm: dict[str, str]) -> None:
    assert read(f"<html><head>{metas}<title>t</title>").tdm == tdm


def test_tdm_metas_are_bounded() -> None:
    page = read("<meta name=tdm-policy content=" + "x" * 5000 + ">" + "<meta name=tdm-reservation content=1>" * 2000)
    assert {name: len(content) for name, content in page.tdm.items()} == {
        "tdm-policy": survey.MAX_FIELD_CHARS,
        "tdm-reservation": survey.MAX_FIELD_CHARS,
    }


def test_tokens_are_bounded() -> None:
    page = read(f"<meta name=robots content='noindex,{'x' * 5000}'><a href=x rel='nofollow {'y ' * 5000}'>z</a>")
    assert "noindex" in page.robots
    assert max(map(len, page.robots)) <= survey.MAX_FIELD_CHARS
    assert page.links[0].rel[0] == "nofollow"
    assert len(page.links[0].rel) <= 100


def test_plain_text_is_text() -> None:
    page = read("line\n<a href=x>y</a>\0", content_type="Text/Plain;charset=utf-8", content_language="en")
    assert page == Page(main_text="line\n<a href=x>y</a>\ufffd", language="en")


def test_xhtml_is_read_like_html() -> None:
    page = read(
        '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" '
        'xml:lang="en"><head><title>t</title>'
        '<script src="s" /></head><body><p>x<br /><a href="y">é</a></p></body></html>',
        content_type="application/xhtml+xml",
    )
    assert (page.title, page.links, page.main_text, page.language) == ("t", (Link("y", "é"),), "x\né", "en")


def test_the_charset_is_told() -> None:
    page = read("<meta charset=shift_jis><a href=日>本".encode("cp932"), content_type="text/html")
    assert (page.charset, page.links) == ("cp932", (Link("日", "本"),))
