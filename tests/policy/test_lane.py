from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.model import Url
from app.policy.lane import WEIGHTS, draw, lane_for, score_for
from app.policy.url import Canon


@pytest.mark.parametrize(
    ("target", "depth", "lane"),
    [
        ("/", 0, 0),
        ("/blog/x", 0, 0),
        ("/", 1, 1),
        ("/about", 5, 1),
        ("/docs/x", 1, 1),
        ("/en/Guide/x", 1, 1),
        ("/blog", 1, 2),
        ("/en/news/2024/x", 1, 2),
        ("/tag/x", 1, 3),
        ("/archive/2019", 1, 3),
        ("/docs/news/x", 1, 1),  # the first segment that the table knows
        ("/news/archive/x", 1, 2),
        ("/newsroom", 1, 1),  # whole segments only
        ("/?path=/blog/", 1, 1),  # the query says nothing
    ],
)
def test_ours_lane(target: str, depth: int, lane: int) -> None:
    url = Canon().canonicalise(f"http://h{target}")
    assert isinstance(url, Url)
    assert lane_for(url, depth) == lane


def test_ours_score_falls_with_depth() -> None:
    scores = [score_for(depth) for depth in range(20)]
    assert scores[0] == 1.0
    assert scores == sorted(set(scores), reverse=True)
    assert min(scores) > 0


@given(st.dictionaries(st.sampled_from(sorted(WEIGHTS)), st.integers(-1, 30)), st.integers(-1, 60), st.integers())
def test_ours_draw_takes_what_is_there(waiting: dict[int, int], n: int, seed: int) -> None:
    lanes = draw(waiting, n, Random(seed))
    taken = Counter(lanes)
    assert len(lanes) == max(0, min(n, sum(max(count, 0) for count in waiting.values())))
    assert all(taken[lane] <= waiting[lane] for lane in taken)


def test_ours_draw_keeps_the_weights() -> None:
    taken = Counter(draw(dict.fromkeys(WEIGHTS, 10_000), 7_500, Random(1)))
    assert {lane: round(taken[lane] / 500) for lane in WEIGHTS} == WEIGHTS


def test_ours_draw_of_one_at_a_time_starves_no_lane() -> None:
    rng = Random(2)
    waiting = dict.fromkeys(WEIGHTS, 10_000)
    assert {draw(waiting, 1, rng)[0] for _ in range(200)} == set(WEIGHTS)


def test_ours_draw_does_not_touch_its_argument() -> None:
    waiting = {0: 1, 3: 1}
    assert sorted(draw(waiting, 5, Random(3))) == [0, 3]
    assert waiting == {0: 1, 3: 1}
