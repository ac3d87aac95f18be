"""A page's content as Markdown."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.parse import markdown
from tests.examples import examples

URL = "https://site.test/docs/page"
PROSE = "This sentence is long enough to be read as one by whoever counts the letters in it. " * 4


@pytest.mark.parametrize(
    # markup, Markdown
    ("markup", "expected"),
    [
        pytest.param("<h1>A</h1><h3>B</h3><p>c</p>", "# A\n\n### B\n\nc", id="headings"),
        pytest.param("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c", id="lists that nest"),
        pytest.param("<ol><li>a<li>b</ol>", "1. a\n2. b", id="numbered lists"),
        pytest.param(
            "<table><tr><th>a<th>b|c<tr><td>1<td>2</table>", "| a | b\\|c |\n| --- | --- |\n| 1 | 2 |", id="tables"
        ),
        pytest.param(
            "<pre><code class=language-py>def f():\n    pass\n</code></pre>",
            "```py\ndef f():\n    pass\n```",
            id="code keeps its lines",
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
        pytest.param("", "", id="nothing"),
        pytest.param("<nav>only this</nav>", "only this", id="nothing but boilerplate"),
        pytest.param("<pre><td><li><nav><a href=x><p>", "", id="what the library panics at"),
        pytest.param("<p>a<script>s</script>b&#1;c", "ab c", id="a control character behind what is left out"),
        pytest.param("\x80(div\x81a<p>b", "\x80(div\x81a\n\nb", id="marks of ours in a page"),
    ],
)
def test_markdown(markup: str, expected: str) -> None:
    assert markdown.of(markup, URL) == expected


def test_bytes_are_read_in_their_encoding() -> None:
    assert markdown.of("<p>Grüße".encode("latin-1"), URL, "text/html; charset=iso-8859-1") == "Grüße"


@pytest.mark.parametrize("part", ["<div>", "<ul><li>", "<table><tr><td>", "<b>", "<blockquote>", "<p>*", "<a href=x>"])
def test_depth_and_length_do_no_harm(part: str) -> None:
    assert markdown.of("<p>word</p>" + part * 50_000, URL).startswith("word")


PARTS = st.sampled_from("<p> </p> <ul> <li> <table> <td> <pre> <a|href=x> <nav> <main> <h2> a `* \x80( \x81".split())  # noqa: SIM905  # a list literal takes a line per word


@given(st.lists(PARTS, max_size=30))
@settings(max_examples=examples(300))
def test_any_markup_is_written(parts: list[str]) -> None:
    assert isinstance(markdown.of("".join(parts).replace("|", " "), URL), str)
