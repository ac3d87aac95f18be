"""Shapes of URLs, and whether their like is worth further requests."""

import pytest

from app.policy.focus.novelty import new_share, phrases, words_of
from app.policy.focus.patterns import (
    ALONE,
    ENDLESS,
    MOST_SPARED,
    MUCH,
    TRIES,
    TrapKind,
    Yield,
    after_sparing,
    by_form,
    has_turned,
    is_poor,
    is_retried,
    is_worth,
    spares,
    tries,
)
from app.policy.focus.profile import TrapTerms
from app.policy.focus.shape import LONGEST, shape_of

TERMS = TrapTerms()


# target → shape, groups
@pytest.mark.parametrize(
    ("target", "name", "groups"),
    [
        ("/", "/", ["/**"]),
        ("/about", "/w", ["/**"]),
        ("/docs/install.html", "/docs/w", ["/docs/**"]),
        ("/Docs/v2/install", "/docs/w#/w", ["/docs/**"]),
        ("/calendar/2031/05", "/calendar/@/#", ["/calendar/**"]),
        ("/calendar/2031-05-07", "/calendar/@", ["/calendar/**"]),
        ("/calendar?month=5&year=2031", "/calendar?month&year", ["?month", "?year"]),
        ("/shop?Color=red&size=m&sort=price", "/shop?color&size&sort", ["?color", "?size", "?sort"]),
        ("/shop?f%5B0%5D=red&size=m", "/shop?f[#]&size", ["?f[#]", "?size"]),
        ("/shop?sort=x&size=l&color=blue", "/shop?color&size&sort", ["?color", "?size", "?sort"]),
        ("/9f86d081884c7d659a2feaa0c55ad015/docs/x", "/~/w/w", ["/~/**"]),
        ("/f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "/~", ["/~/**"]),
        ("/s/kJ83hsA9zLq2/x", "/s/~/w", ["/s/**"]),
        ("/(S(lit3py55t21z5v55vlm25s55))/default.aspx", "/~/w", ["/~/**"]),
        ("/(X(1)S(lit3py55t21z5v55vlm25s55))/a", "/~/w", ["/~/**"]),
        ("/wiki/Special:WhatLinksHere/Cats", "/wiki/special:w/w", ["/wiki/**"]),
        ("/wiki/Talk:Cats_2", "/wiki/talk:w", ["/wiki/**"]),
        ("/wiki/Cats:_a_history", "/wiki/w", ["/wiki/**"]),
        ("/group/code/-/blame/main/a.py", "/group/w/w/blame/w/w", ["/group/**"]),
        ("/item/17", "/item/#", ["/item/**"]),
        ("/17/item", "/#/w", ["/**"]),
        ("/a/b/c/d/e/f/g/h/i/j/k", "/a/w/w/w/w/w/w/w/*", ["/a/**"]),
        ("?x=1", "/?x", ["?x"]),
        ("/index.php?/tags/4-cats/7-dogs", "/index.php?tags/w#/w#", ["/index.php?tags/**"]),  # a path in the query
        ("/index.php?/tags/4-cats&page=2", "/index.php?tags/w#?page", ["?page"]),
        ("/picture.php?/512/album/3", "/picture.php?/#/w/#", ["/picture.php?/**"]),
        ("/picture.php?/512&slideshow=", "/picture.php?/#?slideshow", ["?slideshow"]),
        ("/x?f[1]=a&f[22]=b", "/x?f[#]&f[#]", ["?f[#]", "?f[#]"]),
    ],
)
def test_shapes(target: str, name: str, groups: list[str]) -> None:
    found = shape_of(target)
    assert (found.name, list(found.groups)) == (name, groups)


def test_a_shape_is_bounded() -> None:
    found = shape_of("/" + "x" * 2_000 + "/y?" + "&".join(f"{'p' * 200}{n}=1" for n in range(50)))
    assert max(map(len, (found.name, *found.groups))) <= LONGEST
    assert len(found.groups) < 10


# path → times in a row that its segments repeat
@pytest.mark.parametrize(
    ("path", "repeats"),
    [
        ("/", 1),
        ("/a/b/c", 1),
        ("/a/a", 2),
        ("/a/b/a", 1),
        ("/a/b/a/b", 2),
        ("/a/b/a/b/a/b", 3),
        ("/x/a/b/c/a/b/c/y", 2),
        ("/a/a/a/a/a", 5),
        ("/a/b/a/c/a/d", 1),
    ],
)
def test_repeats(path: str, repeats: int) -> None:
    assert shape_of(path).repeats == repeats


# path → the trap that it gives away
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/a/a/a", None),
        ("/a/a/a/a", TrapKind.REPEATS),
        ("/a/b" * 4, TrapKind.REPEATS),
        ("/" + "/".join(f"s{n}" for n in range(24)), None),
        ("/" + "/".join(f"s{n}" for n in range(25)), TrapKind.DEPTH),
    ],
)
def test_by_form(path: str, kind: TrapKind | None) -> None:
    assert by_form(TERMS, shape_of(path)) is kind


def pages(*brought: bool) -> Yield:
    found = Yield()
    for each in brought:
        found = found.after(each)
    return found


GOOD = pages(*[True] * 10)
BAD = pages(*[False] * 40)
POOR = pages(*[True, False, False, False, False, False] * 8)


# what a shape and its groups have brought → worth another request?
@pytest.mark.parametrize(
    ("own", "groups", "worth"),
    [
        (Yield(), [Yield()], True),
        (pages(False, False), [Yield()], True),
        (pages(False, False, False), [Yield()], False),
        (pages(False, False, True), [Yield()], True),
        (pages(True, False), [Yield()], True),
        (pages(True, False, False), [Yield()], False),  # the first page of a trap is new, too
        (pages(*[True] * 5, *[False] * 40), [GOOD], False),  # a calendar after its events
        (pages(*[True, False, False, False] * 10), [GOOD], True),  # one in four is worth it
        (pages(False, False), [GOOD], True),
        (Yield(), [POOR], True),  # among many that bring little: one is tried
        (pages(False), [POOR], False),
        (pages(True), [POOR], True),
        (pages(*[True] * 20, *[False] * 30), [GOOD], True),  # what it has brought earns it some more
        (pages(*[True] * 20, *[False] * 40), [GOOD], False),
        (Yield(), [BAD], False),  # among many that bring nothing
        (pages(True), [BAD], True),
        (Yield(), [BAD, GOOD], True),  # /list?page=2&sort=price
        (pages(False), [BAD, GOOD], False),
        (Yield(), [BAD, BAD], False),  # /list?color=red&sort=price
    ],
)
def test_worth(own: Yield, groups: list[Yield], worth: bool) -> None:
    assert is_worth(TERMS, own, groups) is worth


def test_what_was_brought_long_ago_is_forgotten_before_postgres_refuses_its_weight() -> None:
    found, aged = Yield().after(True), Yield().after(True)
    for _ in range(2_000):
        found, aged = found.after(False), aged.aged()
        assert all(weight == 0 or weight > 1e-37 for weight in (found.new_lately, aged.new_lately))
    assert found.new_lately == aged.new_lately == found.share == 0
    assert found.after(True).new_lately == 1


def test_a_suspect_has_a_trial_of_one() -> None:
    assert is_worth(TERMS, Yield(), [Yield()], is_suspect=True)
    assert not is_worth(TERMS, pages(False), [Yield()], is_suspect=True)
    assert is_worth(TERMS, pages(True), [Yield()], is_suspect=True)
    assert not is_worth(TERMS, Yield(), [POOR], is_suspect=True)
    assert is_worth(TERMS, pages(True), [POOR], is_suspect=True)


def test_a_list_is_worth_what_it_names_first() -> None:
    found = pages(False, False, False)
    assert not is_worth(TERMS, found, [Yield()])
    assert is_worth(TERMS, found.credited(), [Yield()])
    assert has_turned(TERMS, found.refusing(), found.refusing().credited())


def test_a_page_that_names_many_counts_as_one() -> None:
    found = pages(*[False] * 30)
    for _ in range(100):
        found = found.credited()
    assert found.share <= 1
    for _ in range(60):
        found = found.after(False)
    assert is_poor(TERMS, found)


def test_some_are_fetched_after_all_and_ever_fewer() -> None:
    found, retried = BAD, []
    for number in range(1, 70 * TERMS.retry):
        if is_retried(TERMS, found):
            retried.append(number)
        found = found.refusing()
    assert retried == [TERMS.retry * each for each in (1, 8, 64)]


TEXT = "the quick brown fox jumps over the lazy dog and runs away from the farm into the deep dark wood at night"


# text seen, text of a page → the share that is new
@pytest.mark.parametrize(
    ("seen", "text", "least", "most"),
    [
        ("", TEXT, 1, 1),
        (TEXT, TEXT, 0, 0),
        (TEXT, f"menu {TEXT} imprint", 0.05, 0.2),  # a mirror with another frame
        ("no events on 3 May 2031 here today", "no events on 4 May 2032 here today", 0, 0),
        (TEXT, TEXT[::-1], 1, 1),
        ("not found", "not found", 0, 0),
        ("not found", "page 2", 1, 1),
        ("here you see how far it is from ely to stow", "here you see how far it is from ely to wells", 0.1, 0.2),
        ("here you see how far it is from ely to stow", "here you see how far it is to wells from ely", 0.3, 0.6),
        ("the way to ely by rail is short", "the way to stow by rail is short", 0.1, 0.2),  # one word of eight
        (TEXT, TEXT + " " + " ".join(f"{a}{b}" for a in "bcdfg" for b in "aeiou"), 0.4, 0.7),
    ],
)
def test_new_share(seen: str, text: str, least: float, most: float) -> None:
    before, found = phrases(seen, words_of(seen)), phrases(text, words_of(text))
    assert least <= new_share(found, [set(before)]) <= most


# text → how many phrases it has
@pytest.mark.parametrize(
    ("text", "n"), [("", 0), (" \n ", 0), ("17", 1), ("not found", 1), ("a tiny page", 1), (TEXT, 20)]
)
def test_a_text_of_a_few_words_is_one_phrase(text: str, n: int) -> None:
    assert len(phrases(text, words_of(text))) == n


def test_numbers_are_no_news_where_there_is_little_else() -> None:
    assert phrases("page 1", ["page"]) == phrases("page 2", ["page"]) != phrases("side 1", ["side"])


# gains of a shape's renderings, one after another; characters of a page that looks plain; whether it needs a browser
LEARNED = [
    ([], 0, False),  # a host that is known to need no browser
    ([900, 900], 0, False),  # no proof yet
    ([900, 900, 900], 0, True),
    ([900, 2_000, 700], 699, True),
    ([900, 2_000, 700], 700, False),  # it says as much as a browser would gain
    ([900, 900, 900, MUCH - 1], 0, False),  # the latest refutes it
    ([900, 900, 900, 0, 900, 900], 0, False),
    ([0, 900, 900, 900], 0, True),
    ([MUCH] * 5_000, 0, True),
]


@pytest.mark.parametrize(("gains", "chars", "needs"), LEARNED)
def test_ours_a_shape_needs_a_browser_as_long_as_each_rendering_proves_it(
    gains: list[int], chars: int, needs: bool
) -> None:
    found = Yield()
    for gain in gains:
        found = found.after_rendering(gain)
    assert found.found().after(True).needs_browser(chars) is needs
    assert found.rendered < 2**15, "a smallint holds it"


def thin(pages: int, told: int, **values: int) -> Yield:
    return Yield(fetched=pages, told=told, refused=9, **values)


# pages of a host, and refused URLs that are tried at a time where nothing else waits
@pytest.mark.parametrize(("pages", "n"), [(0, 3), (999, 3), (1_000, 4), (9_000, TRIES)])
def test_a_small_host_tries_fewer_refused_urls(pages: int, n: int) -> None:
    assert tries(TERMS, Yield(), pages) == n
    assert tries(TERMS, BAD, pages) == 0


# refused URLs of a shape: what it has had, what its group has had, how many are left, how many of these are fetched
@pytest.mark.parametrize(
    ("own", "group", "left", "n"),
    [
        (thin(3, 3), Yield(), 900, 4),
        (thin(3, 2), Yield(), 900, 4),
        (thin(3, 1), Yield(), 13, 0),  # the first page of a trap tells something, too
        (thin(4, 4, spared=1, grown=900), Yield(), 900, 2),
        (thin(8, 8, spared=5, grown=904), Yield(), 900, 10),
        (thin(8, 8, spared=5, grown=896), Yield(), 900, 1),  # they have grown
        (thin(8, 8, spared=ENDLESS), Yield(), 9, 0),
        (thin(300, 300, spared=MOST_SPARED, grown=900), Yield(), 900, MOST_SPARED),
        (thin(1, 1), Yield(), 9, 0),  # as the first page of a trap does
        (thin(2, 2), Yield(), 9, 4),
        (thin(0, 0), thin(4, 4), 9, 2),
        (thin(0, 0), thin(4, 0), 9, 0),
        (thin(0, 0, spared=1), thin(4, 4), 9, 0),
        (thin(9, 2), Yield(), 50, 4),  # half of the room for all of them
        (thin(9, 2), Yield(), 51, 0),
        (thin(9, 1), Yield(), 50, 0),
        (thin(9, 1), Yield(), 18, 4),  # few of them are left, whatever they say
        (thin(9, 1), Yield(), 19, 0),
        (thin(2, 1), Yield(), 5, 4),  # a twentieth of the room
        (thin(2, 0), Yield(), 5, 0),  # as links to nothing are
        (thin(0, 0), thin(9, 1), 18, 0),  # each level of endless folders is a shape of its own
    ],
)
def test_refused_urls_that_tell_something_are_spared(own: Yield, group: Yield, left: int, n: int) -> None:
    assert spares(own, group, left, 100) == n


# how many were fetched all the same, how many were left then, and are by now; what is known then
@pytest.mark.parametrize(
    ("spared", "before", "left", "known"),
    [
        (1, 7, 7, (1, 7)),
        (1, 7, 8, (ENDLESS, ALONE)),
        (1, 0, 1, (ENDLESS, ALONE)),
        (3, 7, 500, (ENDLESS, ALONE)),
        (4, 7, 500, (4, 7)),  # an index among them names many
        (8, 9, 0, (8, 9)),
        (0, 0, 500, (0, 0)),
        (ENDLESS, ALONE, 500, (ENDLESS, ALONE)),  # others are left
        (ENDLESS, 9, 10, (ENDLESS, ENDLESS)),
        (ENDLESS, 9, 9, (1, 9)),  # another pattern's pages named its like
        (ENDLESS, ENDLESS, 500, (ENDLESS, ENDLESS)),
    ],
)
def test_what_grows_as_fast_as_it_is_fetched_has_no_end(
    spared: int, before: int, left: int, known: tuple[int, int]
) -> None:
    found = after_sparing(thin(9, 9, spared=spared, grown=before), left)
    assert (found.spared, found.grown) == known
