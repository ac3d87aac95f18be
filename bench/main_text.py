"""How well and how fast main text is read: `python -m bench.main_text [--kinds] [--seed N] [--bare]`.

Reads 43 labelled pages (`bench/main_text_pages.py`) by Tiptoe, and by trafilatura, resiliparse and readability-lxml
where they are installed. Prints for each precision, recall and F1 of runs of four words, the mean of all pages, and
pages a second of CPU time, parsing included; with --kinds the F1 of every page. --bare removes class, id, role and
itemprop first: what is left to judge by when names say nothing. --folder FOLDER reads *.html of a real site instead, at
most 200; their main text is what the elements of --label XPATH hold.
"""

import argparse
import importlib.util
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from lxml import etree

from app.parse.html import html
from bench.main_text_pages import Labelled, pages, shingles

Reader = Callable[[bytes], str]
_ROUNDS = 3
_MOST_PAGES = 200
_NAMES = re.compile(rb""" (?:class|id|role|itemprop)=(?:"[^"]*"|'[^']*'|[^\s>]+)""")


def main(arguments: argparse.Namespace) -> None:
    labelled = real(arguments.folder, arguments.label) if arguments.folder else pages(arguments.seed)
    if arguments.bare:
        labelled = [page._replace(html=_NAMES.sub(b"", page.html)) for page in labelled]
    readers = installed()
    print(f"{len(labelled)} pages, {sum(len(p.html) for p in labelled) / len(labelled) / 1000:.1f} kB on average")
    print(f"{'':14}{'precision':>10}{'recall':>8}{'F1':>8}{'pages/s':>9}")
    by_kind: dict[str, list[float]] = {page.kind: [] for page in labelled}
    for name, reader in readers.items():
        scores = [score(reader(page.html), page.main_text) for page in labelled]
        for page, (precision, recall) in zip(labelled, scores, strict=True):
            by_kind[page.kind].append(f1(precision, recall))
        precision, recall = (sum(each) / len(scores) for each in zip(*scores, strict=True))
        row = f"{name:14}{precision:10.3f}{recall:8.3f}{f1(precision, recall):8.3f}"
        print(f"{row}{len(labelled) / seconds(reader, labelled):9.0f}", flush=True)
    if arguments.kinds:
        print(f"\n{'F1':22}{'  '.join(f'{name[:11]:>11}' for name in readers)}")
        for kind, values in by_kind.items():
            print(f"{kind:22}{'  '.join(f'{value:11.3f}' for value in values)}")


def real(folder: Path, label: str) -> list[Labelled]:
    """Pages of a folder, evenly drawn, labelled by an XPath expression."""
    paths = sorted(folder.rglob("*.html"))
    found = []
    for path in paths[:: max(1, len(paths) // _MOST_PAGES)][:_MOST_PAGES]:
        body = path.read_bytes()
        root = etree.fromstring(body, etree.HTMLParser(remove_comments=True))
        texts = [
            str(text) for element in root.xpath(label) for text in element.xpath(".//text()[not(ancestor::script)]")
        ]
        found.append(Labelled(path.stem, body, " ".join(" ".join(texts).split())))
    return [page for page in found if page.main_text]


def installed() -> dict[str, Reader]:
    found: dict[str, Reader] = {"tiptoe": tiptoe}
    for name, module, reader in (
        ("trafilatura", "trafilatura", trafilatura),
        ("resiliparse", "resiliparse", resiliparse),
        ("readability", "readability", readability),
    ):
        if importlib.util.find_spec(module):
            found[name] = reader
    return found


def score(found: str, wanted: str) -> tuple[float, float]:
    """Precision and recall of `found`."""
    ours, theirs = shingles(found), shingles(wanted)
    common = sum(min(count, theirs.get(run, 0)) for run, count in ours.items())
    return common / max(1, sum(ours.values())), common / max(1, sum(theirs.values()))


def f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def seconds(reader: Reader, labelled: Sequence[Labelled]) -> float:
    """CPU time for all pages, the best of a few rounds."""
    spent = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        for page in labelled:
            reader(page.html)
        spent.append(time.process_time() - start)
    return min(spent)


def tiptoe(body: bytes) -> str:
    return html.read(body, content_type="text/html; charset=utf-8").main_text


def trafilatura(body: bytes) -> str:
    from trafilatura import extract

    return extract(body, include_comments=False, fast=True) or ""


def resiliparse(body: bytes) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(body.decode(), main_content=True, alt_texts=False))


def readability(body: bytes) -> str:
    from lxml.html import document_fromstring
    from readability import Document

    return " ".join(document_fromstring(Document(body.decode()).summary()).itertext())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.main_text", description=__doc__)
    parser.add_argument("--kinds", action="store_true", help="the F1 of every page too")
    parser.add_argument("--seed", type=int, default=0, help="other words in the same pages; D: 0")
    parser.add_argument("--bare", action="store_true", help="without class, id, role and itemprop")
    parser.add_argument("--folder", type=Path, help="*.html of a real site")
    parser.add_argument("--label", default="//main", help="XPath of their main text; D: //main")
    main(parser.parse_args())
