"""Which pages with like fingerprints say the same, and what a site's boilerplate must not make alike."""

import random
import re
from collections import Counter

import pytest

from app.features.near.fingerprint import words_of
from app.features.near.likeness import (
    LEAST_WORDS,
    SAME_PHRASES,
    START_CHARS,
    Likeness,
    Reading,
    is_headed_otherwise,
    is_named_alike,
    is_titled_alike,
    likeness,
    resemblance,
)
from app.features.near.simhash import simhash

RNG = random.Random(11)
WORDS = ["".join(RNG.choices("abcdefghijklmnopqrstuvwxyz", k=RNG.randint(3, 9))) for _ in range(2_000)]
FOOTER = " ".join(RNG.choices(WORDS, k=40))


def prose(n: int, seed: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=n))


ARTICLE = f"Waiting between requests\n{prose(400, 1)}\n{FOOTER}"
RELEASE = f"Release 1.4.11\nMay 14, 2014\n{prose(300, 2)}"
LISTED = "\n".join(f"Create{n} TField method of the class and what it does" for n in range(60))
GERMAN = f"Warten zwischen Anfragen\n{prose(400, 77)}\n{FOOTER}"

# what it shows, one page, another → how alike they are; None: they are no duplicates
ROWS: list[tuple[str, str, str, Likeness | None]] = [
    ("the same", ARTICLE, ARTICLE, Likeness.NEAR),
    ("a date and a counter", f"{ARTICLE}\nread 17 times", f"{ARTICLE}\nread 918 times", Likeness.NEAR),
    ("a print view", ARTICLE, f"{ARTICLE}\nprinted on 3 May 2024 from example.org", Likeness.NEAR),
    ("a mirror with a line of its own", ARTICLE, f"{ARTICLE}\nhosted by the friends of waiting", Likeness.NEAR),
    ("a release that repeats another", RELEASE, RELEASE.replace("1.4.11", "1.5.6"), Likeness.NEAR),
    ("a translation", ARTICLE, GERMAN, None),
    ("short pages with one footer", f"Cats\nAbout cats.\n{FOOTER}", f"Dogs\nAbout dogs.\n{FOOTER}", None),
    ("stubs of a reference", f"Struct minus\n{prose(60, 3)}", f"Struct plus\n{prose(60, 3)}", None),
    ("lists of a reference", f"TDateField\n{LISTED}", f"TGuidField\n{LISTED}", None),
    ("a template about another thing", prose(400, 4) + " rbtree" * 3, prose(400, 4) + " avltree" * 3, None),
    (
        "one thing in another's place",
        f"{prose(9, 5)}\n\n{LISTED} red red",
        f"{prose(9, 5)}\n\n{LISTED} blue blue",
        None,
    ),
    ("pages of a calendar", f"May 2031\n{FOOTER}", f"May 2032\n{FOOTER}", None),
]


