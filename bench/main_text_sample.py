"""How well main text is read from real pages: `python -m bench.main_text_sample FOLDER [--half even|odd] [--each]`.

FOLDER holds `html/NNNN.html.gz` and `truth.json`, {NNNN: {kind, url, main_content, …}}, as the samples of WCXB (Web
Content Extraction Benchmark, CC-BY-4.0) are packed. Prints the mean F1 of words, as bags of lower-case words, by kind,
of Tiptoe and of its library for articles where that is installed, and the CPU time of reading by KiB of markup; then
F1 of the day of publication on the pages that have one, beside htmldate's fast mode. Rules are chosen on pages with
even numbers and judged on odd ones. --each prints every page, the worst first.
"""

import argparse
import gzip
import importlib.util
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from app.parse.html import dates, html

_WORD = re.compile(r"\w+")
_HALVES = {"even": (0,), "odd": (1,), "all": (0, 1)}


class Real(NamedTuple):
    """A page as it was on the web, and the words that people took for its content."""

    number: str
    kind: str
    url: str
    body: bytes
    wanted: str
    day: str = ""


Reader = Callable[[Real], str]


def main(arguments: argparse.Namespace) -> None:
    pages = [page for page in of(arguments.folder) if int(page.number) % 2 in _HALVES[arguments.half]]
    kinds = sorted({page.kind for page in pages})
    print(f"{len(pages)} pages, {sum(len(page.body) for page in pages) / len(pages) / 1024:.0f} KiB on average")
    print(f"{'':12}{'all':>8}{''.join(f'{kind[:9]:>10}' for kind in kinds)}{'µs/KiB':>9}")
    for name, reader in readers().items():
        start = time.process_time()
        texts = [reader(page) for page in pages]
        spent = (time.process_time() - start) / sum(len(page.body) for page in pages) * 1024 * 1e6
        scores = [f1(found, page.wanted) for found, page in zip(texts, pages, strict=True)]
        by_kind = [_mean([s for s, p in zip(scores, pages, strict=True) if p.kind == kind]) for kind in kinds]
        print(f"{name:12}{_mean(scores):8.3f}{''.join(f'{value:10.3f}' for value in by_kind)}{spent:9.1f}", flush=True)
        if arguments.each:
            _print_each(pages, texts, scores)
    dated = [page for page in pages if page.day]
    print(f"days of {len(dated)} dated pages")
    for name, reader in daters().items():
        print(f"{name:12}{day_f1([reader(page) for page in dated], [page.day for page in dated]):8.3f}", flush=True)


def of(folder: Path) -> list[Real]:
    """All pages of the folder, in order."""
    truth = json.loads((folder / "truth.json").read_text())
    return [
        Real(
            number,
            row["kind"],
            row["url"],
            gzip.decompress(_packed(folder, number)),
            row["main_content"],
            (row.get("publish_date") or "")[:10],
        )
        for number, row in sorted(truth.items())
    ]


def readers() -> dict[str, Reader]:
    found: dict[str, Reader] = {"tiptoe": tiptoe}
    if importlib.util.find_spec("trafilatura"):
        found["trafilatura"] = trafilatura
    return found


def daters() -> dict[str, Reader]:
    found: dict[str, Reader] = {"tiptoe": day}
    if importlib.util.find_spec("htmldate"):
        found["htmldate"] = htmldate
    return found


def day(page: Real) -> str:
    """The day of publication as a crawl has it; "": none."""
    read = html.read(page.body, content_type="text/html", want_language=False)
    found = read.published or dates.of_url(page.url)
    return str(found.day) if found else ""


def htmldate(page: Real) -> str:
    from htmldate import find_date

    return find_date(page.body, extensive_search=False, original_date=True, url=page.url) or ""


def day_f1(found: Sequence[str], wanted: Sequence[str]) -> float:
    """A day that is found and wrong counts against precision and recall."""
    right = sum(each == day for each, day in zip(found, wanted, strict=True))
    return 2 * right / max(1, sum(map(bool, found)) + len(wanted))


def tiptoe(page: Real) -> str:
    return html.read(page.body, content_type="text/html", want_language=False).main_text


def trafilatura(page: Real) -> str:
    from trafilatura import extract

    return extract(page.body, url=page.url, include_comments=False) or ""


def f1(found: str, wanted: str) -> float:
    """The harmonic mean of precision and recall of the words, each counted as often as it stands there."""
    ours, theirs = Counter(_WORD.findall(found.lower())), Counter(_WORD.findall(wanted.lower()))
    both = sum((ours & theirs).values())
    return 2 * both / max(1, ours.total() + theirs.total()) if both else float(not ours and not theirs)


def _packed(folder: Path, number: str) -> bytes:
    return (folder / "html" / f"{number}.html.gz").read_bytes()


def _print_each(pages: list[Real], texts: list[str], scores: list[float]) -> None:
    for score, page, found in sorted(zip(scores, pages, texts, strict=True), key=lambda each: each[0]):
        wanted, got = len(_WORD.findall(page.wanted)), len(_WORD.findall(found))
        print(f"  {score:.3f} {page.number} {page.kind[:9]:9} {got:6} of {wanted:6} words  {page.url[:80]}")


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.main_text_sample", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=_HALVES, default="all")
    parser.add_argument("--each", action="store_true", help="every page, the worst first")
    main(parser.parse_args())
