"""Sitemaps of XML: read leniently, whatever is wrong with them."""

from datetime import UTC, datetime

import pytest

from app.parse.sitemap.sitemap import Child, Entry
from tests.parse.sitemap.streams import EXTENSIONS, NS, locs, problem, read, urlset


# body, locations
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(f"<urlset {NS}><url><loc>a</loc></url></urlset>", ["a"], id="the name space"),
        pytest.param('<urlset xmlns="urn:wrong"><url><loc>a</loc></url></urlset>', ["a"], id="another"),
        pytest.param(
            f"<s:urlset {NS.replace('=', ':s=')}><s:url><s:loc>a</s:loc></s:url></s:urlset>", ["a"], id="a prefix"
        ),
        pytest.param("<s:urlset><s:url><s:loc>a</s:loc></s:url></s:urlset>", ["a"], id="a prefix that is not declared"),
        pytest.param(f'<urlset {NS}><url xmlns=""><loc>a</loc></url></urlset>', ["a"], id="one that changes"),
        pytest.param("<URLSET><Url><LOC>a</LOC></Url></URLSET>", ["a"], id="capitals"),
        pytest.param(
            "\ufeff \n\t<?xml version='1.0'?><urlset><url><loc>a</loc></url></urlset>", ["a"], id="blanks before"
        ),
        pytest.param(
            urlset("<loc>\n\u00a0 a \u2000</loc>", "<loc>a b</loc>"), ["a", "a b"], id="Unicode's white space"
        ),
        pytest.param(urlset("<loc><![CDATA[a?b=1&c=2]]></loc>"), ["a?b=1&c=2"], id="CDATA"),
        pytest.param(
            urlset("<loc>a<![CDATA[<b>]]]]><![CDATA[>&amp;]]>&lt;</loc>"), ["a<b>]]>&amp;<"], id="CDATA in parts"
        ),
        pytest.param(urlset("<loc>&#104;&#x2f;&amp;&quot;&apos;&gt;</loc>"), ["h/&\"'>"], id="references"),
        pytest.param(
            urlset("<loc>a<!-- <loc>b</loc> & --\n-->c<?pi > <loc> ?>d</loc>"), ["acd"], id="comments, instructions"
        ),
        pytest.param(
            urlset("<loc>../a</loc>", "<loc>?b</loc>", "<loc>//h/c</loc>"), ["../a", "?b", "//h/c"], id="relative"
        ),
        pytest.param(urlset("<priority>1</priority><loc>a</loc>"), ["a"], id="another order"),
        pytest.param(
            "<x:urlset xmlns:x='u'><x:url><x:loc>a</x:loc><loc>b</loc></x:url></x:urlset>", ["a"], id="loc of others"
        ),
        pytest.param(
            "<urlset><sitemap><loc>a</loc></sitemap><url><loc>b</loc></url></urlset>", ["a", "b"], id="wrong root"
        ),
        pytest.param("<sitemapindex><url><loc>a</loc></url></sitemapindex>", ["a"], id="wrong root of an index"),
        pytest.param("<urlset><group><url><loc>a</loc></url></group></urlset>", ["a"], id="deeper"),
        pytest.param("<urlset><loc>a</loc><url><x><loc>b</loc></x></url></urlset>", [], id="loc of no url"),
        pytest.param("<urlset><item><link>a</link></item></urlset>", [], id="items of another kind"),
    ],
)
def test_xml_is_read_leniently(body: str, expected: list[str]) -> None:
    assert locs(body) == expected


def test_a_url_under_the_wrong_root_is_what_its_element_says() -> None:
    assert read("<urlset><sitemap><loc>a</loc></sitemap></urlset>")[0] == [Child(loc="a")]


def test_extensions_are_not_taken_for_locations() -> None:
    body = f"""<urlset {NS} {EXTENSIONS}><url><image:loc>no</image:loc>
      <image:image><image:loc>no</image:loc><loc>no</loc></image:image>
      <video:video><video:content_loc>no</video:content_loc><video:url>no</video:url></video:video>
      <news:news><news:publication_date>1999-01-01</news:publication_date></news:news><news:lastmod>1999</news:lastmod>
      <xhtml:link rel="alternate" hreflang="de" href="no"/><loc>a</loc><lastmod>2024</lastmod></url></urlset>"""
    values, reading = read(body)
    assert values == [Entry(loc="a", lastmod=datetime(2024, 1, 1, tzinfo=UTC), lastmod_raw="2024")]
    assert (reading.skipped, reading.problem) == (0, None)


def test_extensions_without_a_declaration_are_not_either() -> None:
    assert locs(urlset("<image:image><image:loc>no</image:loc></image:image><loc>a</loc>")) == ["a"]


# declared encoding, bytes of the location, the location
@pytest.mark.parametrize(
    ("declaration", "raw", "expected"),
    [
        ("", "é".encode(), "é"),
        ("", b"\xe9", "é"),  # not declared, not UTF-8
        ("utf-8", b"x\xff", "x\ufffd"),
        ("ISO-8859-1", b"\xe9", "é"),
        ("windows-1251", b"\xff", "я"),
        ("Shift_JIS", b"\x82\xa0", "あ"),
        ("GB2312", b"\xc4\xe3", "你"),
        ("utf-16", "é".encode(), "é"),  # it would not be readable if it were
        ("unicode_escape", rb"\u0041", r"\u0041"),
        ("no-such", "é".encode(), "é"),
    ],
)
def test_the_declared_encoding_counts(declaration: str, raw: bytes, expected: str) -> None:
    head = f'<?xml version="1.0" encoding="{declaration}"?>'.encode() if declaration else b""
    assert locs(head + b"<urlset><url><loc>" + raw + b"</loc></url></urlset>") == [expected]


