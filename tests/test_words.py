"""Counts agree with their noun, numbers are rounded, text of others cannot steer a terminal, passwords are not
shown."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.words import counted, escaped, harmless, none_of, rounded, sized, without_password
from tests.steering import steering


# count, noun, plural → words
@pytest.mark.parametrize(
    ("n", "noun", "plural", "words"),
    [
        (0, "page", None, "0 pages"),
        (1, "page", None, "1 page"),
        (1_234, "page", None, "1,234 pages"),
        (2, "fetch", None, "2 fetches"),
        (2, "copy", None, "2 copies"),
        (2, "day", None, "2 days"),
        (1, "bad line", None, "1 bad line"),
        (2, "alias", None, "2 aliases"),
        (1, "host waits", "hosts wait", "1 host waits"),
        (2, "host waits", "hosts wait", "2 hosts wait"),
    ],
)
def test_counts_agree_with_their_noun(n: int, noun: str, plural: str | None, words: str) -> None:
    assert counted(n, noun, plural) == words


@pytest.mark.parametrize(
    ("n", "words"),
    [
        (0, "0.0 kB"),
        (999, "1.0 kB"),
        (999_949, "999.9 kB"),
        (10**6, "1.0 MB"),
        (10**9, "1.0 GB"),
        (10**13, "10,000.0 GB"),
    ],
)
def test_bytes_have_a_unit(n: int, words: str) -> None:
    assert sized(n) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.001011197114, "0.001011"),
        (0.1, "0.1"),
        (2.0, "2"),
        (123.456, "123.5"),
        (1234.5678, "1234.6"),
        (86_400.0, "86400"),
        (1e15, "1000000000000000"),
        (-0.5, "-0.5"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
    ],
)
def test_numbers_are_rounded(value: float, words: str) -> None:
    assert rounded(value) == words


# ECMA-48 in its 7-bit and 8-bit forms, what overwrites a line, what reorders it
STEERING = [
    "\x1b[31m",
    "\x1b]0;title\x07",
    "\x9b2J",
    "\x90q",
    "\r",
    "\x08",
    "\x7f",
    "\u202e",
    "\u2066",
    "\u2028",
    "\x85",
    "\ud800",
]


@pytest.mark.parametrize("text", STEERING)
def test_what_steers_a_terminal_is_replaced(text: str) -> None:
    assert harmless(f"a{text}b").startswith("a\N{REPLACEMENT CHARACTER}")


@given(st.text(st.characters(codec=None)))
def test_nothing_that_steers_is_left(text: str) -> None:
    left = harmless(text)
    assert len(left) == len(text)
    assert steering(left) == []


@given(st.text(st.characters(codec="utf-8")))
def test_json_brings_the_characters_back(text: str) -> None:
    document = escaped(json.dumps({"a": text}, ensure_ascii=False))
    assert json.loads(document) == {"a": text}
    assert harmless(document) == document


def test_letters_of_every_script_stay() -> None:
    assert (
        harmless("Größe 東京 עברית می\u200cخواهم 👩\u200d💻\tx\n") == "Größe 東京 עברית می\u200cخواهم 👩\u200d💻\tx\n"
    )


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:secret@h:5432/db", "postgresql://u@h:5432/db"),
        ("postgresql://u@h/db?passfile=%2Fa%2Fpgpass", "postgresql://u@h/db?passfile=%2Fa%2Fpgpass"),
        ("postgresql://h/db?user=u&password=secret&a=b", "postgresql://h/db?user=u&a=b"),
        ("postgresql://u:secret@/db?host=a,b&port=1,2", "postgresql://u@/db?host=a,b&port=1,2"),
        ("postgresql://u:se@cret@h1:1,h2:2/db", "postgresql://u@h1:1,h2:2/db"),
        ("redis://:secret@127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
        ("redis://:sec/ret@127.0.0.1:6379/0", "redis://…@127.0.0.1:6379/0"),
        ("amqp://u:sec#ret@h//", "amqp://…@h//"),
        ("redis://h/0", "redis://h/0"),
        ("redis://[secret@h/0", "redis://…"),
        ("nonsense", "nonsense"),
    ],
)
def test_urls_are_shown_without_their_password(url: str, shown: str) -> None:
    assert without_password(url) == shown


# names that there are → what is said of boooks
@pytest.mark.parametrize(
    ("names", "says"),
    [
        ([], "there are: none yet"),
        (["books"], "there are: books"),
        (["a", "books"], "did you mean books? there are: a, books"),
        ([*"abcdefghij", "k"], "there are: a, b, c, d, e, f, g, h, i, j, and 1 other"),
        ([*"abcdefghij", "k", "books"], "did you mean books? there are: a, b, c, d, e, f, g, h, i, j, and 2 others"),
    ],
)
def test_a_name_that_there_is_not_leads_to_those_that_there_are(names: list[str], says: str) -> None:
    assert none_of("boooks", names) == f"does not exist; {says}"
