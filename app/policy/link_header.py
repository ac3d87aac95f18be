"""Reads the `Link` header of an answer: RFC 8288."""

import re
from collections.abc import Iterator
from typing import Final

MAX_CHARS: Final = 16_384
RSL_TYPE: Final = "application/rsl+xml"
_LINK: Final = re.compile(r'<([^<>]*+)>((?:[^",<]|"(?:[^"\\]|\\.)*+")*+)')
_PARAMETER: Final = re.compile(r';\s*+([^\s=;,"]++)\s*+(?:=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^\s";,]*+)))?')


def canonical(value: str) -> str | None:
    """The first link of the relation `canonical` (RFC 6596), relative to the answer's URL; None: there is none.

    One with `anchor` speaks of another document. Of a parameter that comes twice the first counts.
    """
    return next((target or None for target, _ in _of_relation(value, "canonical")), None)


def licences(value: str) -> list[str]:
    """Links of the relation `license` to RSL documents (RSL 1.0), relative to the answer's URL, as written."""
    if "icense" not in value:
        return []
    return [target for target, type_ in _of_relation(value, "license") if target and type_ == RSL_TYPE]


def _of_relation(value: str, relation: str) -> Iterator[tuple[str, str]]:
    """The targets of links of a relation, each with its type in lower case."""
    for target, written in _LINK.findall(value[:MAX_CHARS]):
        parameters: dict[str, str] = {}
        for name, quoted, bare in _PARAMETER.findall(written):
            parameters.setdefault(name.lower(), quoted or bare)
        if relation in parameters.get("rel", "").lower().split() and "anchor" not in parameters:
            yield target.strip(), parameters.get("type", "").strip().lower()
