from typing import Any

import pytest

from app.model import Failure, Outcome, Reply
from app.policy import robots
from app.policy.outcome import classify, is_host_trouble, why_unwanted
from app.policy.robots import Availability


def reply(status: int | None, failure: Failure | None = None, location: str | None = None, **rest: bool) -> Reply:
    headers = {} if location is None else {"location": location}
    return Reply(status=status, failure=failure, headers=headers, started_s=0.0, ended_s=1.0, **rest)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Outcome.PAGE),
        (203, Outcome.PAGE),
        (204, Outcome.UNWANTED),
        (205, Outcome.UNWANTED),
        (206, Outcome.BROKEN),  # nobody asked for a range; but see below
        (300, Outcome.CLIENT_ERROR),  # no Location here
        (301, Outcome.CLIENT_ERROR),
        (304, Outcome.CLIENT_ERROR),
        (400, Outcome.CLIENT_ERROR),
        (401, Outcome.UNAUTHORISED),
        (403, Outcome.FORBIDDEN),
        (404, Outcome.NOT_FOUND),
        (407, Outcome.UNAUTHORISED),
        (410, Outcome.GONE),
        (418, Outcome.CLIENT_ERROR),
        (429, Outcome.RATE_LIMITED),
        (451, Outcome.FORBIDDEN),
        (500, Outcome.SERVER_ERROR),
        (502, Outcome.SERVER_ERROR),
        (503, Outcome.UNAVAILABLE),
        (599, Outcome.SERVER_ERROR),
        (103, Outcome.CLIENT_ERROR),
        (999, Outcome.SERVER_ERROR),  # RFC 9110 section 15: an invalid status counts as 5xx
        (0, Outcome.BROKEN),
    ],
)
def test_rfc9110_status(status: int, outcome: Outcome) -> None:
    assert classify(reply(status), conditional=False) is outcome


@pytest.mark.parametrize(
    ("status", "location", "outcome"),
    [
        *((status, "/x", Outcome.REDIRECT) for status in (300, 301, 302, 303, 307, 308)),
        (301, "", Outcome.CLIENT_ERROR),
        (302, "  ", Outcome.CLIENT_ERROR),
        (304, "/x", Outcome.CLIENT_ERROR),
        (305, "http://proxy/", Outcome.CLIENT_ERROR),
        (306, "/x", Outcome.CLIENT_ERROR),
        (200, "/x", Outcome.PAGE),
        (404, "/x", Outcome.NOT_FOUND),
    ],
)
def test_rfc9110_location(status: int, location: str, outcome: Outcome) -> None:
    assert classify(reply(status, location=location), conditional=False) is outcome


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(304, Outcome.UNCHANGED), (200, Outcome.PAGE), (412, Outcome.CLIENT_ERROR), (301, Outcome.CLIENT_ERROR)],
)
def test_rfc9110_conditional(status: int, outcome: Outcome) -> None:
    assert classify(reply(status), conditional=True) is outcome


def test_ours_a_body_left_unread_is_unwanted() -> None:
    assert classify(reply(200, body_read=False), conditional=False) is Outcome.UNWANTED
    assert classify(reply(404, body_read=False), conditional=False) is Outcome.NOT_FOUND
    assert classify(reply(200, truncated=True), conditional=False) is Outcome.PAGE


# Content-Type, was the body read? → why it is unwanted
@pytest.mark.parametrize(
    ("content_type", "body_read", "why"),
    [
        ("Application/PDF; charset=x", False, "application/pdf is not read"),
        ("text/html, image/png", False, "image/png is not read"),
        ("x/" + "y" * 500, False, "x/" + "y" * 98 + " is not read"),
        ("application/pdf", True, "it has no body"),
    ],
)
def test_an_unwanted_answer_names_its_type(content_type: str, body_read: bool, why: str) -> None:
    assert why_unwanted(reply(204, body_read=body_read)._replace(headers={"content-type": content_type})) == why


