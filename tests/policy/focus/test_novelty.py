"""A page's own words: without names of other pages, and what stands in its own URL."""

import time

import pytest

from app.policy.focus.novelty import MOST_CHARS, own_text, phrases, said, statements, words_of

LABELS = ["Red Summer Shirt", "Blue Winter Coat", "Next", "17"]
CAPTION = "A heron waits beside the frozen weir"


# text, by lines → lines that are its own
@pytest.mark.parametrize(
    ("lines", "own"),
    [
        (["Shirts", "Red Summer Shirt", "Blue Winter Coat"], ["Shirts"]),
        (["Red Summer Shirt 19.99 EUR"], []),  # three words of four
        (["Red Summer Shirt Blue Winter Coat Next"], []),
        (["Next we saw a heron"], ["Next we saw a heron"]),
        (["We compare the Red Summer Shirt with nine others of its kind"],) * 2,
        (["17", ""], ["17", ""]),  # without words, nothing is named
    ],
)
def test_ours_lines_that_name_other_pages_are_their_news(lines: list[str], own: list[str]) -> None:
    text, words, names = own_text(said("\n".join(lines)), LABELS)
    assert text == "\n".join(own)
    assert words == words_of(text)
    assert names == len(lines) - len(own)


def test_a_text_without_labels_is_its_own() -> None:
    assert own_text(said(CAPTION), ["17", ""]) == (CAPTION, words_of(CAPTION), 0)


# path and query, text → path and query, text; whether they say the same
@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (("/calendar/2031/05", "2031-05"), ("/calendar/2042/11", "2042-11"), True),
        (("/?m=203105", "2031 05"), ("/?m=203106", "2031 06"), True),
        (("/user?u=7", "Member 7"), ("/user?u=8", "Member 8"), True),
        (("/user?u=007", "Member 7"), ("/user?u=8", "Member 8"), True),
        (("/price/a", "Price 7"), ("/price/b", "Price 8"), True),  # a line of its own, below
        (("/p/a", "7 km away"), ("/p/b", "7 km ahead"), False),
        (("/u/anna", "Anna\nanna joined, posts, likes"), ("/u/otto", "Otto\notto joined, posts, likes"), True),
        (("/u/anna", "Anna grows old roses"), ("/u/otto", "Otto likes to sing"), False),
        (("/tag/red/blue", "Red Blue"), ("/tag/red/green", "Red Green"), True),
    ],
)
def test_ours_what_stands_in_the_url_says_nothing_more(
    one: tuple[str, str], other: tuple[str, str], is_same: bool
) -> None:
    found = [phrases(text, words_of(text), target) for target, text in (one, other)]
    assert (found[0] == found[1]) is is_same


@pytest.mark.parametrize("text", ["", "ΟΔΟΣ\nΑΘΗΝΑ\n\n12 İl", "Some words of a\nline " * MOST_CHARS])
def test_the_words_of_lines_are_those_of_the_text(text: str) -> None:
    assert said(text).all_words == words_of(text)


def test_of_a_long_text_a_beginning_and_a_middle_are_compared() -> None:
    line = "one two \n"
    whole = line * (MOST_CHARS // len(line))
    assert len(said(whole).lines) == MOST_CHARS // len(line) + 1
    long = f"{whole}{'three four ' * MOST_CHARS}end"
    words = set(said(long).all_words)
    assert words > {"one", "two", "three", "four"}
    assert "end" not in words
    assert len(" ".join(said(long).all_words)) < MOST_CHARS


FRAME = "Delivery takes two or three working days within the country and a week to all other countries on earth"


# text, path, labels of links: whether it has a line that the page before it has not
@pytest.mark.parametrize(
    ("text", "target", "labels", "tells"),
    [
        (f"Product 8\nPrice: 17.30\n{FRAME}", "/p/8", (), True),
        (f"Product 8\nPrice: 9.90\n{FRAME}", "/p/8", (), False),
        (f"Price: 9.90\nMonth 2031-05\n{FRAME}", "/calendar/2031/05", (), False),
        ("Product 7\nPrice: 9.90\nThe next one", "/p/7", ("The next one",), False),
        (FRAME, "/p/7?print=1", (), False),
    ],
)
def test_a_line_of_its_own_may_be_a_number(text: str, target: str, labels: tuple[str, ...], tells: bool) -> None:
    before = statements(said(f"Product 7\nPrice: 9.90\nMonth\n{FRAME}"), "/p/7", ())
    assert bool(statements(said(text), target, labels).keys() - before.keys()) == tells


@pytest.mark.parametrize(("query", "own"), [("?a?b=c", {"c"}), ("?a?b&c=d", {"a", "b", "d"}), ("?a=?b=c", {"c"})])
def test_names_of_parameters_say_nothing_and_their_values_do(query: str, own: set[str]) -> None:
    shown = {word for word in "abcd" if not statements(said(word), f"/{query}", ())}
    assert shown == own


def test_an_address_of_marks_without_names_is_read_once() -> None:
    began = time.process_time()
    statements(said("A line"), f"/{'?' * 20_000}", ())
    assert time.process_time() - began < 0.5  # 1.7 s where each mark begins anew
