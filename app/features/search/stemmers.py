"""Chooses the text search configuration of a page's language, from those that this Postgres has.

The codes are ISO 639-1's, as the first subtag of a BCP 47 tag has them; the configurations are Postgres' own, all by
Snowball (https://www.postgresql.org/docs/current/textsearch-psql.html). A language without one is split into words and
not stemmed. Languages that are written without spaces (Chinese, Japanese, Thai) are split at punctuation alone.
"""

from collections.abc import Collection, Mapping
from typing import Final

SIMPLE: Final = "simple"
_CONFIGS: Final[Mapping[str, str]] = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}


def stemmers(available: Collection[str]) -> dict[str, str]:
    """{language: configuration} of the languages that have one among the `available`."""
    return {language: config for language, config in _CONFIGS.items() if config in available}


def configs(available: Collection[str]) -> list[str]:
    """The configurations that pages may be indexed by."""
    return sorted({SIMPLE, *stemmers(available).values()})
