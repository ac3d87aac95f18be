"""A plugin of Tiptoe: reads books in EPUB, with their title, text, author and number of chapters.

pip install ./examples/tiptoe-epub
TIPTOE_PLUGINS=epub tiptoe crawl https://example.org/books/
tiptoe export pages --crawl example.org --columns url,title,epub.author,epub.chapters
"""

from collections.abc import Sequence
from io import BytesIO
from posixpath import dirname, join
from typing import Any
from zipfile import ZipFile

from lxml import etree, html

from tiptoe.plugins import Reader, answers

CONTAINER = "META-INF/container.xml"
MOST_CHAPTERS = 2_000
MOST_BYTES = 20_000_000  # of all chapters: a small file may unpack to anything


@answers
def readers() -> Sequence[Reader]:
    return [
        Reader(
            media_types=["application/epub+zip"],
            read="tiptoe_epub:read",
            columns={"author": "text", "chapters": "integer"},
        )
    ]


def read(body: bytes, content_type: str) -> dict[str, Any]:
    """Called in a process of its own: an exception or a hang ends this document alone."""
    book = ZipFile(BytesIO(body))
    place = _xml(book, CONTAINER).find(".//{*}rootfile").get("full-path")
    package = _xml(book, place)
    files = {item.get("id"): join(dirname(place), item.get("href")) for item in package.iterfind(".//{*}item")}
    chapters = [files[ref.get("idref")] for ref in package.iterfind(".//{*}itemref")][:MOST_CHAPTERS]
    texts, left = [], MOST_BYTES
    for name in chapters:
        octets = book.open(name).read(left)
        left -= len(octets)
        if octets:
            texts.append(" ".join(" ".join(html.document_fromstring(octets).itertext()).split()))
    return {
        "title": _said(package, "title"),
        "language": _said(package, "language"),
        "text": "\n\n".join(texts),
        "author": _said(package, "creator"),
        "chapters": len(chapters),
    }


def _xml(book: ZipFile, name: str) -> Any:
    octets = book.open(name).read(MOST_BYTES)
    return etree.fromstring(octets, etree.XMLParser(resolve_entities=False, no_network=True))


def _said(package: Any, name: str) -> str | None:
    found = package.find(f".//{{http://purl.org/dc/elements/1.1/}}{name}")
    return None if found is None else found.text
