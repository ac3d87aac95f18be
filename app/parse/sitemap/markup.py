"""Makes safe XML of any characters (`plain`), and feeds it to libxml2 (`Feeder`), which calls a target for tags and
text.

Nothing dangerous reaches libxml2, by construction: comments, processing instructions, document types and CDATA marks
are taken out before it, and an "&" that begins none of XML's own references is text. So there are no entities, no DTDs
and no XInclude. No tree is built. The rest of libxml2's memory is bounded: the length of a tag here, the depth and the
names by the target, which also decides what the elements mean. Source: https://www.w3.org/TR/xml/.
"""

import html
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Protocol

from lxml import etree

from app.parse import dictionary

_MAX_TAG_BYTES = 128 * 1024
_MAX_MESSAGE_CHARS = 200  # of libxml2's, which quote the file
_LINE_NUMBER = re.compile(r" line \d+")  # ours are not the file's: earlier parts may have been taken out

# The marks that open and close a part that is no element. "[" opens a document type's declarations.
_CDATA = "<![CDATA["
_MARKS = {
    "": re.compile(r"<!--|<!\[CDATA\[|<\?|<!(?=[a-zA-Z])"),
    "<!--": re.compile("-->"),
    _CDATA: re.compile("]]>"),
    "<?": re.compile(r"\?>"),
    "<!": re.compile(r"[\[>]"),
}
_LONGEST_MARK = len("&#1114111;")
# The end of a piece that may turn out to be a mark or a reference with the next one.
_PARTIAL = {
    "": re.compile(r"(?:[<&][^>;]*|]]?)\Z"),
    "<!--": re.compile(r"--?\Z"),
    _CDATA: re.compile(r"]]?\Z"),
    "<?": re.compile(r"\?\Z"),
    "<!": re.compile(r"(?!)"),
}
# https://www.w3.org/TR/xml/#sec-references and #sec-predefined-ent; of a tag, its first letter.
_STRAY_AMP = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)")
_STRAY_LT = re.compile(r"<(?!/?(?:[^\W\d]|:))")
# Resolved by Python: libxml2 lets through half a surrogate pair, on which lxml raises.
_CHARACTER = re.compile(r"&#(?:[0-9]{1,7}|x[0-9a-fA-F]{1,6});")
_CONTROLS = bytes({*range(32)} - set(b"\t\n\r"))  # no Char by https://www.w3.org/TR/xml/#charsets


def plain(pieces: Iterator[str], note: Callable[[str], None]) -> Iterator[str]:
    """Reduce XML to tags, text and XML's own references.

    CDATA becomes text. So do a stray "&" and "<": "?a=1&b=2" is the most frequent fault of all, and libxml2 would lose
    its "&b". A document type is dropped, unless it brings declarations: then reading ends there.
    """
    rest = opener = ""
    for piece in pieces:
        text, at, parts = rest + piece, 0, []
        while mark := _MARKS[opener].search(text, at):
            parts.append(_as_text(text[at : mark.start()], opener))
            if mark[0] == "[":
                note("document type with declarations: refused")
                yield "".join(parts)
                return
            at, opener = mark.end(), "" if opener else mark[0]
        partial = _PARTIAL[opener].search(text, max(at, len(text) - _LONGEST_MARK))
        stop = partial.start() if partial else len(text)
        yield "".join(parts) + _as_text(text[at:stop], opener)
        rest = text[stop:]
    if opener:
        note(f"not well-formed XML: {opener} without an end")
    yield _as_text(rest, opener)


def _as_text(span: str, opener: str) -> str:
    if opener:
        return html.escape(span, quote=False) if opener == _CDATA else ""
    span = _STRAY_LT.sub("&lt;", _STRAY_AMP.sub("&amp;", span)).replace("]]>", "]]&gt;")
    return _CHARACTER.sub(lambda found: html.escape(html.unescape(found[0])), span)


class Target(Protocol):
    """A parser target as lxml wants it (https://lxml.de/parsing.html#the-target-parser-interface), with a counter of
    ours.

    events  tags and texts received so far
    """

    events: int

    def close(self) -> None: ...


class Feeder:
    """A parser that is fed piece by piece. It never raises, whatever the pieces are."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._unheard_bytes = 0  # pushed since the target last received anything
        dictionary.shrink()
        self._parser = etree.XMLParser(
            target=target,
            encoding="utf-8",
            recover=True,
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
        )

    def push(self, piece: str) -> None:
        markup = piece.encode("utf-8", "replace").translate(None, _CONTROLS)
        before = self._target.events
        with suppress(etree.LxmlError):
            self._parser.feed(markup)
        self._unheard_bytes = self._unheard_bytes + len(markup) if self._target.events == before else 0

    @property
    def is_choked(self) -> bool:
        """Whether a tag is so long that no more should be pushed."""
        return self._unheard_bytes > _MAX_TAG_BYTES

    def fault(self) -> str | None:
        """The first thing wrong with the markup, in a line for a person."""
        if faults := self._parser.feed_error_log.filter_from_fatals():
            message = _LINE_NUMBER.sub("", faults[0].message or "")
            return f"not well-formed XML: {' '.join(message.split())[:_MAX_MESSAGE_CHARS]}"
        return f"a tag of over {_MAX_TAG_BYTES >> 10} KiB" if self.is_choked else None

    def close(self) -> None:
        with suppress(etree.LxmlError):
            self._parser.close()
