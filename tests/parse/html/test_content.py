"""Which blocks of a page are its content."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.parse.html import prune, text, tree
from app.parse.html.tree import Element
from tests.examples import examples

ONE = "The first sentence of the page is long enough to be read as one by whoever counts."
TWO = "A second one follows it, and it is as long as the first, so that both are prose."
THREE = "The third is there for good measure, because a page of two sentences is short."
ARTICLE = f"<p>{ONE}</p><p>{TWO}</p><p>{THREE}</p><p>{ONE} {TWO} {THREE}</p>"
BODY = "\n".join([ONE, TWO, THREE, f"{ONE} {TWO} {THREE}"])
TEASER = (
    "<div><h3><a href=/{0}>Title {0}</a></h3><p>What story {0} is about is told here, in one line of prose.</p></div>"
)
TITLED = "<p><a href=/{0}>The title of story number {0}</a><br>What it is about is told here in a line of prose.</p>"
COMMENTS = f"<div><p>{THREE} {TWO}</p></div>" * 9


def grown(markup: str) -> Element:
    root = tree.grow(markup.encode())
    assert root is not None
    return root


def read(markup: str) -> str:
    root = grown(markup)
    return text.main_text(root, text.hidden_roots(root))


@pytest.mark.parametrize(
    # markup, main text
    ("markup", "expected"),
    [
        # By how much is linked
        pytest.param(ARTICLE + "<ul><li><a href=a>One</a><li><a href=b>Two</a></ul>", BODY, id="a list of links"),
        pytest.param(ARTICLE + "<div><a href=a>One</a> | <a href=b>Two</a></div>", BODY, id="a bar of links"),
        pytest.param(
            ARTICLE + "<ul><li>one <a href=a>x</a> or two<li>three</ul>", f"{BODY}\none x or two\nthree", id="a list"
        ),
        pytest.param(ARTICLE + f"<p><a href=a>See</a> {ONE}</p>", f"{BODY}\nSee {ONE}", id="a link in a sentence"),
        pytest.param(
            ARTICLE + "<h2><a href=a>Linked heading</a></h2><p>s", f"{BODY}\nLinked heading\ns", id="a lone one"
        ),
        # By what looks like teasers
        pytest.param(ARTICLE + f"<div>{TEASER.format(1)}{TEASER.format(2)}</div>", BODY, id="teasers"),
        pytest.param(ARTICLE + f"<div>{TITLED.format(1)}{TITLED.format(2)}</div>", BODY, id="teasers without headings"),
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
        # What has no sentences
        pytest.param(
            "<h1>Index</h1><ul><li><a href=a>One thing</a><li><a href=b>Another</a></ul>",
            "Index\nOne thing\nAnother",
            id="an index",
        ),
        pytest.param("<table><tr><td>1<td>2<tr><td>3<td>4</table>", "1 2\n3 4", id="a table"),
    ],
)
def test_content(markup: str, expected: str) -> None:
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


TAGS = """<main> <article> </article> <div> </div> <p> <h2> <ul><li> </ul> <table><tr><td> <td> </table> <nav> </nav>
<a> </a> <br> <b> <form> <svg> </svg> <title> </title>"""
PARTS = st.sampled_from(
    [*TAGS.split(), ONE, TWO, "x", " y ", "<div class=related>", "<script>s</script>", "<p hidden>"]
)


@given(st.lists(PARTS, max_size=40))
@settings(max_examples=examples(500))
def test_the_pruned_tree_holds_the_words_of_the_main_text(parts: list[str]) -> None:
    markup = "<body>" + "".join(parts)
    root = tree.grow(markup.encode())
    if root is None:
        return
    pruned = prune.content_of(grown(markup))
    assert "".join("".join(pruned.itertext()).split()) == "".join(text.main_text(root, text.hidden_roots(root)).split())
