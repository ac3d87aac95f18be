import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.recrawl import next_interval_s

HOUR, WEEK, QUARTER = 3_600.0, 7 * 86_400.0, 90 * 86_400.0


@pytest.mark.parametrize(
    ("previous_s", "changed", "interval_s"),
    [
        (None, None, WEEK),
        (None, True, WEEK),
        (None, False, WEEK),
        (WEEK, None, WEEK),
        (WEEK, False, 1.5 * WEEK),
        (WEEK, True, 0.5 * WEEK),
        (1.5 * HOUR, True, HOUR),
        (89 * 86_400.0, False, QUARTER),
        (1.0, None, HOUR),  # bounds changed since
        (10 * QUARTER, None, QUARTER),
    ],
)
def test_ours_interval(previous_s: float | None, changed: bool | None, interval_s: float) -> None:
    found = next_interval_s(previous_s, changed=changed, base_s=WEEK, min_s=HOUR, max_s=QUARTER)
    assert found == interval_s


@pytest.mark.parametrize(("base_s", "interval_s"), [(1.0, HOUR), (10 * QUARTER, QUARTER)])
def test_ours_first_interval_is_bounded_too(base_s: float, interval_s: float) -> None:
    assert next_interval_s(None, changed=None, base_s=base_s, min_s=HOUR, max_s=QUARTER) == interval_s


@given(st.lists(st.booleans(), max_size=60))
def test_ours_any_history_stays_in_bounds(history: list[bool]) -> None:
    interval_s: float | None = None
    for changed in history:
        interval_s = next_interval_s(interval_s, changed=changed, base_s=WEEK, min_s=HOUR, max_s=QUARTER)
        assert HOUR <= interval_s <= QUARTER
