"""Declaring a handler: what the decorator takes, and the line that refuses what cannot work."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.errors import InputError
from app.features.extract import handlers
from app.features.extract.handlers import Follow, follow, handler, registered


@pytest.fixture(autouse=True)
def _none_before() -> Iterator[None]:
    """The register is one for the process: this one begins and ends empty."""
    handlers.forget()
    yield
    handlers.forget()


def books(page: Any) -> Iterator[dict[str, str]]:
    yield {"url": page.url}


def several(page: Any, *rest: Any, **more: Any) -> None:
    """It can be called with one page, too."""


def none_at_all() -> None:
    """It takes no page."""


def one_too_many(page: Any, other: Any) -> None:
    """It wants more than a page."""


async def later(page: Any) -> None:
    """Nobody awaits it."""


def test_a_declared_handler_stays_a_function() -> None:
    assert handler(match=r"/books/", version=2)(books) is books
    (declared,) = registered()
    assert (declared.name, declared.version, declared.match) == ("books", 2, ("/books/",))
    assert declared.place.startswith(__file__)


# function, arguments of the decorator, words of the refusal
@pytest.mark.parametrize(
    ("function", "arguments", "words"),
    [
        (none_at_all, {}, "cannot be called with one page"),
        (one_too_many, {}, "missing a required argument: 'other'"),
        (later, {}, "is async"),
        (books, {"match": "("}, "match '(' is not a regular expression"),
        (books, {"match": [r"/a/", 7]}, "match 7 is not a text"),
        (books, {"version": 0}, "version 0 is not a whole number"),
        (books, {"version": "2"}, "version '2' is not a whole number"),
        (books, {"version": True}, "version True is not a whole number"),
        (books, {"name": "Books"}, "a name has 1 to 40"),
        (books, {"name": ""}, "a name has 1 to 40"),
        (books, {"name": "b" * 41}, "a name has 1 to 40"),
        (lambda page: [], {}, "a name has 1 to 40"),
    ],
)
def test_what_cannot_work_is_refused_in_a_line(
    function: Callable[..., Any], arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError) as refused:
        handler(**arguments)(function)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert registered() == []


def test_two_of_one_name_are_refused_with_both_places() -> None:
    handler()(books)
    handler(name="books")(several)
    with pytest.raises(InputError, match=r"handler books: declared twice, at .*test_handlers.py:\d+ and .*:\d+"):
        registered()


def test_a_module_that_is_run_again_declares_its_handlers_anew() -> None:
    handler()(books)
    handler(version=2)(books)
    assert [each.version for each in registered()] == [2]


# url, lane, score → the link, None: refused
@pytest.mark.parametrize(
    ("lane", "score", "link"),
    [
        (None, None, Follow(url="/next")),
        (0, 2, Follow(url="/next", lane=0, score=2.0)),
        (3, None, Follow(url="/next", lane=3)),
        (4, None, None),
        (-1, None, None),
    ],
)
def test_a_link_to_follow(lane: int | None, score: float | None, link: Follow | None) -> None:
    if link is None:
        with pytest.raises(ValueError, match="lane"):
            follow("/next", lane=lane)
    else:
        assert follow("/next", lane=lane, score=score) == link
