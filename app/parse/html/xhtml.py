"""XHTML with prefixed elements, made plain."""

import re

# XHTML served as XML may bind its elements to a prefix: https://www.w3.org/TR/xml-names/#ns-decl
_PREFIX = re.compile(rb"""xmlns:([A-Za-z_][\w.-]*)\s*=\s*["']http://www\.w3\.org/1999/xhtml["']""")


def _without_prefixes(markup: bytes) -> bytes:
    """Turn `<h:a>` into `<a>`, where `h` is bound to XHTML."""
    prefixes = {found[1] for found in _PREFIX.finditer(markup)}
    if not prefixes:
        return markup
    return re.sub(rb"<(/?)(?:%s):" % b"|".join(map(re.escape, sorted(prefixes))), rb"<\1", markup)
