"""How fast pages are read: `python -m bench.parse FOLDER`, a folder of *.html.

Prints, for a bare `lxml.html.fromstring(...).xpath("//a/@href")`, for links only and for everything: pages a second,
milliseconds for 14 kB (the mean of a manual's page), and the time as a multiple of the bare one. CPU time, the best of
a few rounds.
"""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import lxml.html

from app.parse.html import html

ROUNDS = 5
MAX_PAGES = 600
MAX_BYTES = 1024 * 1024


def main(folder: str) -> None:
    bodies = load(Path(folder))
    size = sum(map(len, bodies))
    print(f"{len(bodies)} pages, {size / len(bodies) / 1000:.1f} kB on average")
    spent = best_times((bare, lean, full), bodies)
    for name, seconds in zip(("bare", "links", "everything"), spent, strict=True):
        per_14kb = seconds / size * 14_000 * 1000
        ratio = seconds / spent[0]
        print(f"{name:12}{len(bodies) / seconds:8.0f} pages/s{per_14kb:8.3f} ms per 14 kB{ratio:7.2f} x bare")


def load(folder: Path) -> list[bytes]:
    paths = sorted(p for p in folder.rglob("*.html") if p.is_file() and 0 < p.stat().st_size <= MAX_BYTES)
    if not paths:
        sys.exit(f"no *.html below {folder}")
    every = max(1, len(paths) // MAX_PAGES)
    return [p.read_bytes() for p in paths[::every]]


def best_times(works: Sequence[Callable[[bytes], object]], bodies: Sequence[bytes]) -> list[float]:
    """The rounds take turns, so that a slow spell of the machine does not fall on one of the works alone."""
    rounds = [[one_round(work, bodies) for work in works] for _ in range(ROUNDS)]
    return [min(spent) for spent in zip(*rounds, strict=True)]


def one_round(work: Callable[[bytes], object], bodies: Sequence[bytes]) -> float:
    start = time.process_time()
    for body in bodies:
        work(body)
    return time.process_time() - start


def bare(body: bytes) -> object:
    return lxml.html.fromstring(body).xpath("//a/@href")


def lean(body: bytes) -> object:
    return html.read(body, content_type="text/html", want_text=False)


def full(body: bytes) -> object:
    return html.read(body, content_type="text/html")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
