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
        ("LES PAGES DE CE MANUEL SONT LUES PAR TOUS", "fr"),
        ("BENVENUTI NEL NOSTRO NEGOZIO DI SCARPE, SALDI DI FINE ANNO", "it"),
        ("", None),
        ("Hallo Welt", None),
        ("0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9", None),
        ("ሁሉም የሰው ልጆች ሲወለዱ ነጻና በክብርና በመብትም እኩልነት ያላቸው ናቸው።", "am"),
        ("ᎾᏍᎩ ᏂᎦᎥ ᎠᏂᏴᏫ ᎤᎾᏓᏤᏅᏙᎸ ᎢᎦᎦᏛᎢ ᎠᎴ ᎤᏂᎲᎢ ᎦᎶᏍᎬᎢ", None),
    ],
)
def test_detected(text: str, expected: str | None) -> None:
    assert language.detect(text) == expected


# language, letters → whether it may be: the model's word is not taken where most letters are of another script
@pytest.mark.parametrize(
    ("found", "text", "may_be"),
    [
        ("ru", "ሁሉም የሰው ልጆች", False),
        ("ku", "هەموو مرۆڤەکان بە ئازادی", False),
        ("ckb", "هەموو مرۆڤەکان بە ئازادی", True),
        ("ku", "Hemû mirov azad û di weqar û mafan de wekhev tên dinyayê", True),
        ("ru", "Alle Menschen sind frei", False),
        ("de", "Alle Menschen, люди, sind frei", True),
        ("sr", "Sva ljudska bića rađaju se slobodna", True),
        ("ja", "日本語の文章", True),
        ("zh", "日本語の文章はひらがなでかかれています", False),
        ("fr", "", True),
    ],
)
def test_letters_outvote_the_model(found: str, text: str, may_be: bool) -> None:
    assert language.may_be(found, text) is may_be


@pytest.mark.parametrize(
    # markup, declared, detected
    ("markup", "declared", "detected"),
    [
        (f"<p>{GERMAN}", None, "de"),
        (f"<html lang=en><p>{GERMAN}", "en", None),
        (f"<html lang='not a tag'><p>{GERMAN}", None, "de"),
        (f"<nav>The navigation is in English, of course, and is no part of it.</nav><p>{GERMAN}", None, "de"),
        ("<p>Hallo", None, None),
    ],
)
def test_it_is_detected_where_none_is_declared(markup: str, declared: str | None, detected: str | None) -> None:
    page = read(markup)
    assert (page.language, page.language_detected) == (declared, detected)


def test_plain_text_is_detected_too() -> None:
    assert read(GERMAN, content_type="text/plain").language_detected == "de"
    assert read(GERMAN, content_type="text/plain", content_language="en").language_detected is None


def test_without_text_nothing_is_detected() -> None:
    assert read(f"<p>{GERMAN}", want_text=False).language_detected is None
    assert read(GERMAN, content_type="text/plain", want_text=False).language_detected is None
    assert read(f"<p>{GERMAN}", want_language=False).language_detected is None
    assert read(GERMAN, content_type="text/plain", want_language=False).language_detected is None


@given(st.text(max_size=300))
@settings(max_examples=examples(300))
def test_any_text_has_a_code_or_none(text: str) -> None:
    found = language.detect(text)
    assert found is None or (found.isascii() and found.islower())
