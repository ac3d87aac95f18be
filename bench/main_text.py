"""How well and how fast main text is read: `python -m bench.main_text [--kinds] [--seed N] [--bare]`.

Reads 43 labelled pages by Tiptoe, and by trafilatura, resiliparse and readability-lxml where they are installed. Prints
for each precision, recall and F1 of runs of four words, the mean of all pages, and pages a second of CPU time, parsing
included; with --kinds the F1 of every page. --bare removes class, id, role and itemprop first: what is left to judge by
when names say nothing. --folder FOLDER reads *.html of a real site instead, at most 200; their main text is what the
elements of --label XPATH hold.

A file of `main_text_pages/` is the markup of one page as such a site writes it, with marks in double brackets where
words go (`[[S3]]` three sentences, `[[T6]]` a title of six words, `[[CARDS5]]` five links of a list …). `data-main`
labels an element whose text is the page's main text, `data-out` what of it is not; both are removed before anything
reads the page.
"""

import argparse
import importlib.util
import random
import re
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from app.parse.html import html

Reader = Callable[[bytes], str]
_ROUNDS = 3
_MOST_PAGES = 200
_ATTRIBUTES = re.compile(rb""" (?:class|id|role|itemprop)=(?:"[^"]*"|'[^']*'|[^\s>]+)""")
_FOLDER = Path(__file__).with_name("main_text_pages")
_MARK = re.compile(r"\[\[([A-Z]+)(\d*)\]\]")
_POSTS = re.compile(r"\[\[POSTS(\d+):(.*?>)\]\]", re.DOTALL)  # the same markup several times, with other words
_NAMES = ("Ada", "Ben", "Carla", "Dario", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Keiko", "Maren", "Tove")


def _word_list(language: str) -> list[str]:
    return (_FOLDER / "words" / f"{language}.txt").read_text().split()


_ENGLISH, _GERMAN, _RUSSIAN = map(_word_list, ("english", "german", "russian"))
(_JAPANESE,) = _word_list("japanese")


class Labelled(NamedTuple):
    """A page and its main text. kind: the file's name."""

    kind: str
    html: bytes
    main_text: str


def pages(seed: int = 0) -> list[Labelled]:
    """All pages, filled with the words of the seed."""
    return [labelled(path.stem, path.read_text(), seed) for path in sorted(_FOLDER.glob("*.html"))]


def labelled(kind: str, skeleton: str, seed: int) -> Labelled:
    markup = _Writer(f"{kind} {seed}").fill(skeleton)
    root = etree.fromstring(markup, etree.HTMLParser(encoding="utf-8", remove_comments=True))
    main_text = " ".join(" ".join(_words(e)) for e in root.xpath("//*[@data-main][not(ancestor::*[@data-main])]"))
    return Labelled(kind, re.sub(r" data-(?:main|out)\b", "", markup).encode(), " ".join(main_text.split()))


def _words(element: "etree._Element") -> list[str]:
    own = element.xpath(".//text()[not(ancestor::*[@data-out] or ancestor::script)]")
    return [str(text) for text in own]


class _Writer:
    def __init__(self, seed: str) -> None:
        self._rng = random.Random(seed)
        self._makers: dict[str, Callable[[], str]] = {
            "S": lambda: self._sentence(_ENGLISH),
            "G": lambda: self._sentence(_GERMAN),
            "R": lambda: self._sentence(_RUSSIAN),
            "J": self._japanese,
            "CARDS": lambda: f'<li><a href="/{self._number()}"><span>{self._title(7)}</span></a></li>',
            "JCARDS": lambda: f'<li><a href="/{self._number()}">{self._japanese()[:18]}</a></li>',
            "RCARDS": lambda: f'<div><a href="/{self._number()}"><h3>{self._sentence(_RUSSIAN)[:50]}</h3></a></div>',
            "CARDDIVS": lambda: (
                f'<div class="gx"><div class="gy"><a href="/{self._number()}"><h3>{self._title(8)}</h3></a>'
                f'<div class="gz"><a href="/u">{self._name()}</a></div><div>{self._number()}</div></div></div>'
            ),
            "TEASERS": lambda: self._teaser(_ENGLISH),
            "GTEASERS": lambda: self._teaser(_GERMAN),
            "PRODUCTS": lambda: (
                f'<li class="grid__item"><div class="card"><h3 class="card__heading"><a href="/{self._number()}">'
                f'{self._title(4)}</a></h3><div class="price">£{self._number()}</div></div></li>'
            ),
            "FILES": lambda: (
                f'<div role="row" class="Box-row"><div role="rowheader"><a href="/{self._number()}">{self._title(1)}.py'
                f'</a></div><div><a href="/c">{self._title(5)}</a></div><div><time>2 days ago</time></div></div>'
            ),
            "ROWS": lambda: (
                f'<tr><td><a href="/{self._number()}">{self._title(7)}</a></td><td>{self._number()}</td></tr>'
            ),
            "TOC": lambda: f'<dt><span class="sect1"><a href="/{self._number()}">{self._title(4)}</a></span></dt>',
        }

    def fill(self, skeleton: str) -> str:
        return _MARK.sub(self._of, _POSTS.sub(lambda posts: posts[2] * int(posts[1]), skeleton))

    def _of(self, mark: re.Match[str]) -> str:
        what, count = mark[1], int(mark[2] or 1)
        if what in ("T", "W"):
            return self._title(count)
        if what == "N":
            return self._name()
        return ("" if what.endswith("S") and len(what) > 1 else " ").join(self._makers[what]() for _ in range(count))

    def _sentence(self, words: list[str]) -> str:
        chosen = self._rng.choices(words, k=self._rng.randint(9, 28))
        if len(chosen) > 14:
            chosen[self._rng.randint(4, 9)] += ","
        return " ".join(chosen).capitalize() + "."

    def _japanese(self) -> str:
        letters = "".join(self._rng.choices(_JAPANESE, k=self._rng.randint(25, 70)))
        return f"{letters[:12]}、{letters[12:]}。"

    def _teaser(self, words: list[str]) -> str:
        summary = self._sentence(words)
        title = self._sentence(words)[:55].rsplit(" ", 1)[0]
        return (
            f'<div class="item"><a href="/{self._number()}"><img src="t.jpg" alt=""></a>'
            f'<h3><a href="/{self._number()}">{title}</a></h3><p>{summary}</p>'
            f'<a class="more" href="/{self._number()}">More</a></div>'
        )

    def _title(self, words: int) -> str:
        return " ".join(self._rng.choices(_ENGLISH, k=words)).title()

    def _name(self) -> str:
        return f"{self._rng.choice(_NAMES)} {self._rng.choice(_NAMES)}son"

    def _number(self) -> int:
        return self._rng.randint(10, 99_999)


@lru_cache
def shingles(text: str, size: int = 4) -> dict[tuple[str, ...], int]:
    """Runs of four words, with how often each occurs; a letter of Chinese or Japanese is a word."""
    words = re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+", text.lower())
    found: dict[tuple[str, ...], int] = {}
    for at in range(max(1, len(words) - size + 1)) if words else ():
        run = tuple(words[at : at + size])
        found[run] = found.get(run, 0) + 1
    return found


def main(arguments: argparse.Namespace) -> None:
    found = real(arguments.folder, arguments.label) if arguments.folder else pages(arguments.seed)
    if arguments.bare:
        found = [page._replace(html=_ATTRIBUTES.sub(b"", page.html)) for page in found]
    readers = installed()
    print(f"{len(found)} pages, {sum(len(p.html) for p in found) / len(found) / 1000:.1f} kB on average")
    print(f"{'':14}{'precision':>10}{'recall':>8}{'F1':>8}{'pages/s':>9}")
    by_kind: dict[str, list[float]] = {page.kind: [] for page in found}
    for name, reader in readers.items():
        scores = [score(reader(page.html), page.main_text) for page in found]
        for page, (precision, recall) in zip(found, scores, strict=True):
            by_kind[page.kind].append(f1(precision, recall))
        precision, recall = (sum(each) / len(scores) for each in zip(*scores, strict=True))
        row = f"{name:14}{precision:10.3f}{recall:8.3f}{f1(precision, recall):8.3f}"
        print(f"{row}{len(found) / seconds(reader, found):9.0f}", flush=True)
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


def seconds(reader: Reader, found: Sequence[Labelled]) -> float:
    """CPU time for all pages, the best of a few rounds."""
    spent = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        for page in found:
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
