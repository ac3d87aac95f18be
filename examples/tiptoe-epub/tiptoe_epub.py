"""A plugin of Tiptoe: reads books in EPUB, with their title, text, author and chapters.

pip install ./examples/tiptoe-epub
TIPTOE_PLUGINS=epub tiptoe crawl https://example.org/books/
tiptoe export pages --crawl example.org --columns url,title,epub.author,epub.chapters
tiptoe sql "SELECT url, n, words FROM plugin_epub_chapters ORDER BY words DESC LIMIT 10"
"""

from collections.abc import Sequence
from io import BytesIO
from posixpath import dirname, join
from typing import Any
from zipfile import ZipFile

from lxml import etree, html

from tiptoe.plugins import Reader, Table, answers

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


@answers
def tables() -> Sequence[Table]:
    return [
        Table(
            name="plugin_epub_chapters",
            create=[
                "CREATE TABLE IF NOT EXISTS plugin_epub_chapters (host_id bigint, crawl_id bigint, key bytea,"
                " n integer, url text NOT NULL, file text, words integer, PRIMARY KEY (host_id, crawl_id, key, n))"
            ],
            write=[
                "DELETE FROM plugin_epub_chapters AS c USING json_to_recordset(CAST(:pages AS json))"
                " AS p (host_id bigint, crawl_id bigint, key bytea)"
                " WHERE (c.host_id, c.crawl_id, c.key) = (p.host_id, p.crawl_id, p.key)",
                "INSERT INTO plugin_epub_chapters SELECT * FROM json_to_recordset(CAST(:rows AS json))"
                " AS r (host_id bigint, crawl_id bigint, key bytea, n integer, url text, file text, words integer)",
            ],
        )
    ]


def read(body: bytes, content_type: str) -> dict[str, Any]:
    """Called in a process of its own: an exception or a hang ends this document alone."""
    book = ZipFile(BytesIO(body))
    place = _xml(book, CONTAINER).find(".//{*}rootfile").get("full-path")
    package = _xml(book, place)
    files = {item.get("id"): join(dirname(place), item.get("href")) for item in package.iterfind(".//{*}item")}
    chapters = [files[ref.get("idref")] for ref in package.iterfind(".//{*}itemref")][:MOST_CHAPTERS]
    texts, rows, left = [], [], MOST_BYTES
    for name in chapters:
        octets = book.open(name).read(left)
        left -= len(octets)
        words = " ".join(html.document_fromstring(octets).itertext()).split() if octets else []
        texts.append(" ".join(words))
        rows.append({"n": len(texts), "file": name, "words": len(words)})
    return {
        "title": _said(package, "title"),
        "language": _said(package, "language"),
        "text": "\n\n".join(filter(None, texts)),
        "author": _said(package, "creator"),
        "chapters": len(chapters),
        "rows": {"plugin_epub_chapters": rows},
    }


def _xml(book: ZipFile, name: str) -> Any:
    octets = book.open(name).read(MOST_BYTES)
    return etree.fromstring(octets, etree.XMLParser(resolve_entities=False, no_network=True))


def _said(package: Any, name: str) -> str | None:
    found = package.find(f".//{{http://purl.org/dc/elements/1.1/}}{name}")
    return None if found is None else found.text
