"""Reasons as a person sees them, and which of them are tickets."""

import pytest

from app.model import Cause, Rest, RestReason
from app.model.reasons import TICKETS, words


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
