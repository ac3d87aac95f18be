"""What an answer to the request for robots.txt means, and what holds while there is none."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.model import Failure, Reply
from app.policy.robots import (
    ALLOW_ALL,
    DISALLOW_ALL,
    Availability,
    InForce,
    Standing,
    availability,
    fresh_for_s,
    in_force,
    in_force_rules,
    parse,
)

# status, failure, meaning
AVAILABILITY = [
    (200, None, Availability.AVAILABLE),
    (204, None, Availability.AVAILABLE),
    (301, None, Availability.UNAVAILABLE),
    (308, None, Availability.UNAVAILABLE),
    (400, None, Availability.UNAVAILABLE),
    (401, None, Availability.UNAVAILABLE),
    (403, None, Availability.UNAVAILABLE),
    (404, None, Availability.UNAVAILABLE),
    (410, None, Availability.UNAVAILABLE),
    (429, None, Availability.UNREACHABLE),
    (451, None, Availability.UNAVAILABLE),
    (499, None, Availability.UNAVAILABLE),
    (500, None, Availability.UNREACHABLE),
    (503, None, Availability.UNREACHABLE),
    (599, None, Availability.UNREACHABLE),
    (999, None, Availability.UNREACHABLE),
    (100, None, Availability.UNREACHABLE),
    (200, Failure.CUT, Availability.UNREACHABLE),
    (301, Failure.CUT, Availability.UNAVAILABLE),
    (404, Failure.CUT, Availability.UNAVAILABLE),
    (404, Failure.PROTOCOL, Availability.UNAVAILABLE),
    (429, Failure.CUT, Availability.UNREACHABLE),
    (500, Failure.CUT, Availability.UNREACHABLE),
    *((None, failure, Availability.UNREACHABLE) for failure in Failure),
    (None, None, Availability.UNREACHABLE),
]


@pytest.mark.parametrize(("status", "failure", "meaning"), AVAILABILITY)
def test_rfc9309_availability(status: int | None, failure: Failure | None, meaning: Availability) -> None:
    assert availability(Reply(status=status, failure=failure, started_s=0.0, ended_s=0.0)) is meaning


H, D = 3600.0, 86_400.0
COPY, NO_COPY, ANSWERS, SILENT = True, False, True, False
PHASES = [
    # availability, out of reach for, a copy is known?, the host answers? → what is in force
    ("available", None, COPY, ANSWERS, InForce.RULES),
    ("unavailable", None, NO_COPY, ANSWERS, InForce.ALLOW_ALL),
    ("unreachable", 0.0, COPY, ANSWERS, InForce.DISALLOW_ALL),
    ("unreachable", 0.0, NO_COPY, SILENT, InForce.DISALLOW_ALL),
    ("unreachable", 12 * H - 0.001, COPY, ANSWERS, InForce.DISALLOW_ALL),
    ("unreachable", 12 * H, COPY, ANSWERS, InForce.COPY),
    ("unreachable", 12 * H, COPY, SILENT, InForce.COPY),
    ("unreachable", 12 * H, NO_COPY, ANSWERS, InForce.DISALLOW_ALL),
    ("unreachable", 30 * D - 0.001, COPY, SILENT, InForce.COPY),
    ("unreachable", 30 * D - 0.001, NO_COPY, ANSWERS, InForce.DISALLOW_ALL),
    ("unreachable", 30 * D, COPY, ANSWERS, InForce.ALLOW_ALL),
    ("unreachable", 30 * D, NO_COPY, ANSWERS, InForce.ALLOW_ALL),
    ("unreachable", 30 * D, COPY, SILENT, InForce.DISALLOW_ALL),
    ("unreachable", 30 * D, NO_COPY, SILENT, InForce.DISALLOW_ALL),
    ("unreachable", None, COPY, ANSWERS, InForce.DISALLOW_ALL),  # nobody knows since when
]


class Months(NamedTuple):
    """A `Patience`, as the settings are one."""

    robots_disallow_s: float
    robots_copy_s: float


@pytest.mark.parametrize(("availability_", "seconds", "has_copy", "answers", "found"), PHASES)
def test_rfc9309_phases_of_a_file_out_of_reach(
    availability_: str, seconds: float | None, has_copy: bool, answers: bool, found: InForce
) -> None:
    standing = Standing(availability_, seconds, has_copy, answers)
    file = parse(b"User-agent: *\nDisallow: /x", "tiptoe")
    decided, rules = in_force_rules(standing, Months(12 * H, 30 * D), lambda: file)
    assert decided is found
    assert rules is {InForce.ALLOW_ALL: ALLOW_ALL, InForce.DISALLOW_ALL: DISALLOW_ALL}.get(found, file)


@given(
    seconds=st.floats(0, 1e10),
    has_copy=st.booleans(),
    answers=st.booleans(),
    phases=st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)),
)
def test_ours_nothing_but_the_copy_or_a_host_that_answers_ends_the_disallow(
    seconds: float, has_copy: bool, answers: bool, phases: tuple[float, float]
) -> None:
    found = in_force(Standing("unreachable", seconds, has_copy, answers), Months(*phases))
    assert found is not InForce.RULES
    assert found is InForce.DISALLOW_ALL or seconds >= phases[0]
    assert found is not InForce.COPY or (has_copy and seconds < phases[1])
    assert found is not InForce.ALLOW_ALL or (answers and seconds >= max(phases))


HALF_A_DAY = 12 * 3600.0


@pytest.mark.parametrize(
    ("cache_control", "seconds"),
    [
        (None, HALF_A_DAY),
        ("", HALF_A_DAY),
        ("public, must-revalidate", HALF_A_DAY),
        ("max-age=3600", 3600.0),
        ("Public, Max-Age=3600", 3600.0),
        ('max-age="3600"', 3600.0),
        ("max-age=7200, max-age=3600", 3600.0),
        ("max-age=31536000", HALF_A_DAY),
        ("max-age=" + "9" * 5000, HALF_A_DAY),
        ("max-age=0", 300.0),
        ("max-age=299", 300.0),
        ("max-age=301", 301.0),
        ("max-age=-1", 300.0),
        ("max-age=soon", 300.0),
        ("max-age", 300.0),
        ("max-age=٣", 300.0),
        ("no-cache", 300.0),
        ("no-store, max-age=3600", 300.0),
        ('no-cache="set-cookie"', 300.0),
        (",,=,", HALF_A_DAY),
    ],
)
def test_ours_fresh_for(cache_control: str | None, seconds: float) -> None:
    assert fresh_for_s(cache_control) == seconds
