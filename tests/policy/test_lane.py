from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from app.policy.candidate import draw

WEIGHTS = {0: 8, 1: 4, 2: 2, 3: 1}


@given(st.dictionaries(st.sampled_from(sorted(WEIGHTS)), st.integers(-1, 30)), st.integers(-1, 60), st.integers())
def test_ours_draw_takes_what_is_there(waiting: dict[int, int], n: int, seed: int) -> None:
    lanes = draw(waiting, n, Random(seed), WEIGHTS)
    taken = Counter(lanes)
    assert len(lanes) == max(0, min(n, sum(max(count, 0) for count in waiting.values())))
    assert all(taken[lane] <= waiting[lane] for lane in taken)


def test_ours_draw_keeps_the_weights() -> None:
    taken = Counter(draw(dict.fromkeys(WEIGHTS, 10_000), 7_500, Random(1), WEIGHTS))
    assert {lane: round(taken[lane] / 500) for lane in WEIGHTS} == WEIGHTS


def test_ours_draw_of_one_at_a_time_starves_no_lane() -> None:
    rng = Random(2)
    waiting = dict.fromkeys(WEIGHTS, 10_000)
    assert {draw(waiting, 1, rng, WEIGHTS)[0] for _ in range(200)} == set(WEIGHTS)


def test_ours_draw_does_not_touch_its_argument() -> None:
    waiting = {0: 1, 3: 1}
    assert sorted(draw(waiting, 5, Random(3), WEIGHTS)) == [0, 3]
    assert waiting == {0: 1, 3: 1}
