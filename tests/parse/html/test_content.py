"""Which blocks of a page are its content."""

import pytest

from app.parse.html import text, tree
from app.parse.html.tree import Element

ONE = "The first sentence of the page is long enough to be read as one by whoever counts."
TWO = "A second one follows it, and it is as long as the first, so that both are prose."
THREE = "The third is there for good measure, because a page of two sentences is short."
ARTICLE = f"<p>{ONE}</p><p>{TWO}</p><p>{THREE}</p><p>{ONE} {TWO} {THREE}</p>"
BODY = "\n".join([ONE, TWO, THREE, f"{ONE} {TWO} {THREE}"])
TEASER = (
    "<div><h3><a href=/{0}>Title {0}</a></h3><p>What story {0} is about is told here, in one line of prose.</p></div>"
)
TITLED = "<p><a href=/{0}>The title of story number {0}</a><br>What it is about is told here in a line of prose.</p>"
LINKS = "<ul><li><a href=a>One</a><li><a href=b>Two</a></ul>"
MENU = "<ul><li><a href=m>Home page</a><li><a href=n>News of today</a></ul>"
COMMENTS = f"<div><p>{THREE} {TWO}</p></div>" * 9


def grown(markup: str) -> Element:
    root = tree.grow(markup.encode())
    assert root is not None
    return root


def read(markup: str) -> str:
    root = grown(markup)
    return text.main_text(root, text.hidden_roots(root))


TOPIC = "".join(f"<div class=post>{each} {each}</div>" for each in (ONE, TWO, THREE))
POSTS = "\n".join(f"{each} {each}" for each in (ONE, TWO, THREE))
CHOICES = f"<label>Mail <input></label><select>{f'<option>{ONE} {TWO}' * 9}</select>"
TITLE = "The book whose title is so long that it takes two lines of a narrow column, as some titles do"
SAID = "It is liked by one whom many readers know."
ROWS = f"<tr><td><a href=b>{TITLE}</a><td>{SAID}" * 8
THREAD = "<div itemscope itemtype=https://schema.org/DiscussionForumPosting>"
DISCUSSION = '<script type="application/ld+json">{"@type": "DiscussionForumPosting"}</script>'
QUESTIONS = "<div itemscope itemtype=https://schema.org/QAPage>"
TYPES = "<a href=m>Map</a>&lt;<a href=s>String</a>, <a href=l>List</a>&gt; map()"
MEMBER = (
    "<h3>map</h3><div>{0}</div><div>What maps.</div><dl><dt>Overrides:<dd><a href=m>map</a> in <a href=b>Base</a></dl>"
)
ARROWS = "<p>strip :: <a href=v>Verbosity</a> -&gt; <a href=p>Platform</a> -&gt; <a href=i>IO</a>"
REPLY = f"<div class=comment><p>{TWO} {THREE}</p></div>"


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        pytest.param(f"{DISCUSSION}{ARTICLE}{REPLY}", f"{BODY}\n{TWO} {THREE}", id="replies of a discussion"),
        pytest.param(
            f"{THREAD}{ARTICLE}<ul id=replies><li>{THREE}</ul>",
            f"{BODY}\n{THREE}",
            id="replies of a discussion in microdata",
        ),
        pytest.param(f"{ARTICLE}{REPLY}", BODY, id="comments on an article"),
        pytest.param(
            f"<h4>class Maps</h4><div id=comment><div class=comment>{THREE}</div></div><h4>Members</h4>{ARTICLE}",
            f"class Maps\n{THREE}\nMembers\n{BODY}",
            id="a comment in code, as a reference shows it",
        ),
        pytest.param(
            f"{ARTICLE}<section>{MEMBER.format(TYPES)}</section>",
            f"{BODY}\nmap\nMap<String, List> map()\nWhat maps.\nOverrides:\nmap in Base",
            id="a function whose types are links",
        ),
        pytest.param(
            f"{ARTICLE}<div><h1>Functions</h1><div>{ARROWS}</div></div>",
            f"{BODY}\nFunctions\nstrip :: Verbosity -> Platform -> IO",
            id="functions of links alone",
        ),
        pytest.param(
            f"{ARTICLE}<pre>create()<div class=popup_sql>CREATE TABLE it</div></pre>",
            f"{BODY}\ncreate()\nCREATE TABLE it",
            id="code, whatever the parts of it are named",
        ),
        pytest.param(
            f"<ul><li><a href=a>map()</a><li><a href=b>List&lt;T&gt;</a></ul>{ARTICLE}",
            BODY,
            id="an index of functions",
        ),
        pytest.param(f"{QUESTIONS}{ARTICLE}{REPLY}", BODY, id="remarks on an answer"),
        pytest.param(
            f"{QUESTIONS}<p>{ONE} {ONE}</p><p>{TWO} {TWO}</p>{REPLY * 5}",
            "\n".join([f"{ONE} {ONE}", f"{TWO} {TWO}", *[f"{TWO} {THREE}"] * 5]),
            id="answers that are named comments",
        ),
        pytest.param(
            f"<h1>Topic</h1><form>{TOPIC}</form>",
            f"Topic\n{POSTS}",
            id="a form that holds the posts",
        ),
        pytest.param(
            f"{ARTICLE}<form>{CHOICES}{ONE} {TWO}</form>",
            BODY,
            id="a form with many choices and a word on privacy",
        ),
        pytest.param(
            f"{ARTICLE}<div>Books</div><div><table>{ROWS}</table></div>",
            "\n".join([BODY, "Books", *[f"{TITLE} {SAID}"] * 8]),
            id="a list of links that holds most of the text",
        ),
    ],
)
def test_what_a_page_is_decides_what_stands_around_it(markup: str, expected: str) -> None:
    assert read(markup) == expected


