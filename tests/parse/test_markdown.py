"""A page's content as Markdown."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.parse import markdown
from tests.examples import examples

URL = "https://site.test/docs/page"
TEX = "<annotation encoding=application/x-tex>e^{i\\pi}_1*2</annotation>"
PROSE = "This sentence is long enough to be read as one by whoever counts the letters in it. " * 4


@pytest.mark.parametrize(
    # markup, Markdown
    ("markup", "expected"),
    [
        pytest.param("<h1>A</h1><h3>B</h3><p>c</p>", "# A\n\n### B\n\nc", id="headings"),
        pytest.param(
            "<details open><summary><section><h4>fn a()</h4></section></summary><p>b</details>",
            "#### fn a()\n\nb",
            id="a heading in a summary",
        ),
        pytest.param(
            "<h3>Description <a href=http://e.test/edit title=Edit><span></span></a></h3><p>b",
            "### Description\n\nb",
            id="a sign beside a heading",
        ),
        pytest.param(
            "<ul><li><p>one\n \n two</p><p>b</ul>",
            "- one\n  two\n\n  b",
            id="an empty line, which is no paragraph's end",
        ),
        pytest.param(
            "<ol><li>a <code><pre>b\n\nc</pre></code></ol>", "1. a\n\n   ```\n   b\n\n   c\n   ```", id="code in code"
        ),
        pytest.param(
            "<blockquote>a</blockquote><blockquote><p>b</blockquote><ul><li>c<blockquote>d</blockquote> "
            "<blockquote>e</blockquote></ul><p>x<blockquote><blockquote>f</blockquote><blockquote>g</blockquote></blockquote>",
            "> a\n\n> b\n\n- c\n  > d\n\n  > e\n\nx\n> > f\n>\n> > g",
            id="quotes after each other",
        ),
        pytest.param(
            "<p>f(<em><abbr title='Keyword-only separator'>*</abbr></em>, <em>b</em>), an <abbr title=b>A</abbr>",
            "f(*\\**, *b*), an A",
            id="what an abbreviation stands for is not shown, and a star alone is one",
        ),
        pytest.param(
            "<div class='language-py highlight'><table><tr><td><div><pre>1</pre></div></td><td><div><pre>a = 1</pre>"
            "</div></table></div>",
            "```py\na = 1\n```",
            id="a language named around a table of code",
        ),
        pytest.param(
            "<a href=http://e.test/edit title=Edit><svg></svg></a> <a href=view><i></i></a><h1>T</h1>"
            "<p>a <a href=x title=b></a>",
            '# T\n\na [b](https://site.test/docs/x "b")',
            id="signs before a heading",
        ),
        pytest.param("<details><summary>More</summary><p>b</details>", "**More**\n\nb", id="a summary"),
        pytest.param("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c", id="lists that nest"),
        pytest.param(
            "<form action=x><input type=hidden value=y><h2>A</h2><p>b <a href=x>c</a></p></form>",
            "## A\n\nb [c](https://site.test/docs/x)",
            id="a page in a form",
        ),
        pytest.param("<ol><li>a<li>b</ol>", "1. a\n2. b", id="numbered lists"),
        pytest.param(
            "<table><tr><th>a<th>b|c<tr><td>1<td>2</table>", "| a | b\\|c |\n| --- | --- |\n| 1 | 2 |", id="tables"
        ),
        pytest.param(
            "<pre><code class=language-py>def f():\n    pass\n</code></pre>",
            "```py\ndef f():\n    pass\n```",
            id="code keeps its lines",
        ),
        pytest.param(
            "<pre><pre class=playground><code class='language-rust'>fn main() {}\n</code></pre></pre>",
            "```rust\nfn main() {}\n```",
            id="code in code, as mdBook writes it",
        ),
        pytest.param("<p>impl !<a href=x>Send</a>!", "impl \\![Send](https://site.test/docs/x)!", id="no picture"),
        pytest.param("<p>List&lt;<i>T</i>&gt; *<i>p</i> [x]<b>(y)</b>", "List\\<*T*> \\**p* [x\\]**(y)**", id="no tag"),
        pytest.param(
            "<table><tr><td>a <a href=x>x</a><td><a href=y>y</a><td> <tr><td>b<td><a href=z>z</a><td> </table>",
            "| a [x](https://site.test/docs/x) | [y](https://site.test/docs/y) |  |\n| --- | --- | --- |\n"
            "| b | [z](https://site.test/docs/z) |  |",
            id="a table of links without a header",
        ),
        pytest.param(
            "<table><tr><td>an <a href=x>x</a><td>a <a href=y>y</a> or <a href=z>z</a></table>",
            "| an [x](https://site.test/docs/x) | a [y](https://site.test/docs/y) or [z](https://site.test/docs/z) |\n"
            "| --- | --- |",
            id="one row",
        ),
        pytest.param(
            "<p>a <a href='javascript:b()'>b</a> <a href='&#1;Java&#9;Script:c()'>c</a> "
            "<a href='data:text/html,d'>d</a> <a href=javascript-guide>e</a>",
            "a b c d [e](https://site.test/docs/javascript-guide)",
            id="no link runs where the Markdown is shown",
        ),
        pytest.param("<p>a <code>b*c</code> <b>d</b></p>", "a `b*c` **d**", id="words within a line"),
        pytest.param("<p>see <a href=x>x</a>", "see [x](https://site.test/docs/x)", id="links are absolute"),
        pytest.param("<base href=/b/><p>an <a href=x>x</a>", "an [x](https://site.test/b/x)", id="by the base"),
        pytest.param("<p>an <a href='http://['>x</a>", "an [x](http://[)", id="no URL is left as it stands"),
        pytest.param("<h2>T<a href=#t>¶</a></h2><p>p", "## T\n\np", id="a heading's link to itself"),
        pytest.param("<p>a<img src=i.png alt=i>", "a![i](https://site.test/docs/i.png)", id="a picture with words"),
        pytest.param("<p>a<img src=i.png><img src=data:x alt=i>b", "ab", id="pictures without"),
        pytest.param("<nav>n</nav><p>p</p><script>s</script><p hidden>h", "p", id="boilerplate is left out"),
        pytest.param(f"<div>x</div><main><p>{PROSE}</main>", PROSE.strip(), id="the content's element alone"),
        pytest.param(
            f"<p>b</p><header><div><h1>T</h1>x</div><p class=author>Ada</header>y<p>{PROSE}",
            f"b\n\n# T\n\ny\n\n{PROSE.strip()}",
            id="the title in a header that is left out",
        ),
        # Exponents, indices, formulas
        pytest.param("<p>x<sup>2</sup> H<sub>2</sub>O", "x² H₂O", id="characters for exponents and indices"),
        pytest.param("<p>1<sup>st</sup> a<sub>ij</sub>", "1<sup>st</sup> a<sub>ij</sub>", id="tags for those without"),
        pytest.param("<p>a<sup><a href=#fn1>1</a></sup>", "a[1](#fn1)", id="a footnote"),
        pytest.param(
            f"<p>a <math><mi>e</mi>{TEX}</math> b", "a $e^{i\\pi}_1*2$ b", id="TeX of a formula, as it stands"
        ),
        pytest.param(
            f"<p>a <span><span><math><mi>e</mi>{TEX}</math></span><span aria-hidden=true>e</span></span>",
            "a $e^{i\\pi}_1*2$",
            id="KaTeX",
        ),
        pytest.param(f"<p>a<math display=block>{TEX}</math>", "a$$e^{i\\pi}_1*2$$", id="a formula of its own"),
        # Definitions
        pytest.param("<dl><dt>a<dd>b<dd><p>c<p>d</dl>", "a\n: b\n: c\n\nd", id="definitions"),
        pytest.param("<dl><dt>a<dd><pre>x</pre></dl>", "a\n\n```\nx\n```", id="code that defines"),
        pytest.param("<blockquote><dl><dt>a<dd><a href=#x>b</a></dl>", "> a\n> : [b](#x)", id="definitions in a quote"),
        # Code
        pytest.param(
            "<div class='highlight-python notranslate'><div class=highlight><pre>x <a href=y>z</a>\n</pre></div></div>",
            "```python\nx z\n```",
            id="the language of what is around, and no links",
        ),
        pytest.param("<div class=highlight-default><pre>x</pre></div>", "```\nx\n```", id="a language that is none"),
        pytest.param("<pre class='sourceCode haskell'>x</pre>", "```haskell\nx\n```", id="Pandoc"),
        pytest.param("<pre class='rust rust-example'><code>x</code></pre>", "```rust\nx\n```", id="rustdoc"),
        pytest.param("<pre data-lang=go>x</pre>", "```go\nx\n```", id="an attribute"),
        pytest.param(
            "<table class=x><tr><td class=gutter><pre>1\n2</pre><td><div><pre>a\n b</pre></div></table>",
            "```\na\n b\n```",
            id="a column of numbers",
        ),
        pytest.param(
            "<pre><span class=ln>1</span>a\n<i class=lineno>2</i>b</pre>", "```\na\nb\n```", id="numbers within"
        ),
        pytest.param("<pre><span>a</span><br><span>b</span></pre>", "```\na\nb\n```", id="lines by elements"),
        pytest.param("<pre><div>a</div><div>b</div></pre>", "```\na\nb\n```", id="lines as blocks"),
        # Links and pictures
        pytest.param("<p>a <a href=#x>b</a> <a href=page#y>c</a>", "a [b](#x) [c](#y)", id="links within the page"),
        pytest.param("<p>a <a href=other#y>c</a>", "a [c](https://site.test/docs/other#y)", id="and to another"),
        pytest.param("<h2><a href=#t>T</a></h2><p>p", "## T\n\np", id="a heading that links to itself"),
        pytest.param(
            "<p>a<img src=data:x data-src=i.png alt=i>",
            "a![i](https://site.test/docs/i.png)",
            id="a picture loaded late",
        ),
        pytest.param(
            "<p>a<img data-srcset='i.png 1x, j.png 2x' alt=i>", "a![i](https://site.test/docs/i.png)", id="by its set"
        ),
        pytest.param(
            "<iframe src=https://a.test/x title=Film></iframe>b", "[Film](https://a.test/x)\n\nb", id="a frame"
        ),
        pytest.param("<iframe src=https://a.test/x width=0></iframe>b", "b", id="a frame of no size"),
        pytest.param(
            "<video><source src=v.webm></video>b",
            "[video: https://site.test/docs/v.webm](https://site.test/docs/v.webm)\n\nb",
            id="a film",
        ),
        # Notes
        pytest.param(
            "<div class='admonition tip'><p class=admonition-title>Tip</p><p>a</p></div>",
            "> **Tip**\n>\n> a",
            id="a note",
        ),
        pytest.param(
            "<div class=note><h3 class=title>Tip</h3><p>a</p></div>", "### Tip\n\na", id="titled by a heading"
        ),
        # Code in a sentence of a list, whose marks a line must have that begins with code
        pytest.param(
            "<ul><li>a<br><code>b</code> c<p>d</ul>", "- a  \n  `b` c\n\n  d", id="a line that begins with code"
        ),
        pytest.param(
            "<ul><li>a <code>b<br>c</code> d<p>e</ul>", "- a `b`  \n  `c` d\n\n  e", id="a line break in code"
        ),
        pytest.param(
            "<ul><li><code>a <i>b</i>\n\n<i>c</i></code> d<p>e</ul>", "- `a b c` d\n\n  e", id="code of several lines"
        ),
        pytest.param(
            f"<code>{'<div>' * 5}<pre>a\nb</pre>", "` ``` `  \n`a`  \n`b`  \n` ``` `", id="lines of a block within code"
        ),
        pytest.param("<ul><li><kbd>a<hr>b</kbd> c<p>d</ul>", "- `a b` c\n\n  d", id="a rule in code"),
        pytest.param("<ul><li>a <tt>\n<link>\n</tt> b<p>c</ul>", "- a b\n\n  c", id="code without a word"),
        pytest.param("<p><code>a<b>b</b><br>c<i>d</i><br></code> e", "`ab`  \n`cd`  \n e", id="words behind a break"),
        # Escapes
        pytest.param(
            r"<p>__doc__ a_b _c *d* 2*3 \*", r"\_\_doc\_\_ a_b \_c \*d\* 2\*3 \\\*", id="emphasis that is none"
        ),
        pytest.param("<p>&lt;b> &amp;lt; 1 < 2", "\\<b> \\&lt; 1 < 2", id="tags that are none"),
        pytest.param("<p>a[0](x) `c`", "a[0\\](x) \\`c\\`", id="links and code that are none"),
        pytest.param(
            "<p>\ufdd1b\ufdd2 &#xfdd0;_c_<img src=i alt='x\ufdd1'>",
            "b \\_c\\_![x](https://site.test/docs/i)",
            id="our marks in a page",
        ),
        # Tables
        pytest.param("<table><tr><td><pre>a\nb</pre></table>", "```\na\nb\n```", id="a table around code"),
        pytest.param(
            "<table><tr><td rowspan=2>a<td>b<tr><td>c<tr><td colspan=2>d</table>",
            "| a | b |\n| --- | --- |\n|  | c |\n| d |  |",
            id="cells that reach into others",
        ),
        pytest.param(
            "<p>x<div style='display:none' class=tab-panel>b</div>", "x\n\nb", id="what a reader opens is written"
        ),
        pytest.param("", "", id="nothing"),
        pytest.param("<nav>only this</nav>", "only this", id="nothing but boilerplate"),
        pytest.param("<pre><td><li><nav><a href=x><p>", "", id="what the library panics at"),
        pytest.param("<p>a<script>s</script>b&#1;c", "ab c", id="a control character behind what is left out"),
        pytest.param("\x80(div\x81a<p>b", "\x80(div\x81a\n\nb", id="marks of ours in a page"),
    ],
)
def test_markdown(markup: str, expected: str) -> None:
    assert markdown.of(markup, URL) == expected


def test_controls_in_addresses_end_no_text() -> None:
    marked = "<p>a <a href='#&#1;'>b</a> <iframe src='http://a/&#1;x'></iframe><video src='&#1;x'></video>"
    assert markdown.of(f"{marked}<video><source src='&#2;y'></video><pre data-lang='&#1;c'>d</pre>", URL).startswith(
        "a [b]("
    )


def test_bytes_are_read_in_their_encoding() -> None:
    assert markdown.of("<p>Grüße".encode("latin-1"), URL, "text/html; charset=iso-8859-1") == "Grüße"


def test_all_that_a_reader_sees() -> None:
    page = f"<nav><a href=/>Home</a></nav><main><p>{PROSE}</main><footer>Legal</footer><p hidden>x<script>y</script>"
    assert markdown.of(page, URL, whole=True) == f"[Home](https://site.test/)\n\n{PROSE.strip()}\n\nLegal"


@pytest.mark.parametrize(
    "part",
    [
        "<svg><title>x</title></svg>",
        "<svg><title>x</title></svg>a",
        "<math><mi>x</mi></math>",
        "<form></form>",
        "<td><pre>1</pre>",
        "<sup>2</sup>",
        "<iframe src=x></iframe>",
        "<div class=admonition><p class=title>x",
        "<a>¶</a>",
        "<pre><span class=ln>1</span>",
        "<code>a<br>b</code>",
        "<code>a<br>",
    ],
)
def test_cuts_of_a_whole_page_take_linear_time(part: str) -> None:
    """Not timed: what is quadratic takes minutes here, and the run ends."""
    assert markdown.of("<p>word</p>" + part * ((1 << 20) // len(part)), URL).startswith("word")


@pytest.mark.parametrize(
    ("within", "part"),
    [
        ("<a href=x>", "<br>a"),
        ("<pre>" + "<i class=lineno>" * 240, "1 "),
        ("<table><tr><td>" * 80, "<td>"),
        ("<pre>" * 240, "<br>"),
    ],
    ids=["lines of a link", "numbers in numbers", "cells of nested tables", "code in code"],
)
def test_what_stands_in_many_takes_linear_time(within: str, part: str) -> None:
    """Not timed, as above."""
    assert markdown.of(f"<p>word</p>{within}{part * ((1 << 20) // len(part))}", URL).startswith("word")


@pytest.mark.parametrize("part", ["<div>", "<ul><li>", "<table><tr><td>", "<b>", "<blockquote>", "<p>*", "<a href=x>"])
def test_depth_and_length_do_no_harm(part: str) -> None:
    assert markdown.of("<p>word</p>" + part * 50_000, URL).startswith("word")


PARTS = st.sampled_from(
    [
        *(
            "<p>",
            "</p>",
            "<ul>",
            "<li>",
            "<table>",
            "<td>",
            "<pre>",
            "<code>",
            "<br>",
            "<hr>",
            "<a href=x>",
            "<nav>",
            "<main>",
            "<h2>",
        ),
        *("a", "`*", "\x80(", "\x81", "<img alt=i src=&#1;>", "<iframe src=http:&#2;>", "<a href=#&#3;>"),
    ]
)


@given(st.lists(PARTS, max_size=30))
@settings(max_examples=examples(300))
def test_any_markup_is_written(parts: list[str]) -> None:
    assert isinstance(markdown.of("".join(parts), URL), str)


# name, document of 64 KiB, or of 256 where a page may have so much that a small one is not in proportion,
# characters of Markdown for each octet of it at most
MANY, ALL = 64 * 1024, 256 * 1024
LARGE = [
    ("lines in quotations", "<blockquote>" * 100 + "<p>" + "x<br>" * (MANY // 5), 8),
    ("code in quotations", "<blockquote>" * 100 + "<pre>" + "x\n" * (MANY // 2), 14),
    ("code in lists", "<ul><li>" * 80 + "<pre>" + "x\n" * (MANY // 2), 14),
    ("items in lists", "<ol><li>" * 80 + "<ol>" + "<li>x</li>" * (MANY // 10), 8),
    ("admonitions", '<div class="admonition"><p class="admonition-title">N</p>' * 100 + "<p>x</p>" * (MANY // 8), 8),
    ("a wide and long table", "<table><tr>" + "<td>x" * (MANY // 10) + "<tr><td>y" * (MANY // 18), 8),
    ("cells that span", "<table>" + "<tr><td colspan=1000>x<td>y" * (MANY // 27), 8),
    ("cells that reach down", "<table>" + "<tr><td rowspan=1000>x<td>y" * (MANY // 27), 8),
    ("many tables", ("<table><tr>" + "<td>x" * 200 + "<tr><td>y" * 200 + "</table>") * (ALL // 2_800), 8 * 4),
    ("a base of many folders", f'<base href="/{"a/" * 900}">' + "<a href=x>y</a> " * (ALL // 16), 16 * 4),
    ("a base beyond all sense", f'<base href="/{"a/" * 9_000}">' + "<a href=x>y</a> " * (MANY // 16), 8),
    ("sources of pictures", f'<base href="/{"a/" * 900}">' + "<img alt=y src=x> " * (ALL // 18), 16 * 4),
]


@pytest.mark.parametrize(("document", "most"), [row[1:] for row in LARGE], ids=[row[0] for row in LARGE])
def test_markdown_is_in_proportion_to_its_page(document: str, most: int) -> None:
    assert len(markdown.of(f"<!doctype html><title>t</title><main>{document}", URL)) <= most * MANY


def test_what_is_nested_deep_keeps_its_words_and_ten_levels() -> None:
    quoted = markdown.of("<main>" + "<blockquote>" * 14 + "<p>words", URL)
    assert quoted == "> " * 10 + "words"
    listed = markdown.of("<main>" + "<ul><li>a" * 14, URL)
    assert listed.count("a") == 14
    assert listed.splitlines()[9].strip() == "- a"


def test_a_table_whose_rows_differ_stays_one() -> None:
    rows = "<tr><th>a<th>b<th colspan=2>c</tr>" + "<tr><td>1<td>2</tr>" * 50
    assert markdown.of(f"<main><table>{rows}</table>", URL).count("| 1 | 2 |") == 50
