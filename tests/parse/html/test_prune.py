"""The pruned tree, for what needs elements, is the content that text alone holds."""

from hypothesis import given, settings
from hypothesis import strategies as st

from app.parse.html import prune, text, tree
from tests.examples import examples
from tests.parse.html.test_content import ONE, TWO, grown

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