@pytest.mark.parametrize(
    # markup, main text
    ("markup", "expected"),
    [
        # By how much is linked
        pytest.param(f"<div>{ARTICLE}</div>{LINKS}", BODY, id="a list of links"),
        pytest.param(ARTICLE + "<div><a href=a>One</a> | <a href=b>Two</a></div>", BODY, id="a bar of links"),
        pytest.param(
            ARTICLE + "<ul><li>one <a href=a>x</a> or two<li>three</ul>", f"{BODY}\none x or two\nthree", id="a list"
        ),
        pytest.param(ARTICLE + f"<p><a href=a>See</a> {ONE}</p>", f"{BODY}\nSee {ONE}", id="a link in a sentence"),
        pytest.param(
            ARTICLE + "<h2><a href=a>Linked heading</a></h2><p>s", f"{BODY}\nLinked heading\ns", id="a lone one"
        ),
        # By what looks like teasers
        pytest.param(ARTICLE + f"<div>{''.join(map(TEASER.format, '123'))}</div>", BODY, id="teasers"),
        pytest.param(ARTICLE + f"<div>{''.join(map(TITLED.format, '123'))}</div>", BODY, id="teasers without headings"),
        pytest.param(
            ARTICLE + f"<div>{TEASER.format(1)}</div>",
            f"{BODY}\nTitle 1\nWhat story 1 is about is told here, in one line of prose.",
            id="a linked title in an article",
        ),
        pytest.param(
            "".join(TEASER.format(n) for n in range(9)),
            "\n".join(f"Title {n}\nWhat story {n} is about is told here, in one line of prose." for n in range(9)),
            id="teasers that are the page",
        ),
        # By name
        pytest.param(ARTICLE + f"<div class='post-related x'>{ONE}</div>", BODY, id="a class"),
        pytest.param(ARTICLE + f"<section id=comments>{ONE}</section>", BODY, id="an id"),
        pytest.param(ARTICLE + f"<div role=complementary>{ONE}</div>", BODY, id="a role"),
        pytest.param(ARTICLE + "<p class=byline>By N. N.", BODY, id="a line"),
        pytest.param(ARTICLE + f"<div class=shareholders>{ONE}</div>", f"{BODY}\n{ONE}", id="a word within a word"),
        pytest.param(
            f"<div class=sidebar>{ARTICLE}</div><p>{ONE}</p>", f"{BODY}\n{ONE}", id="a name that holds the page"
        ),
        pytest.param(
            f"<h1>Forum</h1><div class=comment>{ARTICLE}</div><div class=comment>{ARTICLE}</div>",
            f"Forum\n{BODY}\n{BODY}",
            id="comments that are the page",
        ),
        pytest.param(ARTICLE + f"<div class=comments>{ONE} {TWO}</div>", BODY, id="comments"),
        # By what holds the article
        pytest.param(f"<p>{ONE}</p><main>{ARTICLE}</main><p>{TWO}</p>", BODY, id="main"),
        pytest.param(f"<p>{ONE}</p><div role=main>{ARTICLE}</div>", BODY, id="role=main"),
        pytest.param(
            f"<main><p>{ONE}</p><article>{ARTICLE}{ARTICLE}</article></main>", f"{BODY}\n{BODY}", id="article"
        ),
        pytest.param(f"<article>{ARTICLE}</article><article>{ARTICLE}</article>", f"{BODY}\n{BODY}", id="two articles"),
        pytest.param(f"<p>{ONE}</p><div class=entry-content>{ARTICLE}</div>", BODY, id="a body by class"),
        pytest.param(f"<p>{ONE}</p><div itemprop=articleBody>{ARTICLE}</div>", BODY, id="a body by itemprop"),
        # By its title
        pytest.param(
            f"<div><h1>The title<div>2</div></h1><p>{ONE}</p></div><div id=bodyContent>{ARTICLE}{ARTICLE}</div>",
            f"The title\n2\n{BODY}\n{BODY}",
            id="a title before what holds the content",
        ),
        pytest.param(f"<h1><a href=/>The site</a></h1><main>{ARTICLE}</main>", BODY, id="a name of a site before it"),
        pytest.param(f"<h1>Site</h1><h1>Title</h1><main>{ARTICLE}</main>", BODY, id="two titles before it"),
        pytest.param(f"<h1>T<main>{ARTICLE}<p class=byline>By N</main>", BODY, id="a title that is never closed"),
        pytest.param(
            f"<main><div class=header><p>in <a href=p>java.util</a><h2>Class List</h2></div>{ARTICLE}</main>",
            f"Class List\n{BODY}",
            id="a title that is no h1",
        ),
        pytest.param(
            f"<main>{ARTICLE}<div class=toc><h2>All</h2>{LINKS}</div></main>", BODY, id="a heading behind them"
        ),
        pytest.param(
            f"<div><p><a href=a>scala</a>.<a href=b>lang</a></p><h1>A<br>class</h1><p><a href=c>all</a></div>{ARTICLE}",
            f"A\nclass\n{BODY}",
            id="a title among links",
        ),
        pytest.param(
            f"<h1><div><a href=c>Chapter 13</a></div>Hashtables</h1>{ARTICLE}",
            f"Chapter 13\nHashtables\n{BODY}",
            id="a part of a heading that is a link",
        ),
        # By what little of the page main holds
        pytest.param(
            f"<main><p>{ONE}</p>{LINKS * 60}</main>" + f"<h2>More</h2>{ARTICLE}" * 5,
            "\n".join([ONE, "One", "Two", *[f"More\n{BODY}"] * 5]),
            id="a main that ends too early",
        ),
        # What has no sentences
        pytest.param(
            "<h1>Index</h1><ul><li><a href=a>One thing</a><li><a href=b>Another</a></ul>",
            "Index\nOne thing\nAnother",
            id="an index",
        ),
        pytest.param("<table><tr><td>1<td>2<tr><td>3<td>4</table>", "1 2\n3 4", id="a table"),
        pytest.param(f"{ARTICLE}<table><tr><td><td><tr><td><td></table>", BODY, id="a table without a word"),
        pytest.param(
            f"<div class=header><h2>Class A</h2></div><h3>Use</h3>{ARTICLE}", f"Class A\nUse\n{BODY}", id="no h1"
        ),
        pytest.param(f"<div class=header><h2>Of</h2>{LINKS}</div><h3>Use</h3>{ARTICLE}", f"Use\n{BODY}", id="a menu's"),
    ],
)
def test_content(markup: str, expected: str) -> None:
    assert read(markup) == expected


