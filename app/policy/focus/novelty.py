"""Tells how much of a page's text is new: the share of its phrases that were not seen on its host so far.

A phrase is three words in a row (w-shingling: A. Broder, S. Glassman, M. Manasse, G. Zweig, "Syntactic clustering of
the web", 1997). Numbers are no words: a calendar's days differ in nothing else.

The name of another page is that page's news: a facet shows the same names in ever new orders. What such links lead to
is credited to the page that was the first to name them (`patterns`).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby
from typing import Final, NamedTuple, Protocol

from app.policy.focus.vocabulary import tokens

_PIECE: Final = re.compile(r"\d+|[^\W\d_]+")
_WORD: Final = re.compile(r"[^\W\d_]+")
_PARAMETER: Final = re.compile(r"[?&][^=&]*=?")  # its name, or all of one without a "=": each octet is read once

MOST_CHARS = 4_000  # of a text: half from its beginning, half from its middle
LEAST_PHRASES = 3
FEW_PHRASES = 20  # of so few, what the URL says already counts for nothing
FEW_WORDS = 40  # of so few, names of other pages, wherever these stand, count for nothing
LONGEST_NAME = 4  # words of such a name
MOST_LABELS = 500  # of a page: what follows is more of its kind
MOST_NAMES = 8  # lines that count: a sentence of six words is news among any number of links
LONGEST_NAMES = 300  # characters of a line: longer ones are prose
MOST_STATEMENTS = 60  # lines of a page that are compared whole
LONGEST_STATEMENT = 80  # characters of a line in which the page's own address counts for nothing
MANY_PHRASES, SAMPLED = 80, 4  # of so many, every fourth by its hash is enough to compare


class Seen(Protocol):
    """A set of hashes, which may answer yes by mistake."""

    def __contains__(self, item: int, /) -> bool: ...
    def update(self, items: Iterable[int], /) -> object: ...


class Said(NamedTuple):
    """A text as it is compared: its lines, and the words of each."""

    lines: list[str]
    words: list[list[str]]

    @property
    def all_words(self) -> list[str]:
        return list(chain.from_iterable(self.words))


def said(text: str) -> Said:
    """Split a text once for all that is asked of it; of one longer than MOST_CHARS a beginning and a middle."""
    lines = _sample(text).split("\n")
    return Said(lines, [tokens(line) for line in lines])


def words_of(text: str) -> list[str]:
    """The words of a text that are compared."""
    return tokens(_sample(text))


def own_text(text: Said, labels: Iterable[str]) -> tuple[str, list[str], int]:
    """A text as it is compared, without the lines that mostly name other pages; its words; the number of these lines.

    labels: of links to pages of its host, some 500 of them
    """
    longest: dict[str, int] = {}
    named = {words for label in labels if (words := _label(label))}
    for words in named:
        if len(words) > longest.get(words[0], 0):
            longest[words[0]] = len(words)
    first = longest.keys()
    own: list[str] = []
    found: list[str] = []
    for line, said in zip(*text, strict=True):
        if len(line) <= LONGEST_NAMES and not first.isdisjoint(said) and _names_pages(said, named, longest):
            continue
        own.append(line)
        found += said
    return "\n".join(own), found, len(text.lines) - len(own)


def address_in(text: Said, target: str) -> list[str]:
    """The end of a page's own path and query, as a label, where its text shows it: sites link filters to themselves.

    target: path and query of the page
    """
    end = target.rpartition("/")[2]
    return [end] if "=" in end and any(end in line for line in text.lines) else []


@lru_cache(maxsize=2_048)
def _label(text: str) -> tuple[str, ...]:
    """The words of a label; a site has most of them on each page."""
    return tuple(tokens(text))


def _names_pages(words: list[str], named: set[tuple[str, ...]], longest: Mapping[str, int]) -> bool:
    """Whether half of a line's words, or more, are labels of links.   longest: size of these, by their first word

    Most lines that have such a first word, a sentence with "the", are too long for all labels that it may begin.
    """
    if 2 * sum([longest[word] for word in words if word in longest]) < len(words):
        return False
    end = covered = 0
    for at in [at for at, word in enumerate(words) if word in longest]:
        if at >= end:
            size = longest[words[at]]
            while size and tuple(words[at : at + size]) not in named:
                size -= 1
            covered += size
            end = at + size
    return 2 * covered >= len(words) > 0


def names_of(labels: Iterable[str]) -> set[int]:
    """Hashes of labels: what pages of the host are called."""
    return {_hashed(words) for label in labels if (words := _label(label)) and len(words) <= LONGEST_NAME}


@lru_cache(maxsize=2_048)
def _hashed(name: tuple[str, ...]) -> int:
    """A hash of a name that is none of a phrase."""
    return hash(("", *name))


def without_names(words: list[str], is_name: Callable[[int], bool]) -> list[str]:
    """The words of a short text without those that are what some page of the host is called, by any page so far."""
    own, at = [], 0
    while at < len(words):
        size = next((n for n in range(LONGEST_NAME, 0, -1) if is_name(hash(("", *words[at : at + n])))), 0)
        if not size:
            own.append(words[at])
        at += size or 1
    return own


def phrases(text: str, words: list[str], target: str = "") -> list[int]:
    """Hashes of a text's phrases in their order, valid in this process. A text of a few words is one phrase; none has
    none. Numbers are left out: a list of measurements is endless, and has others on each page (`statements` has them).

    target: path and query of the page. What stands there says nothing more in a short text: a calendar's months are
    endless, and so are the names of users.
    """
    found = _threes(words)
    if len(found) >= MANY_PHRASES:
        return [phrase for phrase in found if phrase % SAMPLED == 0]
    if len(found) >= FEW_PHRASES:
        return found
    named = _address(target)
    found = _threes([word for word in words if word not in named])
    if len(found) >= LEAST_PHRASES:
        return found
    sample = _sample(text)
    short = " ".join(word for word in _WORD.findall(sample) if word.lower() not in named)
    return [hash(short)] if sample.strip() else []


def statements(text: Said, target: str, labels: Iterable[str]) -> dict[int, int]:
    """Hashes of a page's lines with their numbers, but for labels of links: without what its address says, and whole.

    A product whose price and size alone are its own has a line that no other page has; a calendar's month has none, and
    neither has `?print=1` of a page that says 1.
    """
    named, names = _address(target), {" ".join(label.split()) for label in labels}
    found = {}
    for line in text.lines[:MOST_STATEMENTS]:
        if len(line) > LONGEST_STATEMENT:
            found[hash(line)] = hash(line)
        elif line.strip() not in names:
            pieces = _PIECE.findall(line.lower())
            if own := tuple(piece for piece in pieces if _plain(piece) not in named):
                found[hash((len(own), *own, ""))] = hash((len(pieces), *pieces, ""))
    return found


def _address(target: str) -> set[str]:
    """The words and numbers of a page's own path and query, without names of parameters."""
    values = _PARAMETER.sub(lambda found: " " if found[0][-1] == "=" else found[0], target.lower())
    return {_plain(piece) for piece in _PIECE.findall(values)}


