"""Words of anchors, paths and pages, as scores compare them. No stemming but the English plural: a dictionary is not
worth it.
"""

import re
from typing import Final

LANGUAGES: Final = ("any", "en")
_WORD: Final = re.compile(r"[^\W\d_]{2,40}")
_ASCII_WORD: Final = re.compile(r"[a-z]{2,40}")  # the same of ASCII in lower case, in two thirds of the time
_PLURAL: Final = re.compile(r"(?<=[^s])s\Z")


def tokens(text: str, language: str = "any") -> list[str]:
    """The words of a text in lower case, in their order; numbers and single letters are left out."""
    lower = text.lower()
    found = (_ASCII_WORD if lower.isascii() else _WORD).findall(lower)
    if language == "en":
        return [_PLURAL.sub("", word) if len(word) > 3 else word for word in found]
    return found