@pytest.mark.parametrize(
    # of a section of prose
    "name",
    [
        "id=more-on-functions",
        "id=related-objects",
        "id=comments",
        "id=header-fields",
        "id=login-required",
        "id=tags",
        "id=search",
        "id=author",
        "id=menu",
        "id=modal",
        "class=section_header",
        "id=newsletter-1",
        "class='search widget'",
        "role=search",
        "class=cookies",
    ],
)
@pytest.mark.parametrize("heading", ["h1", "h2", "h3", "h4", "h5", "h6"])
def test_a_heading_with_sentences_under_it_outvotes_names(name: str, heading: str) -> None:
    section = f"<div {name}><{heading}>Its heading</{heading}><p>{ONE}</p></div>"
    assert read(f"<div>{ARTICLE}{section}{ARTICLE}</div>") == f"{BODY}\nIts heading\n{ONE}\n{BODY}"


@pytest.mark.parametrize(
    # what holds no sentence, whether it is kept
    ("part", "is_kept"),
    [
        pytest.param("<section id=header-fields><h2>Header fields</h2><dl><dt>A</dl></section>", True, id="a slug"),
        pytest.param("<section id=tags2><h2>Tags</h2>a, b</section>", True, id="a slug with a number"),
        pytest.param("<h2 id=search>Search</h2>", True, id="an anchor"),
        pytest.param("<section id=tags><b>Filed under</b> a, b</section>", False, id="no heading of that name"),
        pytest.param("<section id=x class=tags><h2>Tags</h2>a, b</section>", False, id="a class"),
        pytest.param("<div id=header><h1>The title</h1><p>name</div>", True, id="a title"),
        pytest.param("<div id=hd><h1><a href=/>The site</a></h1>x</div>", False, id="a title that leads elsewhere"),
        pytest.param(
            "<div><h2>See also</h2><a href=a>One</a>, <a href=b>Two</a></div>", True, id="links below a heading"
        ),
        pytest.param(f"<h2>See also</h2>{LINKS}", True, id="a list below a heading"),
        pytest.param("<section id=a-b-c><h2><a href=b>A B C</a></h2><p>Is <a href=a>A B</a> of", True, id="its name"),
        pytest.param(f"<p>{ONE}</p>{LINKS}", True, id="a list below a sentence"),
        pytest.param(f"<p>There are:</p>{LINKS}", True, id="a list below a colon"),
        pytest.param(f"<p>There are</p>{LINKS}", False, id="a list below nothing like it"),
        pytest.param(f"<div><p>{ONE}</p></div><div>{LINKS}</div>", False, id="a list elsewhere"),
        pytest.param(f"<ul><li>{ONE}<li><a href=a>Only a link</a></ul>", True, id="an item of a list that is kept"),
        pytest.param(
            "<table><tr><th>A<th>B<tr><td><a href=a>One link</a><td>v</table>", True, id="a table with a header"
        ),
        pytest.param("<table><tr><td>0<td><a href=a>One link here</a></table>", False, id="a table of links"),
        pytest.param(
            "<div class=table><p class=title>Table 1<table><tr><th>A<th>B<tr><td>v<td><a href=a>Only a link here</a>"
            "<tr><td>w<td><a href=b>Another link is here</a><tr><td>x<td><a href=c>And one more</a></table></div>",
            True,
            id="a table of links with a header, and its title",
        ),
        pytest.param(
            "<div id=module-header><table><tr><th>License<td>BSD3<tr><th>Portability<td>portable</table><p>A.B</div>",
            True,
            id="a table of data that is named a header",
        ),
        pytest.param(
            f"<div class=navbox><table><tr><th>Topics<td>{LINKS}</table></div>", False, id="a table of links with one"
        ),
        pytest.param(
            f"<p>{ONE}</p><div><table>"
            + "".join(f"<tr><td><a href={n}>A library that has a name, {n}</a><td>MIT" for n in "abc")
            + "</table></div>",
            True,
            id="a table of titles below a sentence",
        ),
        pytest.param(f"<ul><li>{ONE}<li>Are <ul><li><a href=a>is::OF</a> if</ul></ul>", True, id="a list in an item"),
        pytest.param(
            "<h3>See also</h3><table><tr><td><div><a href=a>isgreater</a></div><td>checks if it is<tr><td colspan=2>"
            "<a href=b>Documentation for it</a></table>",
            True,
            id="a row of a link and what it is, below a heading",
        ),
        pytest.param(
            f"<p>{ONE}</p><div><table>{'<tr><td>atom<td><a href=a>OtpErlangAtom</a>' * 4}</table><p>Types</p></div>",
            True,
            id="a table of links below a sentence, and its caption",
        ),
        pytest.param(
            "<aside class=topic><p>Try:<ul><li>See <a href=a>a plot</a> of it</ul></aside>", True, id="a topic"
        ),
        pytest.param("<aside class=topic><b>All:</b><ul><li><a href=a>A plot</a></ul></aside>", False, id="topics"),
        pytest.param("<p>:: <a href=a>Verbosity</a>", True, id="a type alone"),
        pytest.param(f"<a name=top><h2>Names</h2><ul><li>{ONE}</ul></a>", True, id="an anchor around everything"),
        pytest.param(
            "<div><pre>// <a href=a>the/header.h</a>\n<a href=b>type</a> <a href=c>name</a>;</pre></div>",
            True,
            id="code whose names are links",
        ),
        pytest.param(
            f"<div><a href=n>A::name of code</a><dl><dt>Values:<dd><table>{'<tr><td>FIRST<td>the one' * 3}</table>",
            True,
            id="a table of data, and its name",
        ),
        pytest.param(
            "<div class=caption>All of <a href=a>a.package</a></div><p>is here: one, two, three",
            True,
            id="a caption",
        ),
        pytest.param(
            "<div class=a-table><div class='table-header c'>Name</div><div class=b>a</div></div>",
            True,
            id="a head of one row",
        ),
        pytest.param(
            "<div><section><a href=s>src</a><br><a href=t>all</a><h4>a <a href=a>by</a>(<a href=b>Self</a>)</h4>"
            f"</section><p>{ONE}</div>",
            True,
            id="what wraps a heading of sentences",
        ),
        pytest.param("<h3 class=code-header>type Item = u8</h3>", True, id="a heading that is named a header"),
        pytest.param(
            "<div><a id=x.y></a><h2 class=title><a href='page.html#x.y' id=x.y>Own address</a></h2><p>short</div>",
            True,
            id="a heading that links to itself by its address",
        ),
        pytest.param(
            f"<div><p>{ONE}<div class=sidebar><p class=title>TIP<p>{ONE}<pre>ls</pre></div><p>{ONE}</div>",
            True,
            id="a sidebar among paragraphs",
        ),
        pytest.param(f"<div><div class=sidebar><div>{ONE}</div></div></div>", False, id="a sidebar beside"),
        pytest.param(
            "<div><div>Summary of all that there is</div><div class=grid><div class='c1 odd'>void</div>"
            "<div class='c2 odd'><a href=a>close</a>()</div><div class='c1 even'>a boolean value</div>"
            "<div class='c2 even'><a href=b>isOpen</a>()</div></div></div>",
            True,
            id="cells of a table that is none by its elements",
        ),
    ],
)
def test_evidence_is_weighed(part: str, is_kept: bool) -> None:
    wanted = BODY + "".join(grown(part).itertext()) if is_kept else BODY
    if not is_kept and "<p>" in part:
        wanted += text.fold(part.partition("<p>")[2].partition("</p>")[0])
    assert "".join(read(f"<div>{ARTICLE}</div><div>{part}</div>").split()) == "".join(wanted.split())