# body, locations, whether there is a problem
@pytest.mark.parametrize(
    ("body", "expected", "is_fault"),
    [
        pytest.param(urlset("<loc>a?x=1&y=2&copy;=3&</loc>"), ["a?x=1&y=2&copy;=3&"], False, id="bare &"),
        pytest.param(urlset("<loc>a < b <3</loc>", "<loc>c</loc>"), ["a < b <3", "c"], False, id="bare <"),
        pytest.param(urlset("<loc>a]]>b</loc>", "<loc>c</loc>"), ["a]]>b", "c"], False, id="]]>"),
        pytest.param(urlset("<loc>a\x08b\x00c</loc>"), ["abc"], False, id="control characters"),
        pytest.param(
            urlset("<loc>a&#0;&#xD800;&#x110000;&#1;b</loc>"), ["a\ufffd\ufffd\ufffdb"], False, id="no characters"
        ),
        pytest.param("<urlset><url><loc>a</loc></url><url><loc>b", ["a"], True, id="cut in a location"),
        pytest.param("<urlset><url><loc>a</loc></url><url><loc>b</lo", ["a", "b"], True, id="cut behind one"),
        pytest.param("<urlset><url><loc>a</loc><lastmod>20", ["a"], True, id="cut in a date"),
        pytest.param("<urlset><url><loc>a</loc></url>", ["a"], True, id="no end of the root"),
        pytest.param(
            "<urlset><url><loc>a</loc></url></url><url><loc>b</loc></url></urlset>", ["a", "b"], True, id="</url> twice"
        ),
        pytest.param(urlset("<loc>a</url><url><loc>b</loc>"), ["a", "b"], True, id="loc not closed"),
        pytest.param(
            urlset("<loc>a<lastmod>2024</lastmod>", "<loc>b</loc>"), ["a", "b"], True, id="loc not closed, lastmod"
        ),
        pytest.param(urlset("<loc>a</loc><url><loc>b</loc>"), ["a", "b"], True, id="url not closed"),
        pytest.param(urlset("<loc>a<url><loc>b</loc>"), ["a", "b"], True, id="url and loc not closed"),
        pytest.param(urlset("<loc>a</loc>") * 3, ["a"] * 3, False, id="three files in one"),
        pytest.param(("<?xml version='1.0'?>" + urlset("<loc>a</loc>")) * 2, ["a"] * 2, False, id="with declarations"),
        pytest.param(urlset("<loc>a</loc><loc>b</loc>"), ["a", "b"], False, id="two locations in a url"),
        pytest.param(urlset("<loc><url>a</url></loc>"), ["a"], False, id="url in loc"),
        pytest.param("<urlset><url><loc>a</loc></url><!-- never", ["a"], True, id="a comment without an end"),
        pytest.param("<urlset><url><loc>a</loc></url><url x='", ["a"], True, id="an attribute without an end"),
        pytest.param("<urlset><url><loc>a</loc><x y=z w/><é/></url></urlset>", ["a"], True, id="bad attributes"),
        pytest.param("<urlset><url><loc>a</loc></url>\n<br>sorry</html>", ["a"], True, id="an error page behind"),
    ],
)
def test_malformed_xml_gives_what_can_be_read(body: str, expected: list[str], is_fault: bool) -> None:
    values, reading = read(body)
    assert [value.loc for value in values] == expected
    assert (reading.problem is not None) is is_fault
    assert "\n" not in (reading.problem or "")


def test_fields_stay_with_their_location() -> None:
    at = "<lastmod>{}</lastmod>".format
    body = urlset(f"<loc>a</loc>{at(2001)}{at(2009)}<loc>b</loc><loc>c</loc>{at(2003)}", "<loc>d</loc>")
    assert [(value.loc, value.lastmod_raw) for value in read(body)[0]] == [
        ("a", "2001"),
        ("b", None),
        ("c", "2003"),
        ("d", None),
    ]


# body, problem
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("<!doctype html><html><body><a href='/'>x</a>", "no sitemap: its first element is <html>"),
        ("<html xmlns='http://www.w3.org/1999/xhtml'/>", "no sitemap: its first element is <html>"),
        (f"<{'x' * 500}/>", f"no sitemap: its first element is <{'x' * 40}>"),
        ("<!-- nothing -->", "no element in it"),
        ("< urlset>", "no element in it"),
        (urlset("", ""), "none of 2 items has a usable location"),
        ("<urlset><url></urlset>", "not well-formed XML: Opening and ending tag mismatch: url and urlset"),
        ("<urlset><url>", "ends before its last element does"),
        ("<urlset><![CDATA[", "not well-formed XML: <![CDATA[ without an end"),
        (urlset("<loc>a</loc>"), None),
        (urlset(), None),
    ],
)
def test_the_problem_is_a_line_for_a_person(body: str, reason: str | None) -> None:
    assert problem(body) == reason
