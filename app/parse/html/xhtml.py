"""XHTML with prefixed elements, made plain."""

import re

# XHTML served as XML may bind its elements to a prefix: https://www.w3.org/TR/xml-names/#ns-decl
_PREFIX = re.compile(rb"""xmlns:([A-Za-z_][\w.-]*)\s*=\s*["']http://www\.w3\.org/1999/xhtml["']""")
# Whatever the prefix is: a pattern of a document's own prefixes would try each of them at each tag.
_PREFIXED = re.compile(rb"<(/?+)([A-Za-z_][\w.-]*+):")


def _without_prefixes(markup: bytes) -> bytes:
    """Turn `<h:a>` into `<a>`, where `h` is bound to XHTML. Linear in the markup."""
    prefixes = {found[1] for found in _PREFIX.finditer(markup)}
    if not prefixes:
        return markup
    return _PREFIXED.sub(lambda found: b"<" + found[1] if found[2] in prefixes else found[0], markup)
