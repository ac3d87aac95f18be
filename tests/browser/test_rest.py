"""When a page is done, look by look: with a browser that answers when the test says so."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from app.browser.connection import PageChannel
from app.browser.page import RESTLESS_S, SLOW, PageRest
from app.browser.requests import Traffic
from app.browser.targets import Targets

Answered = Callable[[Mapping[str, Any] | None], None]


@dataclass
class Browser:
    """Stands for the channel, the targets and the traffic of a page that has been quiet for long."""

    main: str = "session"
    is_idle: bool = True
    navigated_to: str | None = None
    changed_at: float = field(default_factory=lambda: time.monotonic() - 2 * RESTLESS_S)
    asked: list[tuple[str, Answered]] = field(default_factory=list)
    worlds: int | None = 1

    def world(self) -> int | None:
        return self.worlds

    def send(self, method: str, session: str, answered: Answered, **params: Any) -> None:
        self.asked.append((params["expression"], answered))

    def answer(self, value: object) -> str:
        """Answer what was asked first. Returns what it was."""
        expression, answered = self.asked.pop(0)
        answered({"result": {"value": value}})
        return expression


def page(browser: Browser) -> PageRest:
    return PageRest(cast(PageChannel, browser), cast(Targets, browser), cast(Traffic, browser))


def look(text: int, shown: int = 200) -> dict[str, object]:
    """text, shown: characters of all its text, and of what a person would read"""
    return {
        "is_parsed": True,
        "is_loaded": True,
        "is_short": shown < 200,
        "is_blank": shown == 0,
        "still_ms": 60_000,
        "text": text,
    }


def test_a_look_from_before_it_was_scrolled_does_not_end_it() -> None:
    browser = Browser()
    rest = page(browser)
    assert not rest.is_reached()
    browser.answer(look(800))
    rest._next_at = 0.0  # noqa: SLF001  # the next look is due at once
    assert not rest.is_reached(), "it is scrolled"
    assert [expression for expression, _ in browser.asked] == ["tiptoe.rest()", "tiptoe.scroll()"]
    browser.answer(look(800))
    assert not rest.is_reached(), "its end may bring more"
    assert browser.answer(True) == "tiptoe.scroll()"
    assert not rest.is_reached(), "what was seen is from before"


def test_a_page_that_begins_anew_is_looked_at_anew() -> None:
    browser = Browser()
    rest = page(browser)
    rest.is_reached()
    browser.answer(look(800))
    browser.worlds = None
    assert not rest.is_reached()
    assert browser.asked == []


@pytest.mark.parametrize(("took_s", "is_reached"), [(0.01, True), (10.0, False)])
def test_a_browser_that_is_slow_to_answer_is_waited_for(took_s: float, is_reached: bool) -> None:
    quiet_s = RESTLESS_S - 1.0
    assert 10.0 * SLOW > quiet_s > 0.01 * SLOW
    browser = Browser(changed_at=time.monotonic() - quiet_s)
    rest = page(browser)
    rest._scrolls = 99  # noqa: SLF001  # nothing is left to scroll
    rest.is_reached()
    rest._asked_at = time.monotonic() - took_s  # noqa: SLF001  # the look that is answered next
    browser.answer(look(800))
    assert rest.is_reached() is is_reached


@pytest.mark.parametrize(
    # characters that it shows, seconds without a request, where it wanted to go → whether it is done
    ("shown", "quiet_s", "navigated_to", "is_reached"),
    [
        (200, 1.0, None, True),
        (199, 1.0, None, False),
        (199, 2.1, None, True),
        (0, 2.1, None, False),
        (0, 3.5, None, False),
        (0, 4.1, None, True),
        (0, 1.0, "http://elsewhere.test/", True),
    ],
)
def test_the_less_a_page_shows_the_longer_it_is_waited_for(
    shown: int, quiet_s: float, navigated_to: str | None, is_reached: bool
) -> None:
    browser = Browser(changed_at=time.monotonic() - quiet_s, navigated_to=navigated_to)
    rest = page(browser)
    rest._scrolls = 99  # noqa: SLF001  # nothing is left to scroll
    rest.is_reached()
    browser.answer(look(800, shown))
    assert rest.is_reached() is is_reached
