from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.backoff import host_rest_s, url_retry_s


@pytest.mark.parametrize(
    ("failures", "rest_s"),
    [(-1, 0), (0, 0), (1, 10), (2, 20), (3, 40), (9, 2_560), (10, 3_600), (10**9, 3_600)],
)
def test_ours_host_rest_doubles_up_to_its_cap(failures: int, rest_s: float) -> None:
    assert host_rest_s(failures, base_s=10.0, max_s=3_600.0) == rest_s


def test_ours_host_rest_cap_holds_from_the_first() -> None:
    assert host_rest_s(1, base_s=10.0, max_s=5.0) == 5


@pytest.mark.parametrize(
    ("attempt", "low_s", "high_s"),
    [(0, 0.5, 1), (1, 0.5, 1), (2, 0.5, 2), (3, 0.5, 4), (7, 0.5, 60), (10**9, 0.5, 60)],
)
def test_ours_url_retry_is_spread_over_its_range(attempt: int, low_s: float, high_s: float) -> None:
    rng = Random(4)
    draws = [url_retry_s(attempt, rng) for _ in range(2_000)]
    assert low_s <= min(draws) < low_s + 0.05 * high_s
    assert 0.95 * high_s < max(draws) <= high_s


@given(st.integers(), st.floats(0.001, 1e6), st.floats(0.001, 1e6), st.integers())
def test_ours_rests_stay_in_bounds(count: int, base_s: float, max_s: float, seed: int) -> None:
    assert 0 <= host_rest_s(count, base_s=base_s, max_s=max_s) <= max_s
    wait_s = url_retry_s(count, Random(seed), base_s=base_s, max_s=max_s)
    assert min(base_s / 2, max_s) <= wait_s <= max_s
