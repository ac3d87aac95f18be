"""The circuit breaker (promise P6): ten failures in a row close a host for 1 h, 2 h … 24 h; one good answer opens
it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.backoff import BreakerRules, failures_in_a_row, is_probing, rest_s, trips_after
from app.policy.pace import NO_ANSWER

HOUR = 3_600.0
RULES = BreakerRules()
WINDOW = 20  # results that are remembered


def lived(statuses: Sequence[int], rules: BreakerRules = RULES) -> list[int]:
    """Trips after each result."""
    found: list[int] = []
    seen: list[int] = []
    trips = 0
    for status in statuses:
        seen = [*seen, status][-WINDOW:]
        trips = trips_after(trips, seen, rules)
        found.append(trips)
    return found


# statuses, oldest first → failures in a row
@pytest.mark.parametrize(
    ("statuses", "failures"),
    [
        ([], 0),
        ([200], 0),
        ([500], 1),
        ([500, 503, NO_ANSWER, 599], 4),  # of every kind together
        ([500, 500, 200], 0),
        ([500, 429, 500], 1),  # 429 is an answer; its host rests by itself
        ([500, 404, 500, 500], 2),
        ([200, 301, 403, NO_ANSWER], 1),
    ],
)
def test_ours_failures_in_a_row(statuses: list[int], failures: int) -> None:
    assert failures_in_a_row(statuses) == failures


# answers of a host → trips after the last
@pytest.mark.parametrize(
    ("statuses", "trips"),
    [
        ([500] * 9, 0),
        ([500] * 10, 1),
        ([NO_ANSWER] * 10, 1),
        ([503, 500] * 5, 1),
        ([500] * 11, 2),  # the probe failed
        ([500] * 14, 5),
        ([500] * 40, 31),  # more than the window holds
        ([500] * 9 + [200] + [500] * 9, 0),
        ([500] * 10 + [200], 0),  # the probe opens it
        ([500] * 10 + [404], 0),  # any answer that is no failure
        ([500] * 12 + [200] + [500] * 9, 0),
        ([500] * 12 + [200] + [500] * 10, 1),  # and it begins with an hour again
    ],
)
def test_ours_trips(statuses: list[int], trips: int) -> None:
    assert lived(statuses)[-1] == trips


def test_ours_no_result_changes_nothing() -> None:
    assert trips_after(3, [], RULES) == 3


@pytest.mark.parametrize(
    ("trips", "hours"), [(0, 0), (1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 24), (7, 24), (10**6, 24)]
)
def test_ours_rests_double_from_an_hour_to_a_day(trips: int, hours: float) -> None:
    assert rest_s(trips, RULES) == hours * HOUR


@pytest.mark.parametrize(
    ("statuses", "probing"),
    [([], False), ([500] * 9, False), ([500] * 10, True), ([500] * 20, True), ([500] * 10 + [200], False)],
)
def test_ours_the_next_request_is_a_probe(statuses: list[int], probing: bool) -> None:
    assert is_probing(statuses, RULES) is probing


def test_ours_its_numbers_are_settings() -> None:
    rules = BreakerRules(failures=2, base_s=10.0, max_s=30.0)
    assert lived([500, 500, 500, 500], rules) == [0, 1, 2, 3]
    assert [rest_s(trips, rules) for trips in range(4)] == [0, 10, 20, 30]


@given(st.lists(st.sampled_from([NO_ANSWER, 200, 404, 429, 500, 503]), max_size=80), st.integers(1, WINDOW))
def test_ours_it_trips_with_each_failure_of_a_row_from_its_number_on(statuses: list[int], most: int) -> None:
    in_a_row = 0
    for status, trips in zip(statuses, lived(statuses, BreakerRules(failures=most)), strict=True):
        in_a_row = in_a_row + 1 if status == NO_ANSWER or status >= 500 else 0
        assert trips == max(in_a_row - most + 1, 0)
