"""Words of a text: of ASCII they are found by a shorter way, and are the same."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.focus.vocabulary import tokens

TEXTS = st.text(st.sampled_from("aZ9_ -\n'\u00a0é\u0130ßΣ")) | st.text()


@given(TEXTS | st.text(st.characters(codec="ascii")))
def test_words_are_runs_of_letters_in_any_script(text: str) -> None:
    assert tokens(text) == re.findall(r"[^\W\d_]{2,40}", text.lower())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Wait_for 2nd x-ray, O'Neill", ["wait", "for", "nd", "ray", "neill"]),
        ("a" * 41 + " " + "b" * 42, ["a" * 40, "b" * 40, "bb"]),
        ("Größe des Überlaufs", ["größe", "des", "überlaufs"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert tokens(text) == words


def test_english_plurals_lose_their_s() -> None:
    assert tokens("Indexes of classes, gas, ways", "en") == ["indexe", "of", "classe", "gas", "way"]
