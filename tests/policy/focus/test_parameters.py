"""Which parameters change nothing, by pages that differ in one alone."""

import pytest

from app.policy.focus.parameters import ENOUGH, MOST_NAMES, Brought, parameters, without

A, B = b"a", b"b"


def pages(*rows: tuple[str, bytes]) -> list[Brought]:
    return [Brought(1, f"http://h.test{path}", text, text) for path, text in rows]


def verdicts(found: list[Brought]) -> dict[str, tuple[int, int, bool]]:
    return {each.name: (each.passed, each.failed, each.is_idle) for each in parameters(found)}


MANY = "&".join(f"p{n}=1" for n in range(MOST_NAMES))
IDLE = [(f"/{n}{query}", bytes([n])) for n in range(ENOUGH) for query in ("", "?ref=x")]

# what it shows, pages → (passed, failed, changes nothing) of each parameter that was tested
ROWS: list[tuple[str, list[Brought], dict[str, tuple[int, int, bool]]]] = [
    ("with and without", pages(*IDLE), {"ref": (ENOUGH, 0, True)}),
    ("too few", pages(*IDLE[:-1]), {"ref": (ENOUGH - 1, 0, False)}),
    ("one against it", pages(*IDLE, ("/9", A), ("/9?ref=x", B)), {"ref": (ENOUGH, 1, False)}),
    ("values", pages(*[(f"/?from={n}", A) for n in range(ENOUGH + 1)]), {"from": (ENOUGH, 0, True)}),
    ("a page number", pages(("/?page=1", A), ("/?page=2", B)), {"page": (0, 1, False)}),
    ("beside another", pages(("/?id=1&ref=x", A), ("/?ref=y&id=1", A), ("/?id=2", B)), {"ref": (1, 0, False)}),
    ("only ever with it", pages(("/?id=1", A), ("/x?id=2", B)), {}),
    ("two at once test none", pages(("/?a=1&b=1", A), ("/", A)), {}),
    (
        "as many as are compared",
        pages((f"/?{MANY}", A), (f"/?{MANY}".replace("p0=1", "p0=2"), A)),
        {"p0": (1, 0, False)},
    ),
    ("more than are compared", pages((f"/?x=1&{MANY}", A), (f"/?x=2&{MANY}", A)), {}),
    ("in any case", pages(("/?Ref=1", A), ("/?ref=2", A)), {"ref": (1, 0, False)}),
]


@pytest.mark.parametrize(("found", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_what_changes_nothing(found: list[Brought], expected: dict[str, tuple[int, int, bool]]) -> None:
    assert verdicts(found) == expected


def test_pages_of_two_crawls_do_not_test_each_other() -> None:
    assert parameters([Brought(1, "http://h.test/?a=1", A, A), Brought(2, "http://h.test/", A, A)]) == []


def test_pages_without_text_are_the_same_by_their_bytes_alone() -> None:
    both = [Brought(1, "http://h.test/?a=1", A, None), Brought(1, "http://h.test/", B, None)]
    assert verdicts(both) == {"a": (0, 1, False)}


# what each of two pages with the same text was the first to name → whether they are the same
@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (["/thing/1"], ["/thing/2"], False),  # pages of a list
        (["/thing/1"], [], True),
        (["/?page=2"], ["/?page=3"], True),  # they name nothing but each other: behind the list's end
    ],
)
def test_ours_pages_of_a_list_that_name_other_urls_differ(one: list[str], other: list[str], is_same: bool) -> None:
    both = [
        Brought(1, f"http://h.test/?page={n}", body, A, tuple(f"http://h.test{path}" for path in named))
        for n, body, named in ((1, A, one), (2, B, other))
    ]
    assert verdicts(both) == {"page": (int(is_same), int(not is_same), False)}


def test_a_test_is_shown() -> None:
    (found,) = parameters(pages(("/", A), ("/?a=1", A)))
    assert (found.same, found.other) == ("http://h.test/", "http://h.test/?a=1")


@pytest.mark.parametrize(
    ("url", "names", "expected"),
    [("/?b=2&a=1", {"b"}, "/?a=1"), ("/?b=2&a=1", set(), "/?a=1&b=2"), ("/?a=1", {"a"}, "/"), ("/?&a", {"x"}, "/?a")],
)
def test_without(url: str, names: set[str], expected: str) -> None:
    assert without(url, names) == expected
