"""Reasons as a person sees them, and which of them are tickets."""

import re
from importlib import resources

import pytest

from app.model import Cause, Rest, RestReason
from app.model.reasons import TICKETS, HostWait, words


@pytest.mark.parametrize(
    # reason, detail → words
    ("reason", "detail", "said"),
    [
        (RestReason.BREAKER, None, "breaker"),
        (RestReason.ADDRESS_BUDGET, "203.0.113.7", "address budget: 203.0.113.7"),
        (Cause.ROBOTS, "line 2: Disallow: /no", "robots.txt: line 2: Disallow: /no"),
        ("robots.txt", "", "robots.txt"),  # from a row
        (Cause.OTHER, "of a version long ago", "of a version long ago"),
        (Cause.OTHER, None, "other"),
    ],
)
def test_words(reason: str, detail: str | None, said: str) -> None:
    assert words(reason, detail) == said


def test_a_rest_says_both() -> None:
    assert Rest(RestReason.NOT_SENT, "no room").words == "request not sent: no room"
    assert Rest(RestReason.RESET).words == "reset"


def test_shared_budgets_alone_give_tickets() -> None:
    """Not the budget of pages, which is nobody's turn."""
    assert {
        reason for reason in RestReason if reason.name.startswith(("ADDRESS_", "NETWORK_", "DOMAIN_", "ALL_"))
    } == TICKETS


def test_what_a_host_waits_for_is_what_the_view_says() -> None:
    """The beginnings of its texts; none begins another, so that each is read as itself."""
    views = (resources.files("app.store") / "views.sql").read_text()
    (cases,) = re.findall(r"CREATE VIEW v_host_status AS.*?\n       CASE\n(.*?)END AS waits_for", views, re.DOTALL)
    said = re.findall(r"(?:THEN|ELSE) '(.*?)'", cases)
    assert {HostWait.of(text) for text in said} == set(HostWait)
    assert all(HostWait.of(f"{wait}: more") is wait for wait in HostWait)
    assert all(re.fullmatch(rf"{HostWait.of(text)}(: | to )?", text) for text in said)
