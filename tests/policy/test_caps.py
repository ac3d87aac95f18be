"""Which are evicted: the lowest score, then the last lane; of equals the newcomer."""

import random

import pytest

from app.policy.candidate import Standing, as_real, floor, higher, places, standing

# newcomers (best first), weakest of those there (worst first), room → how many come in, how many are evicted
PLACES = [
    ([], [], 5, (0, 0)),
    ([0.5, 0.5], [], 5, (2, 0)),
    ([0.5, 0.5], [], 1, (1, 0)),
    ([0.5, 0.5], [0.25], 0, (1, 1)),
    ([0.5, 0.5], [0.25, 0.25, 0.25], 0, (2, 2)),
    ([0.5, 0.2], [0.25, 0.25], 0, (1, 1)),
    ([0.5], [0.5], 0, (0, 0)),  # of equals the one that was there stays
    ([0.5, 0.5, 0.5], [0.25], 1, (2, 1)),
    ([], [0.1, 0.2], -1, (0, 1)),  # too many are there already
    ([0.5], [0.1, 0.2, 0.3], -2, (1, 3)),
    ([0.5], [0.1, 0.2], -2, (0, 2)),
    ([0.5], [0.1], -2, (0, 1)),  # no more may be evicted
    ([0.5], [], -2, (0, 0)),
]


@pytest.mark.parametrize(("newcomers", "weakest", "room", "found"), PLACES)
def test_places(newcomers: list[float], weakest: list[float], room: int, found: tuple[int, int]) -> None:
    def of(scores: list[float]) -> list[Standing]:
        return [standing(score, 1) for score in scores]

    assert places(of(newcomers), of(weakest), room) == found


def test_of_equal_scores_the_last_lane_gives_way() -> None:
    assert standing(0.5, 0) > standing(0.5, 3)
    assert standing(0.5, 3) > standing(0.25, 0)
    assert places([standing(0.5, 1)], [standing(0.5, 3)], 0) == (1, 1)


def test_what_stays_is_the_best_of_all_and_no_more_than_there_is_room_for() -> None:
    rng = random.Random(7)
    for _ in range(300):
        there = sorted(standing(rng.choice([1, 0.5, 0.3, 0.1]), rng.randrange(4)) for _ in range(rng.randrange(9)))
        new = sorted(
            (standing(rng.choice([1, 0.5, 0.3, 0.1]), rng.randrange(4)) for _ in range(rng.randrange(9))), reverse=True
        )
        cap = rng.randrange(1, 9)
        come, give = places(new, there, cap - len(there))
        assert len(there) - give + come == min(cap, len(there) + len(new))
        stay, gone = there[give:] + new[:come], there[:give] + new[come:]
        assert not gone or not stay or min(stay) >= max(gone)


def test_scores_are_compared_as_they_are_stored() -> None:
    """A newcomer that scores what another does is its equal: the other is not evicted for it."""
    for score in (1 / (1 + depth) for depth in range(200)):
        assert standing(score, 1) == standing(as_real(score), 1)
        assert as_real(score) == pytest.approx(score, rel=1e-6)


# URLs by score, cap → the score that a link must exceed
FLOORS = [
    ({}, 5, None),
    ({0.5: 4}, 5, None),
    ({0.5: 5}, 5, 0.5),
    ({1.0: 1, 0.5: 2, 0.25: 9}, 5, 0.25),
    ({1.0: 1, 0.5: 4, 0.25: 9}, 5, 0.5),
    ({1.0: 9, 0.25: 9}, 5, 1.0),
    ({0.5: 9}, None, None),
]


@pytest.mark.parametrize(("waiting", "cap", "found"), FLOORS)
def test_floor(waiting: dict[float, int], cap: int | None, found: float | None) -> None:
    assert floor(waiting, cap) == found


def test_the_stricter_floor_counts() -> None:
    assert higher(None, None) is None
    assert higher(0.5, None) == higher(None, 0.5) == higher(0.5, 0.25) == higher(0.25, 0.5) == 0.5
