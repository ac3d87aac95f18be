"""Main text as trafilatura reads it, or ours."""

import pytest

from app.parse import text_best
from app.parse.html import text, tree

PROSE = "This sentence is long enough to be read as one by whoever counts the letters in it, and no other. "
ARTICLE = f"""<html><body><nav><a href=/>Home</a></nav><article><h1>Title</h1><p>{PROSE}</p><p>{PROSE * 3}</p></article>
<div class=related><h2>Related</h2><a href=/1>One other story</a></div></body></html>"""


def test_an_article_is_read() -> None:
    found = text_best.best(ARTICLE, "https://site.test/story")
    assert PROSE.strip() in found
    assert "Related" not in found


def test_a_page_without_an_article_has_its_text() -> None:
    assert "short" in text_best.best("<p>short</p><select><option>x</select>", None)
    assert text_best.best("", None) == ""
    assert text_best.best("<script>x</script>", None) == ""


def test_a_huge_page_is_read_by_ours() -> None:
    huge = ARTICLE + "<p><a href=/x>a link</a> and some words" * 6_000
    root = tree.grow(huge.encode())
    assert text_best.best(huge, None) == text.main_text(root)


def test_bytes_are_read_in_their_encoding() -> None:
    body = ARTICLE.replace("counts", "zählt").encode("latin-1")
    assert "zählt" in text_best.best(body, None, "text/html; charset=iso-8859-1")


@pytest.mark.parametrize("part", ["<div>", "<ul><li>", "<table><tr><td>", "<b>", "<a href=x>y", "<p>y", "<p hidden>"])
def test_depth_and_length_do_no_harm(part: str) -> None:
    assert len(text_best.best("<p>word</p>" + part * 20_000, None)) <= text.MAX_TEXT_CHARS


def test_a_flood_of_attributes_is_no_text() -> None:
    assert text_best.best("<p " + " ".join(f"a{n}=1" for n in range(50_000)) + ">x", None) == ""
