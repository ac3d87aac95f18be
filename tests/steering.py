"""Which characters of a text steer a terminal: judged by Unicode's own properties, not by our code."""

import unicodedata

_BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def steering(text: str) -> list[str]:
    """Controls but tab and line feed, what embeds or overrides a direction, separators of lines, lone surrogates."""
    return [
        each
        for each in text
        if (unicodedata.category(each) in {"Cc", "Cs", "Zl", "Zp"} and each not in "\t\n")
        or unicodedata.bidirectional(each) in _BIDI
    ]
