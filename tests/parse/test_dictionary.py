"""Names that documents make up leave nothing behind, whoever parses them; in a process of its own, whose memory counts.

Fails where lxml keeps its dictionary in another place than `app.parse.dictionary` empties.
"""

import ctypes
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from threading import Thread

import pytest

from app.parse import dictionary
from app.parse.html import html
from app.parse.sitemap.sitemap import SitemapReading

ROOT = Path(__file__).parents[2]
MIB = 1024 * 1024
PAGES, LEFT_MOST = 12, 8 * MIB  # of half a MiB; each left 1.2 MiB or more


def repeated(
    unit: str, before: str = "<!doctype html><title>t</title>", size: int = MIB // 2
) -> Callable[[int], bytes]:
    """A document of units with names of its own, by its number."""
    return lambda page: (before + "".join(unit.replace("?", f"x{page}y{n}") for n in range(size // len(unit))))[
        :size
    ].encode()


KINDS: dict[str, Callable[[int], bytes]] = {
    "attributes": repeated("<p ?>"),
    "attributes with prefixes": repeated("<p ?:?=1>"),
    "elements": repeated("<?></?>", size=MIB // 4),
    "too many attributes of a tag": repeated("? ", "<p "),
    "small pages": repeated("<p ?>", size=8 * 1024),
    "elements of a sitemap": repeated("<url><loc>http://h.test/?</loc><?>1</?></url>", "<urlset>", 128 * 1024),
    "name spaces of a sitemap": repeated("<url xmlns:?='?'><loc>http://h.test/?</loc></url>", "<urlset>", 128 * 1024),
}


def read(kind: str, page: int) -> None:
    document = KINDS[kind](page)
    if "sitemap" in kind:
        list(SitemapReading(BytesIO(document)))
    else:
        html.read(document, content_type="text/html")


def resident() -> int:
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def leave(kind: str) -> None:
    """Print the octets that pages of the kind have left."""
    for page in range(4):
        read(kind, page)
    before = resident()
    for page in range(4, 4 + PAGES):
        read(kind, page)
    print(resident() - before)


@pytest.mark.parametrize("kind", ["attributes", pytest.param("too many attributes of a tag", marks=pytest.mark.faults)])
def test_made_up_names_leave_no_memory(kind: str) -> None:
    argv = [sys.executable, "-m", "tests.parse.test_dictionary", kind]
    said = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert int(said) < LEFT_MOST


@pytest.mark.parametrize("kind", KINDS)
def test_made_up_names_leave_no_names(kind: str) -> None:
    most: list[int] = []

    def worker() -> None:
        start = dictionary.names()  # a thread begins with those of the main thread
        for page in range(3):
            for each in range(50 if "small" in kind else 1):
                read(kind, page * 50 + each)
            html.read(b"<p>The next page", content_type="text/html")
            most.append(dictionary.names() - start)

    thread = Thread(target=worker)
    thread.start()
    thread.join()
    assert len(most) == 3
    assert max(most) < 2 * dictionary.NAMES_MOST


def test_a_page_is_read_alike_with_a_new_dictionary() -> None:
    page = b"<html lang=en><title>t</title><nav><a href=/n>n</a></nav><main><p a1 b2=3>Some text of a page.</main>"
    before, number = html.read(page, content_type="text/html"), dictionary.number()
    for each in range(3):
        read("attributes", each)
        assert html.read(page, content_type="text/html") == before
    assert dictionary.number() == number + 3


def test_no_dictionary_is_dropped_for_ordinary_names() -> None:
    number = dictionary.number()
    for each in range(50):
        html.read(f"<p class=c{each} id=i{each} data-{each}=1>x".encode(), content_type="text/html")
    assert dictionary.number() == number


if __name__ == "__main__":
    thread = Thread(target=leave, args=sys.argv[1:])
    thread.start()
    thread.join()
