"""Main text on labelled pages: a change of the rules that loses what they find is seen here."""

import pytest

from app.parse.html import html
from tests.parse.html.labelled import labelled, pages, score

TYPE = "text/html; charset=utf-8"
ARTICLES = ("news", "blog", "magazine", "story", "gallery", "recipe", "live", "transcript")


@pytest.mark.parametrize(
    # kinds, least precision, least recall
    ("kinds", "precision", "recall"),
    [(ARTICLES, 0.97, 0.97), (("docs", "wiki", "repo"), 0.97, 0.97), (("forum", "qa"), 0.9, 0.95), (("",), 0.95, 0.95)],
)
def test_main_text_of_labelled_pages(kinds: tuple[str, ...], precision: float, recall: float) -> None:
    chosen = [page for page in pages(seed=1) if page.kind.startswith(kinds)]
    scores = [score(html.read(page.html, content_type=TYPE).main_text, page.main_text) for page in chosen]
    means = [sum(each) / len(scores) for each in zip(*scores, strict=True)]
    assert (means[0] >= precision, means[1] >= recall) == (True, True), means


def test_a_label_is_no_mark_in_the_page() -> None:
    page = labelled("x", "<p data-main>[[S2]]<b data-out>no</b></p><p>[[T3]]</p>", seed=0)
    assert b"data-" not in page.html
    assert page.main_text.count(".") == 2
    assert "no" not in page.main_text.split()


def test_the_score_counts_runs_of_four_words() -> None:
    assert score("a b c d e", "a b c d e") == (1.0, 1.0)
    assert score("a b c d e", "a b c d x") == (0.5, 0.5)
    assert score("", "a b c d") == (0.0, 0.0)