@pytest.mark.parametrize(
    # rows of a table of data, its lines
    ("rows", "lines"),
    [
        ("<tr><td><a href=a>Link</a><td>Value A<tr><td><a href=b>Other</a><td>Value B", "Link Value A|Other Value B"),
        ("<tr><th>x<th>y<tr><td class=author><a href=a>Link</a><td>a", "x y|Link a"),
        (
            "<tr><td class=meta>Name<td>value<tr><td>Key<td><ul><li><a href=a>L</a><li><a href=b>M</a></ul>",
            "Name value|Key|L|M",
        ),
        (
            "<tr><td><a href=a>Deflate</a><td>core<tr><td colspan=2>Packs<tr><td><a href=b>Else</a><td>core<tr><td>If",
            "Deflate core|Packs|Else core|If",
        ),
        (
            "<tr><td>Music<td>Streamed<tr style=display:none><td>Span<td>A range<tr hidden><td>Info<td>What",
            "Music Streamed|Span A range|Info What",
        ),
    ],
)
def test_a_kept_row_keeps_its_columns(rows: str, lines: str) -> None:
    assert read(f"{ARTICLE}<div><table>{rows}</table></div>") == BODY + "\n" + lines.replace("|", "\n")


@pytest.mark.parametrize(
    # a page, its text
    ("markup", "expected"),
    [
        pytest.param(f"<header class=rich-text>{ARTICLE}</header><p>x", BODY, id="an article in a header"),
        pytest.param(
            f"<main>{ARTICLE}<aside class=footnote role=doc-footnote><p>{ONE}</aside></main>",
            f"{BODY}\n{ONE}",
            id="a footnote",
        ),
        pytest.param(
            f"<main>{ARTICLE}<aside class='admonition tip'><p>{ONE}</aside></main>", f"{BODY}\n{ONE}", id="a tip"
        ),
        pytest.param(f"<main>{ARTICLE}<aside class=related><p>{ONE}</aside></main>", BODY, id="beside the article"),
        pytest.param(
            f"<title>FAQ - Handbook</title>{ARTICLE}<div><h2><a href=faq.html>FAQ</a></h2></div>",
            f"{BODY}\nFAQ",
            id="the page's title, linked",
        ),
        pytest.param(f"<nav><div>x</nav><main>{ARTICLE}</main>", BODY, id="main in an open nav"),
        pytest.param(f"<nav>{LINKS}<article>{ARTICLE}</article></nav>", BODY, id="an article in nav"),
        pytest.param(f"<header><p>{ONE}</header>{ARTICLE}", BODY, id="a sentence in a header"),
        pytest.param(
            f"<article><header><h1>T</h1><p class=x>by</p></header>{ARTICLE}</article>", f"T\n{BODY}", id="a title"
        ),
        pytest.param(f"<header><h1>T</h1></header>{ARTICLE}", f"T\n{BODY}", id="the only title"),
        pytest.param(f"<header><h1><a href=/>T</a></h1></header>{ARTICLE}", BODY, id="the site's title"),
        pytest.param(f"<nav><h1>T</h1></nav>{ARTICLE}", BODY, id="a menu's title"),
        pytest.param(
            f"<section id=main><header><h1>T</h1></header>{ARTICLE}</section>", f"T\n{BODY}", id="a title in #main"
        ),
        pytest.param(f"<div id=app></div><noscript>{MENU}<div>{ARTICLE}</div></noscript>", BODY, id="noscript"),
        pytest.param(f"{ARTICLE}<noscript>{ARTICLE}</noscript>", BODY, id="noscript beside the page"),
        pytest.param("<noscript>Please enable JavaScript</noscript>", "", id="a request"),
        pytest.param(f"<p>x<div hidden id=S:1>{ARTICLE}</div>", f"x\n{BODY}", id="hidden, to be moved by a script"),
        pytest.param(f"{ARTICLE}<div style='display:none' class=tab-pane>{ONE}</div>", f"{BODY}\n{ONE}", id="a panel"),
        pytest.param(f"{ARTICLE}<div style='display:none' class=popup>{ONE}</div>", BODY, id="hidden"),
        pytest.param("<p>a <span hidden>x</span>b", "a b", id="hidden within a line"),
        pytest.param(
            "<main><h1>All</h1>" + "".join(f"<div><h3><a href={n}>Thing {n}</a></h3>{n} EUR</div>" for n in range(9)),
            "All\n" + "\n".join(f"Thing {n}\n{n} EUR" for n in range(9)),
            id="a list of things",
        ),
    ],
)
def test_landmarks_and_what_is_not_shown(markup: str, expected: str) -> None:
    assert read(markup) == expected


@pytest.mark.parametrize(
    "part",
    [
        "<article>",
        "<article><p>x</p></article>",
        "<div class=a{0}><main>",
        "<div class='{0} related'>x</div>",
        "<a href=x>",
        "</a>",
        "<td>x",
        "<li><a href=x>y</a>",
        "\x80",
        "\x80(div \x81",
        "\x82x\x83",
    ],
)
def test_any_number_of_anything_is_read(part: str) -> None:
    markup = "<div>" * 200 + "".join(part.format(n) for n in range(30_000))
    assert len(read(f"<p>word</p>{markup}")) <= text.MAX_TEXT_CHARS
