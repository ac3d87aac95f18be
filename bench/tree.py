"""The pages a bench host serves: a real manual, cut to a size, or a made-up one where none can be had.

A cut tree is n pages of the manual taken evenly by name, each with all its links: those to pages left
out lead to one of the kept pages instead. So a whole pass over the cut tree has the manual's page sizes
and links per page, fetches every page once and admits every URL once, as a crawl of the whole manual
would. (Stopping a crawler early on the whole manual would instead measure the first minutes, in which
far more links are new.)
"""

import random
import re
import shutil
import subprocess
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lxml import html

from bench.report import ROOT, BenchError

PACKAGE = "postgresql-doc-15"
CACHE = ROOT / "bench" / ".trees"
START = "index.html"
_HREF = re.compile(rb'(<(?:a|link)\b[^>]*?\bhref=")([^"#:?/]+\.html)', re.IGNORECASE)
_BODY = re.compile(rb"<body[^>]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Pages by file name; `reachable` are those that links lead to from index.html, itself included."""

    source: str
    pages: dict[str, bytes]
    reachable: frozenset[str]

    def for_host(self, name: str) -> Iterable[tuple[str, bytes]]:
        """The pages with the host's name in the text: Tiptoe would set equal ones aside as duplicates."""
        mark = b"<p>This copy is served by " + name.encode() + b".</p>"
        for page, body in self.pages.items():
            yield page, _BODY.sub(lambda found: found.group() + mark, body, count=1)


def load(path: Path | None, count: int) -> Tree:
    """The tree at path, else the PostgreSQL manual, else made up, cut to count pages (0: whole)."""
    folder = path or _manual()
    if folder is None:
        pages, source = _made_up(count or 1_100), "made up"
    else:
        pages, source = (
            {file.name: file.read_bytes() for file in sorted(folder.glob("*.html"))},
            folder.resolve().parent.name,
        )
        if START not in pages:
            raise BenchError(f"no {START} in {folder}; name the folder of a manual's html files with --tree")
    if count and count < len(pages):
        pages = _cut(pages, count)
    return Tree(source=source, pages=pages, reachable=_reachable(pages))


def _manual() -> Path | None:
    """Debian's PostgreSQL manual, fetched once as a package and unpacked without being installed."""
    folder = CACHE / PACKAGE / "usr/share/doc" / PACKAGE / "html"
    if not folder.is_dir() and shutil.which("apt-get") and shutil.which("dpkg-deb"):
        CACHE.mkdir(exist_ok=True)
        subprocess.run(["apt-get", "download", "-q", PACKAGE], cwd=CACHE, capture_output=True, check=False)
        for deb in CACHE.glob(f"{PACKAGE}_*.deb"):
            subprocess.run(["dpkg-deb", "-x", deb.name, PACKAGE], cwd=CACHE, check=False)
            deb.unlink()
    return folder if folder.is_dir() else None


def _cut(pages: dict[str, bytes], count: int) -> dict[str, bytes]:
    others = [name for name in sorted(pages) if name != START]
    kept = [START, *(others[n * len(others) // (count - 1)] for n in range(count - 1))]
    known = {name.encode() for name in kept}

    def lead_inside(found: re.Match[bytes]) -> bytes:
        target = found[2]
        if target not in known:
            target = kept[zlib.crc32(target) % count].encode()
        return found[1] + target

    return {name: _HREF.sub(lead_inside, pages[name]) for name in kept}


def _made_up(count: int) -> dict[str, bytes]:
    """Pages like the manual's: about 14 kB, 22 links, 11 of them distinct. The same at every run."""
    rng = random.Random(2)
    words = ["".join(rng.choices("abcdefghijklmnoprstuvw", k=rng.randint(2, 9))) for _ in range(2_000)]
    names = [START, *(f"page-{n:04d}.html" for n in range(1, count))]

    def page(number: int) -> str:
        near = [names[(number + step) % count] for step in (1, -1, 2)]
        far = [names[rng.randrange(count)] for _ in range(8)]
        parts = [f"<html><head><title>{' '.join(rng.choices(words, k=4))}</title></head><body><h1>{number}</h1>"]
        for target in (near + far) * 2:
            parts.append(f'<p>{" ".join(rng.choices(words, k=90))} <a href="{target}">{rng.choice(words)}</a></p>')
        return "\n".join([*parts, "</body></html>"])

    return {name: page(number).encode() for number, name in enumerate(names)}


def _reachable(pages: dict[str, bytes]) -> frozenset[str]:
    found, todo = {START}, [START]
    while todo:
        for href in html.fromstring(pages[todo.pop()]).xpath("//a/@href"):
            target = href.split("#")[0]
            if target in pages and target not in found:
                found.add(target)
                todo.append(target)
    return frozenset(found)