@pytest.mark.parametrize(("one", "other", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_what_says_the_same(one: str, other: str, expected: Likeness | None) -> None:
    prints = simhash(words_of(one)), simhash(words_of(other))
    if None in prints:
        assert expected is None
        return
    bits = ((prints[0] or 0) ^ (prints[1] or 0)).bit_count()
    assert likeness(bits, Reading(one), Reading(other)) is expected
    assert likeness(bits, Reading(other), Reading(one)) is expected


# bits → how alike they are at most, whatever they say
@pytest.mark.parametrize(
    ("bits", "expected"), [(5, Likeness.NEAR), (6, Likeness.REVIEW), (9, Likeness.REVIEW), (10, None)]
)
def test_more_bits_are_for_review_and_more_than_nine_for_nobody(bits: int, expected: Likeness | None) -> None:
    assert likeness(bits, Reading(ARTICLE), Reading(ARTICLE)) is expected


# words of a page; another differs in its last number → how alike they are
@pytest.mark.parametrize(
    ("words", "expected"),
    [(LEAST_WORDS - 1, Likeness.REVIEW), (LEAST_WORDS, Likeness.NEAR), (2 * LEAST_WORDS, Likeness.NEAR)],
)
def test_a_short_page_may_say_no_more_than_its_number(words: int, expected: Likeness) -> None:
    page = prose(words - 1, 8)
    assert likeness(2, Reading(f"{page} 4"), Reading(f"{page} 8")) is expected


# a title, another of the same host → whether they name the same
@pytest.mark.parametrize(
    ("title", "other", "expected"),
    [
        ("Django 1.4.11 release notes", "Django 1.5.6 release notes", True),
        ("Waiting", "waiting", True),
        ("Data.Array.Storable", "Data.Array.Storable.Safe", False),
        ("System.FilePath.Posix", "System.FilePath.Windows", False),
        (None, "Waiting", True),
        ("", "Waiting", True),
    ],
)
def test_titles_of_a_host_tell_its_pages_apart(title: str | None, other: str | None, expected: bool) -> None:
    assert is_titled_alike(title, other) is is_titled_alike(other, title) is expected


# a path, another of the same host → whether the last words are the same
@pytest.mark.parametrize(
    ("path", "other", "expected"),
    [
        ("/2.68/classGlib_1_1Value_3_01long_01_4.html", "/2.68/classGlib_1_1Value_3_01long_01long_01_4.html", False),
        ("/2.4/classGlib_1_1Bytes.html", "/2.68/classGlib_1_1Bytes.html", True),
        ("/releases/1.4.11.html", "/releases/1.5.6.html", True),
        ("/gtk/method.Box.add.html", "/gtk/vfunc.Box.add.html", False),
        ("/llvm/gfx90a_hwreg.html", "/llvm/gfx7_hwreg.html", False),
        ("/llvm/gfx1030_msg.html", "/llvm/gfx8_msg.html", False),
        ("/api/Int32.html", "/api/Int64.html", False),
        ("/releases/v2.html", "/releases/v3.html", True),
        ("/news/article12345", "/news/article98765", True),
        ("/x/print", "/x", True),  # a view
        ("/node/12", "/blog/waiting", True),  # a number names nothing
        ("/s/kJ83hsA9zLq2", "/s/pQ61xbT4mNv8", True),
        ("/x?id=a", "/x?id=b", True),
        ("/", "/index.html", True),
    ],
)
def test_urls_of_a_host_tell_its_pages_apart(path: str, other: str, expected: bool) -> None:
    one, two = f"http://h{path}", f"http://h{other}"
    assert is_named_alike(one, two) is is_named_alike(two, one) is expected


def test_fingerprints_that_are_alike_by_chance_are_for_review() -> None:
    """Five bits may be chance: the texts decide. The words are the same here, and the phrases are not."""
    words = prose(300, 6).split()
    one, other = "Same\n\n" + " ".join(words), "Same\n\n" + " ".join(sorted(words))
    assert likeness(3, Reading(one), Reading(other)) is Likeness.REVIEW


# a letter whose lower case is two, one whose lower case depends on what follows, where a head ends, and a short text
@pytest.mark.parametrize(
    "text",
    [
        "İstanbul " * 60,
        f"{'x' * 298}ΟΣ ΟΔΟΣ {prose(90, 6)}",
        f"{'x' * 298}ΟΣΟΔΟΣ {prose(90, 6)}",
        ARTICLE,
        "Cats\nAll of them",
        "",
    ],
)
def test_the_beginning_of_a_text_holds_its_head(text: str) -> None:
    assert Reading(text[:START_CHARS]).head == Reading(text).head


# what another text begins with → it names something that ARTICLE does not
@pytest.mark.parametrize(
    ("start", "is_other"),
    [
        ("WAITING", False),
        ("Between\n17 requests", False),
        ("Sleeping", True),
        ("", False),
        ("Waiting\n\nSleeping", False),
    ],
)
def test_other_names_at_the_beginning_are_another_subject(start: str, is_other: bool) -> None:
    assert is_headed_otherwise(Reading(ARTICLE), Reading(start)) is is_other
    assert not is_other or likeness(0, Reading(ARTICLE), Reading(f"{start}\n{ARTICLE}")) is None


def _plain(bits: int, one: str, other: str) -> Likeness | None:
    """How alike two pages are, by all names and phrases of both."""
    texts = [one.lower(), other.lower()]
    lines = [text.split("\n") for text in texts]
    heads = [re.findall(NAME, " ".join(text[:300].split("\n")[:2])) for text in texts]
    if any(name not in text for head, text in zip(heads, reversed(texts), strict=True) for name in head):
        return None
    most = []
    for mine, theirs in ((0, 1), (1, 0)):
        known = set(re.findall(NAME, texts[theirs]))
        names = (name for line in lines[mine] if line not in lines[theirs] for name in re.findall(NAME, line))
        own = Counter(name for name in names if name not in known)
        if own.keys() & set(heads[mine]):
            return None
        most.append(max(own.values(), default=0))
    if max(most) >= 3 or min(most) >= 2:
        return None
    words = [words_of(text) for text in (one, other)]
    if min(map(len, words)) < LEAST_WORDS:
        return Likeness.REVIEW
    phrases = [set(zip(each, each[1:], each[2:], strict=False)) for each in words]
    return Likeness.NEAR if resemblance(*phrases) >= SAME_PHRASES else Likeness.REVIEW


NAME = r"[^\W\d]\w+"
PARTS = [
    "12cats",
    "cats",
    "concats",
    "1_cats",
    "²cats",
    "2²cats",
    "猫がいる",
    "İx",
    "ΟΣ",
    "a",
    "7",
    "n_1",
    "Cats",
    "c-ats",
]


def _changed(rng: random.Random, lines: list[str]) -> str:
    """A copy in which some lines say something else, come twice, are away, or stand in one."""
    lines, n = list(lines), rng.choice((0, 1, 1, 2, 4, 9, 30))
    for _ in range(n):
        at = rng.randrange(len(lines))
        words = [*rng.choices(PARTS, k=rng.randrange(4)), *rng.choices(WORDS, k=rng.randrange(4))]
        lines[at : at + rng.randrange(3)] = [" ".join(words)] * rng.choice((1, 1, 2))
    return rng.choice("\n\n\n\n ").join(lines)


def test_what_is_not_looked_at_would_change_nothing() -> None:
    """Passages that both have stand for their phrases, and a few names are looked for one by one."""
    found = Counter[Likeness | None]()
    for seed in range(1_500):
        rng = random.Random(seed)
        size = rng.choice((3, 12, 12, 80))
        lines = [
            " ".join(rng.choices(WORDS + PARTS, k=rng.choice((0, 1, 2, 7, 20)))) for _ in range(rng.choice((20, 60)))
        ]
        lines[rng.randrange(len(lines))] = prose(size * 10, seed)
        one, other = _changed(rng, lines), _changed(rng, lines)
        expected = _plain(3, one, other)
        assert likeness(3, Reading(one), Reading(other)) is expected, (one, other)
        found[expected] += 1
    assert min(found[each] for each in (None, *Likeness)) > 50
