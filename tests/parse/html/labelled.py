"""43 labelled pages, and how much of their main text is read.

A file of `main_text_pages/` is the markup of one page as such a site writes it, with marks in double brackets where
words go (`[[S3]]` three sentences, `[[T6]]` a title of six words, `[[CARDS5]]` five links of a list …). `data-main`
labels an element whose text is the page's main text, `data-out` what of it is not; both are removed before anything
reads the page.
"""

import random
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from lxml import etree

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


def score(found: str, wanted: str) -> tuple[float, float]:
    """Precision and recall of `found`."""
    ours, theirs = shingles(found), shingles(wanted)
    common = sum(min(count, theirs.get(run, 0)) for run, count in ours.items())
    return common / max(1, sum(ours.values())), common / max(1, sum(theirs.values()))