def _threes(words: list[str]) -> list[int]:
    return list(map(hash, zip(words, words[1:], words[2:], strict=False)))


def _plain(piece: str) -> str:
    return piece.lstrip("0")


def new_share(found: Sequence[int], seen: Iterable[Seen], *, names: int = 0) -> float:
    """The share of these phrases that no set holds.   names: lines that name other pages, and are nothing new"""
    is_new = [True] * len(found)
    for each in seen:
        is_new = [new and phrase not in each for new, phrase in zip(is_new, found, strict=True)]
    new = sum(is_new) if len(found) >= FEW_PHRASES else _changed(is_new)
    weight = max(LEAST_PHRASES / len(found), 1.0)  # of a short text, which is one phrase
    return new * weight / (len(found) * weight + min(names, MOST_NAMES))


def _changed(is_new: list[bool]) -> int:
    """The fewest words that make these phrases new. Each stands in three, as another name in a form does."""
    most = len(is_new)
    runs = [(new, len(list(run))) for new, run in groupby(is_new)]
    if len(runs) == 1:
        return most if runs[0][0] else 0
    inner = runs[1:-1]
    ends = sum(size if size > 3 else 1 for new, size in (runs[0], runs[-1]) if new)
    return ends + sum(max(size - 2, 1) for new, size in inner if new)


def _sample(text: str) -> str:
    """All of a short text; of others two parts. Of texts that differ a little it is nearly the same."""
    if len(text) <= MOST_CHARS:
        return text
    half, middle = MOST_CHARS // 2, len(text) // 2
    return f"{text[:half]} {text[middle : middle + half]}"
