"""What of a page is its text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from app.parse.html import text, tree

POSTGRES = """<html><body><div class="navheader"><table><tr><th colspan="5">TRUNCATE</th></tr><tr><td><a href=a>Prev</a>
</td><td><a href=b>Up</a></td></tr></table><hr></div><div class="refentry"><h2>TRUNCATE</h2><p>TRUNCATE — empty
 a table</p></div><div class="navfooter"><hr><table><tr><td>Next</td></tr></table></div></body></html>"""
SPHINX = """<html><body><div class="related" role="navigation"><h3>Navigation</h3></div><div class="document"><div class="body"
role="main"><h1>abs<a class="headerlink" href="#abs">¶</a></h1><p>Return the <em>abso</em>lute value.</p></div></div>
<div class="sphinxsidebar" role="navigation"><p>Table of contents</p></div><div class="footer">© 2026</div></body></html>"""
DJANGO = """<html><body><div id="hd"><a href=x>Django</a></div><div id="bd"><div id="yui-main"><h1>Release notes</h1><p>Fixes.</p>
</div><div class="yui-b" id="sidebar"><h3>More</h3></div></div><div id="ft"><div class="nav">previous</div></div></body></html>"""
SQLITE = """<html><body><div class=nosearch><div class="menu mainmenu"><ul><li>Home<li>About</ul></div></div>
<h2>Changes</h2><ol><li>Added <b>-></b> operators<li>Fixed</ol></body></html>"""


def read(markup: str) -> str:
    root = tree.grow(markup.encode())
    assert root is not None
    return text.main_text(root, text.hidden_roots(root))


@pytest.mark.parametrize(
    # markup, text
    ("markup", "expected"),
    [
        pytest.param(POSTGRES, "TRUNCATE\nTRUNCATE — empty a table", id="Postgres manual"),
        pytest.param(SPHINX, "abs\nReturn the absolute value.", id="Sphinx manual"),
        pytest.param(DJANGO, "Release notes\nFixes.", id="Django manual"),
        pytest.param(SQLITE, "Changes\nAdded -> operators\nFixed", id="SQLite manual"),
        pytest.param("<p>a</p>b<div>c<br>d</div>", "a\nb\nc\nd", id="blocks break lines"),
        pytest.param("a <b>b</b><i>c</i>\n\n d\u00a0\t e", "a bc d e", id="inline text is joined, white space folded"),
        pytest.param("<table><tr><td>a<td>b<tr><td>c</table>", "a b\nc", id="cells are words, rows lines"),
        pytest.param("<pre>a\n  b \n\nc\n</pre>d", "a\n  b\n\nc\nd", id="lines of pre are kept"),
        pytest.param("<table><tr><td><pre>1\n2</pre><td><pre>a\n b</pre></table>", "a\n b", id="without their numbers"),
        pytest.param("<h2>T<a href=#t>¶</a></h2><p>a # b<a href=x> § </a>", "T\na # b", id="permalinks are gone"),
        pytest.param(
            '<?xml version="1.0"?>\n<!-- a --><!DOCTYPE html [\n<!ENTITY nbsp "&#xA0;">\n]>\n<p>a ]>',
            "a ]>",
            id="declarations of a document type",
        ),
        pytest.param(
            "<p>a<ol><li><b><a href=#r1>↑</a></b> A book<li>B book <a href=#r2>↩\ufe0e</a></ol><p>press ↑",
            "a\nA book\nB book\npress ↑",
            id="arrows that lead back from a note",
        ),
        pytest.param(
            "<h2>Ports<span class=mw-editsection><span>[</span><a href=/w?action=edit&amp;section=1>Bearbeiten</a>"
            " | <a href=/q>Quelltext</a><span>]</span></span></h2><p>a",
            "Ports\na",
            id="links to edit a section, in its heading",
        ),
        pytest.param(
            "<div><h2>Ports</h2><span class=mw-editsection>[<a href=/w?action=edit>edit</a>]</span></div><p>a"
            "<h3>Ships<a class='edit-link' href=/e>Edit</a></h3><p>b",
            "Ports\na\nShips\nb",
            id="links to edit a section, behind its heading",
        ),
        pytest.param(
            "<h2><span class=edit><a href=/h>History</a></span></h2><p>a<h2>Editions</h2><a class=editions href=/x>all"
            "</a><h2>How to edit</h2><span class=edit>Press it.</span>",
            "History\na\nEditions\nall\nHow to edit\nPress it.",
            id="no links to edit a section",
        ),
        pytest.param(
            f"<h2>T</h2><span class=edit><a href=/e>{'word ' * 41}</a></span><h2>U<span class=edit>"
            f"{'<b>a</b>' * 20}<a href=/e>b</a></span></h2>",
            f"T\n{('word ' * 41).strip()}\nU{'a' * 20}b",
            id="nor what is more than a link to do so",
        ),
        pytest.param(
            "<main><h1>T</h1><a class=mw-jump-link href=#n>Jump to navigation</a><a class=skip-link href=#m>Skip</a>"
            "<p>a <a class=skip href=/next>b</a>",
            "T\na b",
            id="links past the navigation",
        ),
        pytest.param(
            "<p>a <math><mi>x</mi><annotation encoding=application/x-tex>x_1</annotation></math> b",
            "a $x_1$ b",
            id="TeX",
        ),
        pytest.param(
            "<p>a <span><span style='display:none'><math alttext='x_2'></math></span><img aria-hidden=true></span> b",
            "a $x_2$ b",
            id="a formula hidden beside its picture",
        ),
        pytest.param("<p>a <math><mi>x</mi> <mo>+</mo></math>", "a x +", id="a formula without TeX"),
        pytest.param("<p>a <math alttext='x\1y'></math>\1b", "a $x y$ b", id="characters that no XML has in a formula"),
        pytest.param(
            "a<script>x</script><style>y</style><noscript>z</noscript><template>t</template>b", "ab", id="unread"
        ),
        pytest.param("<nav>n</nav><header>h</header><aside>s</aside><p>p</p><footer>f</footer>", "p", id="boilerplate"),
        pytest.param("<div role=search>n</div><p>p</p><ul role=navigation><li>l</ul>", "p", id="boilerplate by role"),
        pytest.param("<form>q <select><option>1</select></form><p>p</p>", "p", id="a form"),
        pytest.param("<form><h1>T</h1><p>p</p></form><p>q</p>", "T\np\nq", id="a form that is the page"),
        pytest.param("<p>p</p><div hidden>x</div><p style='DISPLAY : None'>y</p>", "p", id="hidden"),
        pytest.param("<nav>only <b>this</b></nav>", "only this", id="nothing but boilerplate is text still"),
        pytest.param("<div hidden>only this</div>", "only this", id="nothing but hidden text is text still"),
        pytest.param("<p>around</p><main>main</main>", "main", id="main"),
        pytest.param("<p>around</p><article>one</article>", "one", id="one article"),
        pytest.param("<article>one</article><article>two</article>", "one\ntwo", id="two articles: the body"),
        pytest.param("<main>m</main><article>one</article>", "m", id="main before article"),
        pytest.param(f"<p>{'long ' * 50}</p><main>m</main>", "long " * 50 + "\nm", id="main without a fair share"),
        pytest.param("<p>p</p><main></main>", "p", id="empty main"),
        pytest.param("<div class='sidebar'><h1>T</h1>x</div>", "T\nx", id="a wrapper with a heading is content"),
        pytest.param("<body class=nav>x", "x", id="the body itself is never boilerplate"),
        pytest.param("<svg><title>i</title><text>t</text></svg>p", "p", id="pictures"),
        pytest.param("<script>x</script>", "", id="no text at all"),
        pytest.param("<html><head><title>t</title></head><frameset><frame src=x></frameset>", "", id="frames"),
        pytest.param("a\x8db\x81c\x8fd\x90e\x9df", "a\nb\x81c\ndef", id="our own mark in a page does no harm"),
        pytest.param("a<br>p b<br>td", "a\np b\ntd", id="a line that begins like a block"),
    ],
)
def test_main_text(markup: str, expected: str) -> None:
    assert read(markup) == expected.replace(" \n", "\n")


def test_ours_text_is_cut() -> None:
    assert len(read("<p>" + "x" * 300_000)) == text.MAX_TEXT_CHARS


def test_deep_nesting_is_walked_without_recursion_limits() -> None:
    assert read("<div>" * 250 + "deep").endswith("deep")


def test_hidden_roots_are_in_document_order_by_style_then_by_attribute() -> None:
    root = tree.grow(
        b"<p hidden><i style='visibility:hidden'>x</i></p><b style='color:red'>y</b><u style=display:none>z"
    )
    assert [e.tag for e in text.hidden_roots(root)] == ["i", "u", "p"]


@pytest.mark.parametrize(
    ("markup", "hidden"),
    [
        ("<p hidden>x</p>", ["p"]),
        ("<p\nHIDDEN=''>x</p>", ["p"]),
        ("<p STYLE\n= 'Display : None'>x</p>", ["p"]),
        ("<p style=d&#105;splay:none>x</p>", ["p"]),
        ("<p style=&#x76;isibility&colon;hidden>x</p>", ["p"]),
        ("<p class=style>display:none</p>", []),
        ("<style>p { visibility: hidden }</style><p style=color:red>x</p>", []),
        ("<p>x</p>", []),
    ],
)
def test_an_element_is_hidden_however_its_attribute_is_written(markup: str, hidden: list[str]) -> None:
    root = tree.grow(markup.encode())
    assert root is not None
    assert [e.tag for e in text.hidden_roots(root)] == hidden
    assert text.may_hide(markup.encode()) or not hidden


@pytest.mark.parametrize(
    ("markup", "may"),  # whether the tree is looked through
    [
        ('<link rel="stylesheet"><h1 STYLE = "clear: both">none</h1>', False),
        ('<h1 style="clear: both"><p style="display: NONE">x</p>', True),
        ('<p title="style=" style="display:none">x</p>', True),
        ("<p style=''>x</p>", True),  # a value in other quotes is not looked at,
        ('<p style="display: n&#111;ne">x</p>', True),  # nor one with references,
        (f'<p style="{200 * " "};display:none">x</p>', True),  # nor a long one
        ("<p HIDDEN>x</p>", True),
        ("<p>x</p>", False),
    ],
)
def test_a_tree_is_looked_through_where_its_markup_may_hide(markup: str, may: bool) -> None:
    assert text.may_hide(markup.encode()) == may


TAGS = st.sampled_from(
    [
        "main",
        "nav",
        "div",
        "p",
        "form",
        "article",
        "header",
        "table",
        "td",
        "b",
        "script",
        "body",
        "html",
        "h1",
        "span",
        "ul",
    ]
)


@given(st.lists(st.tuples(TAGS, st.booleans(), st.sampled_from(["", "x", " y\n"])), max_size=12))
def test_a_page_with_text_is_never_empty(parts: list[tuple[str, bool, str]]) -> None:
    markup = "".join(f"<{'/' * closing}{tag}>{words}" for tag, closing, words in parts)
    root = tree.grow(b"<body>" + markup.encode())
    if root is None:
        return
    for unreadable in list(root.iter("script")):
        unreadable.clear(keep_tail=True)
    has_text = bool(etree.tostring(root, method="text", encoding="unicode").strip())
    assert bool(read("<body>" + markup)) == has_text


@pytest.mark.parametrize("mode", ["open", "closed", "OPEN"])
def test_a_declarative_shadow_root_is_a_part_of_its_page(mode: str) -> None:
    markup = f"<x-app><template shadowrootmode={mode}><h1>A boat</h1><p>It sails.</p><slot></slot></template><p>Light.</x-app>"
    assert read(markup) == "A boat\nIt sails.\nLight."


@pytest.mark.parametrize("attribute", ["", "shadowrootmode=no", "id=x"])
def test_any_other_template_is_for_scripts(attribute: str) -> None:
    assert read(f"<div><template {attribute}><p>For a script.</p></template><p>Text.</p></div>") == "Text."


SENTENCE = "The harvester gathers samples of grain from twelve silos, and writes them to a ledger. "
MATHJAX = "<script src=https://cdn.test/npm/mathjax@3/es5/tex-mml-chtml.js></script>"


@pytest.mark.parametrize(
    # markup, text: as generators of sites write them
    ("markup", "expected"),
    [
        pytest.param(
            f"<main><p>{SENTENCE * 4}<div class=codeContent_t_Hd><p>Short.</div></main>",
            f"{SENTENCE * 4}\nShort.",
            id="a class with a suffix that makes it the only one",
        ),
        pytest.param(
            f"<main><p>{SENTENCE * 4}<div class=code-toolbar><pre>ls -l</pre></div></main>",
            f"{SENTENCE * 4}\nls -l",
            id="code in what is named for its buttons",
        ),
        pytest.param(
            "<div role=main class=main><h1>Reset</h1><p>Resets it.<pre>silo reset north --yes</pre></div>"
            f"<h3>Help</h3>{SENTENCE}",
            "Reset\nResets it.\nsilo reset north --yes",
            id="a short page's only sentence stands below it",
        ),
        pytest.param(
            "<main><h1>Silo</h1><h3>open</h3><div class=tsd-comment>Opens it.</div><h4>Returns</h4><i>a silo</i>"
            "<div class=tsd-comment><pre>open()</pre></div><h3>name</h3><div class=tsd-comment>Its name.</div></main>",
            "Silo\nopen\nOpens it.\nReturns\na silo\nopen()\nname\nIts name.",
            id="comments of code",
        ),
        pytest.param(
            f"<main><p>{SENTENCE}</p><h3>Two</h3><div class=a-comment>One.</div><div class=a-comment>Two.</div></main>",
            f"{SENTENCE}\nTwo",
            id="comments of readers",
        ),
        pytest.param("<h2>T<a href=#t>\uf0c1</a></h2><p>a", "T\na", id="a sign of a font of icons"),
        pytest.param(
            f"<p>{SENTENCE}</p><aside class=sidebar><p class=sidebar-title>Rye<p>{SENTENCE}</aside><p>{SENTENCE}",
            f"{SENTENCE}\nRye\n{SENTENCE}\n{SENTENCE}",
            id="a sidebar of a text",
        ),
        pytest.param(
            f"<main><p>{SENTENCE}<p>{SENTENCE}</p></main><aside class=sidebar><p>{SENTENCE}</aside>",
            f"{SENTENCE}\n{SENTENCE}",
            id="a sidebar beside a text",
        ),
        pytest.param(
            "<label>Linux</label><label>mac<b>OS</b></label>: <label>x</label>y", "Linux macOS: xy", id="tabs' labels"
        ),
        pytest.param(
            rf"{MATHJAX}<p>a <span class=math>\(x_1 &lt; 2\)</span> b<div class='math notranslate'>" + "\n"
            r"\[ \frac{1}{2} \]</div><p><code>\(c\)</code> <span class=math>\(c\) d</span>",
            "a $x_1 < 2$ b\n$$\\frac{1}{2}$$\n\\(c\\) \\(c\\) d",
            id="formulas that a script draws",
        ),
        pytest.param(
            rf"{MATHJAX}<div class=math><span class=eqno>(1)<a href=#e>#</a></span>\[e\]</div>",
            "(1)$$e$$",
            id="numbered",
        ),
        pytest.param(r"<p>a <span class=math>\(x\)</span>", r"a \(x\)", id="what no script draws"),
        pytest.param(
            "<p>a <script type=math/tex>x_1</script> b<p><script type='math/tex; mode=display'>x<2</script>",
            "a $x_1$ b\n$$x<2$$",
            id="formulas in scripts",
        ),
        pytest.param(
            "<p>a <span class=MathJax>x1</span><script type=math/tex>x_1</script> b", "a $x_1$ b", id="drawn already"
        ),
        pytest.param(
            "<div><pre>a\nb</pre><div aria-hidden=true><span>1</span><br><span>2</span></div></div><pre>c</pre><p>3",
            "a\nb\nc\n3",
            id="numbers of lines beside their code",
        ),
        pytest.param(
            "<pre><span></span><span id=l-1><a href=#l-1><span class=linenos>1</span></a>a = 1\n</span>"
            "<span class=linenos>2</span>b = <i class=ln>x</i></pre>",
            "a = 1\nb = x",
            id="numbers of lines within their code",
        ),
        pytest.param("<pre>a b c d e f<i class=ln>7</i></pre>", "a b c d e f", id="of one line"),
        pytest.param(
            f"<div><h1>T</h1><p>{SENTENCE} {SENTENCE}<p>{SENTENCE}</div><div id=comments class=comments-area>"
            f"<h2>2 comments</h2><ol class=comment-list><li class=comment><p>{SENTENCE}<li class=comment><p>{SENTENCE}"
            "</ol><div id=respond><h2>Leave a comment</h2></div></div>",
            f"T\n{SENTENCE}{SENTENCE}\n{SENTENCE.strip()}",
            id="headings of comments go with these",
        ),
        pytest.param(
            f"<main><p>{SENTENCE}<p>{SENTENCE}<div id=stat-subscription><h2>stat_subscription</h2>"
            f"<div class=table id=STAT-SUBSCRIPTION>"
            f"<p class=title>Table 2. stat_subscription<table><tr><th>Column<tr><td>{SENTENCE}</table></div></div></main>",
            f"{SENTENCE}\n{SENTENCE}\nstat_subscription\nTable 2. stat_subscription\nColumn\n{SENTENCE.strip()}",
            id="a table whose id is its title (PostgreSQL)",
        ),
        pytest.param(
            "<main>"
            + "".join(
                f"<article><header class=entry-header><h2 class=entry-title><a href=/{n}>Number {n}</a></h2></header>"
                f"<div class=entry-content><p>{SENTENCE}</div></article>"
                for n in (1, 2)
            )
            + "</main>",
            f"Number 1\n{SENTENCE}\nNumber 2\n{SENTENCE.strip()}",
            id="titles of entries that lead to these",
        ),
        pytest.param(
            f"<header id=title-block-header><h1 class=title>Silos</h1><p class=author>Ada</header><p>{SENTENCE}",
            f"Silos\n{SENTENCE}",
            id="a title in a header, and no main part",
        ),
        pytest.param(
            f"<header><h1>Module Silo</h1><p>{SENTENCE}</header><div><h2>open</h2><p>{SENTENCE}</div>",
            f"Module Silo\n{SENTENCE}\nopen\n{SENTENCE}",
            id="a preamble in a header",
        ),
        pytest.param(
            f"<header><h1><a href=/>The Silo</a></h1><p>{SENTENCE}</header><div><h2>open</h2><p>{SENTENCE}</div>",
            f"open\n{SENTENCE}",
            id="a site's name and motto in a header",
        ),
        pytest.param(
            f"<main><p>{SENTENCE * 4}<div class=tags><p class=tag_title>Parameters:<ul><li>silo (<a href=s>Silo</a>) — "
            "where it is taken from<li>all (Boolean) — whether all of it is</ul><p class=tag_title>Examples:"
            "<pre>take(north)</pre></div></main>",
            f"{SENTENCE * 4}\nParameters:\nsilo (Silo) — where it is taken from\nall (Boolean) — whether all of it is\n"
            "Examples:\ntake(north)",
            id="tags of code",
        ),
        pytest.param(
            f"<main><p>{SENTENCE * 4}<ul class=at-tags><li>since 2.02</ul></main>",
            f"{SENTENCE * 4}\nsince 2.02",
            id="at",
        ),
        pytest.param(
            f"<main><p>{SENTENCE * 4}<div class=tags>Grain: {'<a href=a>a silo of grain</a>, ' * 9}</div></main>",
            SENTENCE * 4,
            id="tags of an article",
        ),
        pytest.param(
            f"<main><p>{SENTENCE * 4}<div class=card><div class=card-header><h4>Free</h4></div>10 silos</div></main>",
            f"{SENTENCE * 4}\nFree\n10 silos",
            id="a heading of a card",
        ),
    ],
)
def test_what_generators_of_sites_write(markup: str, expected: str) -> None:
    assert read(markup) == expected.replace(" \n", "\n").strip()
