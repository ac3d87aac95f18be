"""The language that a text is in."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.parse import language
from tests.examples import examples
from tests.parse.html.reading import read

GERMAN = "Dieser Satz ist auf Deutsch geschrieben, obwohl die Seite etwas anderes behauptet."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("This sentence is written in English, and nothing about it is remarkable.", "en"),
        (GERMAN, "de"),
        ("Ce texte est écrit en français, sans aucun doute possible.", "fr"),
        ("Это предложение написано по-русски, и в нём нет ничего особенного.", "ru"),
        ("この文章は日本語で書かれています。特に変わったことはありません。", "ja"),
        ("two\nlines of English text, with a break\nbetween them", "en"),
        ("", None),
        ("Hallo Welt", None),
        ("0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9", None),
    ],
)
def test_detected(text: str, expected: str | None) -> None:
    assert language.detect(text) == expected


def test_a_page_has_both_the_declared_and_the_detected() -> None:
    page = read(f"<html lang=en><p>{GERMAN}")
    assert (page.language, page.language_detected) == ("en", "de")
    plain = read(GERMAN, content_type="text/plain", content_language="en")
    assert (plain.language, plain.language_detected) == ("en", "de")


def test_without_text_nothing_is_detected() -> None:
    assert read(f"<p>{GERMAN}", want_text=False).language_detected is None
    assert read(GERMAN, content_type="text/plain", want_text=False).language_detected is None


@given(st.text(max_size=300))
@settings(max_examples=examples(300))
def test_any_text_has_a_code_or_none(text: str) -> None:
    found = language.detect(text)
    assert found is None or (found.isascii() and found.islower())
