"""Which characters part words: judged by Unicode's own properties."""

import re
import unicodedata

import pytest

from app.policy.words import INVISIBLE, plain, separators


# text → as it is indexed
@pytest.mark.parametrize(
    ("text", "indexed"),
    [
        ("plain ASCII, don't (touch) it.", "plain ASCII, don't (touch) it."),
        ("“quoted”", " quoted "),
        ("a <b class=c>d</b>", "a  b class=c>d /b>"),
        ("a—b … c", "a b   c"),
        ("l’eau", "l eau"),
        ("no\u00a0break", "no break"),
        ("co\u00adoperate", "cooperate"),
        ("Häuser, naïve, na\u0301ive, Москва, 東京、日本", "Häuser, naïve, na\u0301ive, Москва, 東京 日本"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("over\u202eride", "over ride"),
        ("smile\U0001f600d", "smile d"),
        ("½ of 10 €", "½ of 10  "),
    ],
)
def test_what_parts_words(text: str, indexed: str) -> None:
    assert plain(text) == indexed


def test_no_letter_mark_or_digit_parts_words_and_every_sign_does() -> None:
    parts = re.compile(separators())
    for code in range(0x80, 0x20000):
        each = chr(code)
        if unicodedata.category(each)[0] in "LMN":
            assert not parts.match(each), hex(code)
        if unicodedata.category(each)[0] in "PSZ":
            assert parts.match(each), hex(code)


def test_what_is_invisible_is_taken_out() -> None:
    assert plain(INVISIBLE) == ""