@pytest.mark.parametrize(
    ("failure", "outcome"),
    [
        (Failure.DNS, Outcome.UNREACHABLE),
        (Failure.ADDRESS, Outcome.BLOCKED_ADDRESS),
        (Failure.REFUSED, Outcome.UNREACHABLE),
        (Failure.CONNECT_TIMEOUT, Outcome.UNREACHABLE),
        (Failure.TLS, Outcome.UNREACHABLE),
        (Failure.TIMEOUT, Outcome.BROKEN),
        (Failure.RESET, Outcome.BROKEN),
        (Failure.CUT, Outcome.BROKEN),
        (Failure.PROTOCOL, Outcome.BROKEN),
    ],
)
def test_ours_failures(failure: Failure, outcome: Outcome) -> None:
    assert classify(reply(None, failure), conditional=False) is outcome


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Outcome.BROKEN),
        (206, Outcome.BROKEN),
        (500, Outcome.BROKEN),
        (301, Outcome.REDIRECT),  # its head says all, as of each below
        (304, Outcome.UNCHANGED),
        (404, Outcome.NOT_FOUND),
        (410, Outcome.GONE),
        (403, Outcome.FORBIDDEN),
        (429, Outcome.RATE_LIMITED),  # a request to slow down is heard whatever follows
        (503, Outcome.UNAVAILABLE),
    ],
)
@pytest.mark.parametrize("failure", [Failure.CUT, Failure.PROTOCOL, Failure.TIMEOUT])
def test_ours_a_cut_answer_is_broken(status: int, outcome: Outcome, failure: Failure) -> None:
    assert classify(reply(status, failure, location="/x"), conditional=True) is outcome


def test_ours_every_reply_has_an_outcome_and_every_outcome_a_reply() -> None:
    found = {
        classify(reply(status, failure, location, body_read=read), conditional=conditional)
        for status in (None, *range(1_000))
        for failure in (None, *Failure)
        for location in (None, "/x")
        for read in (True, False)
        for conditional in (True, False)
    }
    by_evidence = {Outcome.CHALLENGED, Outcome.SOFT_BLOCKED}  # app.policy.blocks
    not_sent = {Outcome.UNSENT}  # app.crawl.request.send
    assert found | by_evidence | not_sent == set(Outcome)


def test_ours_host_trouble() -> None:
    trouble = {outcome for outcome in Outcome if is_host_trouble(outcome)}
    assert trouble == {Outcome.RATE_LIMITED, Outcome.UNAVAILABLE, Outcome.UNREACHABLE}


@pytest.mark.parametrize(
    # Content-Range, what else is known of the answer, the ending
    ("content_range", "known", "outcome"),
    [
        ("bytes 0-99/100", {"wire_bytes": 100}, Outcome.PAGE),
        ("Bytes  0 - 99 / 100", {"wire_bytes": 100}, Outcome.PAGE),
        ("bytes 0-99/100", {"wire_bytes": 40, "truncated": True}, Outcome.PAGE),
        ("bytes 0-99/100", {"wire_bytes": 0, "body_read": False}, Outcome.UNWANTED),
        ("bytes 0-99/100", {"wire_bytes": 99}, Outcome.BROKEN),
        ("bytes 0-99/100", {"wire_bytes": 100, "failure": Failure.CUT}, Outcome.BROKEN),
        ("bytes 0-98/100", {"wire_bytes": 99}, Outcome.BROKEN),
        ("bytes 1-99/100", {"wire_bytes": 99}, Outcome.BROKEN),
        ("bytes 0-99/*", {"wire_bytes": 100}, Outcome.BROKEN),
        ("bytes */100", {"wire_bytes": 100}, Outcome.BROKEN),
        ("lines 0-99/100", {"wire_bytes": 100}, Outcome.BROKEN),
        ("bytes 0-99/100, bytes 0-99/100", {"wire_bytes": 100}, Outcome.BROKEN),
        ("bytes 0-" + "9" * 5000 + "/1" + "0" * 5000, {"wire_bytes": 100}, Outcome.BROKEN),
        ("", {"wire_bytes": 100}, Outcome.BROKEN),
    ],
)
def test_a_range_of_everything_is_a_page(content_range: str, known: dict[str, Any], outcome: Outcome) -> None:
    reply = Reply(status=206, headers={"content-range": content_range}, started_s=0, ended_s=1, **known)
    assert classify(reply, conditional=False) is outcome
    is_known = robots.availability(reply) is Availability.AVAILABLE
    assert is_known is (outcome in {Outcome.PAGE, Outcome.UNWANTED})
