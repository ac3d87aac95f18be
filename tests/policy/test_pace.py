import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.pace import delay_in_force_s, slowest

DAY = 86_400.0


@pytest.mark.parametrize(
    ("operator_s", "robots_s", "default_s", "robots_max_s", "floor_s", "delay_s"),
    [
        (None, None, 1.0, DAY, None, 1.0),
        (None, 10.0, 1.0, DAY, None, 10.0),
        (None, 300.0, 1.0, DAY, None, 300.0),  # long ones too: the host just rests
        (None, 0.5, 1.0, DAY, None, 0.5),
        (None, 0.2, 1.0, DAY, None, 0.2),
        (None, 0.0, 1.0, DAY, None, 0.0),
        (None, 2 * DAY, 1.0, DAY, None, DAY),  # capped
        (5.0, 10.0, 1.0, DAY, None, 5.0),  # an operator knows better
        (0.0, 10.0, 1.0, DAY, None, 0.0),
        (2 * DAY, None, 1.0, DAY, None, 2 * DAY),  # the cap is on what robots.txt asks for
        (None, None, 1.0, DAY, 30.0, 30.0),
        (5.0, 10.0, 1.0, DAY, 30.0, 30.0),  # nobody is faster in an emergency
        (None, 60.0, 1.0, DAY, 30.0, 60.0),
        (None, None, 1.0, DAY, 0.0, 1.0),
        (None, None, 0.0, DAY, None, 0.0),
    ],
)
def test_ours_delay_in_force(
    operator_s: float | None,
    robots_s: float | None,
    default_s: float,
    robots_max_s: float,
    floor_s: float | None,
    delay_s: float,
) -> None:
    found = delay_in_force_s(
        operator_s=operator_s,
        robots_s=robots_s,
        default_s=default_s,
        robots_max_s=robots_max_s,
        floor_s=floor_s,
    )
    assert found == delay_s


SECONDS = st.floats(min_value=0, max_value=10 * DAY)


@given(st.none() | SECONDS, st.none() | SECONDS, SECONDS, st.none() | SECONDS)
def test_ours_the_floor_holds_and_no_delay_is_negative(
    operator_s: float | None, robots_s: float | None, default_s: float, floor_s: float | None
) -> None:
    found = delay_in_force_s(
        operator_s=operator_s, robots_s=robots_s, default_s=default_s, robots_max_s=DAY, floor_s=floor_s
    )
    assert found >= (floor_s or 0.0)


@pytest.mark.parametrize(
    ("delays_s", "found"),
    [([], None), ([None, None], None), ([0.0], 0.0), ([None, 0.0], 0.0), ([1.0, None, 3.0, 2.0], 3.0)],
)
def test_ours_a_host_goes_at_the_pace_of_its_slowest_origin(delays_s: list[float | None], found: float | None) -> None:
    assert slowest(delays_s) == found
