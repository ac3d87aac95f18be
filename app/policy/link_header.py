"""Reads the `Link` header of an answer: RFC 8288."""

import re
from typing import Final

MAX_CHARS: Final = 16_384
_LINK: Final = re.compile(r'<([^<>]*+)>((?:[^",<]|"(?:[^"\\]|\\.)*+")*+)')
_PARAMETER: Final = re.compile(r';\s*+([^\s=;,"]++)\s*+(?:=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^\s";,]*+)))?')


def canonical(value: str) -> str | None:
    """The first link of the relation `canonical` (RFC 6596), relative to the answer's URL; None: there is none.

    One with `anchor` speaks of another document. Of a parameter that comes twice the first counts.
    """
    for target, written in _LINK.findall(value[:MAX_CHARS]):
        parameters: dict[str, str] = {}
        for name, quoted, bare in _PARAMETER.findall(written):
            parameters.setdefault(name.lower(), quoted or bare)
        if "canonical" in parameters.get("rel", "").lower().split() and "anchor" not in parameters:
            return target.strip() or None
    return None
