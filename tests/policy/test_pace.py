"""The delay of a host: every number of promise P2 and P4, then what holds for every history."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.pace import (
    NO_ANSWER,
    History,
    PaceRules,
    after,
    base_delay_s,
    delay_in_force_s,
    is_error,
    slowest,
    soft_blocked,
    with_jitter_s,
)

DAY = 86_400.0
RULES = PaceRules()
QUICK, SLOW = 50, 2_001  # ms to the first byte
Answers = Sequence[tuple[int, int | None]]


def lived(*results: tuple[int, int | None], start: History | None = None, rules: PaceRules = RULES) -> list[History]:
    """The history after each result (status, ms)."""
    histories, history = [], start or History()
    for status, ms in results:
        history = after(history, rules, status=status, ms=ms)
        histories.append(history)
    return histories


def level(*statuses: int, start: int = 0, rules: PaceRules = RULES) -> int:
    """Of the level that a host with these answers has, all of them quick."""
    return lived(*((status, QUICK) for status in statuses), start=History(level=start), rules=rules)[-1].level


# --- the base delay (P2) ----------------------------------------------------------------------------------------


# operator's, robots.txt's, default, cap on robots.txt's → base
@pytest.mark.parametrize(
    ("operator_s", "robots_s", "default_s", "robots_max_s", "base_s"),
    [
        (None, None, 1.0, DAY, 1.0),
        (None, None, 0.0, DAY, 0.0),
        (None, 10.0, 1.0, DAY, 10.0),
        (None, 300.0, 1.0, DAY, 300.0),  # long ones too: the host just rests
        (None, 0.5, 1.0, DAY, 0.5),
        (None, 0.2, 1.0, DAY, 0.2),
        (None, 0.0, 1.0, DAY, 0.0),
        (None, 2 * DAY, 1.0, DAY, DAY),  # capped
        (5.0, 10.0, 1.0, DAY, 5.0),  # an operator knows better
        (0.0, 10.0, 1.0, DAY, 0.0),
        (2 * DAY, None, 1.0, DAY, 2 * DAY),  # the cap is on what robots.txt asks for
    ],
)
def test_ours_base_delay(
    operator_s: float | None, robots_s: float | None, default_s: float, robots_max_s: float, base_s: float
) -> None:
    found = base_delay_s(operator_s=operator_s, robots_s=robots_s, default_s=default_s, robots_max_s=robots_max_s)
    assert found == base_s


@pytest.mark.parametrize(
    ("delays_s", "found"),
    [([], None), ([None, None], None), ([0.0], 0.0), ([None, 0.0], 0.0), ([1.0, None, 3.0, 2.0], 3.0)],
)
def test_ours_a_host_goes_at_the_pace_of_its_slowest_origin(delays_s: list[float | None], found: float | None) -> None:
    assert slowest(delays_s) == found


# --- the delay in force -----------------------------------------------------------------------------------------


# base, level, average latency, floor for all → delay
@pytest.mark.parametrize(
    ("base_s", "level", "latency_s", "floor_s", "delay_s"),
    [
        (1.0, 0, None, None, 1.0),
        (0.5, 0, None, None, 0.5),  # nothing adapts: as asked for
        (0.0, 0, None, None, 0.0),
        (1.0, 1, None, None, 2.0),
        (0.5, 1, None, None, 2.0),  # the least delay that is doubled is 1 s
        (0.0, 1, None, None, 2.0),
        (1.0, 3, None, None, 8.0),
        (1.0, 8, None, None, 256.0),
        (10.0, 8, None, None, 2_560.0),
        (300.0, 8, None, None, 76_800.0),
        (600.0, 8, None, None, DAY),  # what adapts ends at the cap
        (DAY, 1, None, None, DAY),
        (2 * DAY, 0, None, None, 2 * DAY),  # an operator's own does not
        (2 * DAY, 3, None, None, 2 * DAY),
        (1.0, 0, 0.4, None, 1.0),  # 0.8 s is no more than the base
        (1.0, 0, 3.0, None, 6.0),
        (1.0, 2, 3.0, None, 6.0),  # the longer of the two counts, not both
        (1.0, 4, 3.0, None, 16.0),
        (0.0, 0, 0.01, None, 0.02),
        (1.0, 0, DAY, None, DAY),
        (1.0, 0, None, 30.0, 30.0),
        (60.0, 0, None, 30.0, 60.0),
        (1.0, 8, None, 30.0, 256.0),  # nobody is faster in an emergency, nor is anybody made so
        (1.0, 0, None, 0.0, 1.0),
        (1.0, 0, None, 3 * DAY, 3 * DAY),
    ],
)
def test_ours_delay_in_force(
    base_s: float, level: int, latency_s: float | None, floor_s: float | None, delay_s: float
) -> None:
    history = History(level=level, latency_s=latency_s)
    assert delay_in_force_s(base_s, history, RULES, floor_s=floor_s, most_s=DAY) == pytest.approx(delay_s)


def test_ours_no_latency_floor_when_its_factor_is_0() -> None:
    rules = replace(RULES, latency_factor=0.0)
    assert delay_in_force_s(1.0, History(latency_s=30.0), rules, floor_s=None, most_s=DAY) == 1.0


# --- what raises the level, and what lowers it (P4) -------------------------------------------------------------


# statuses, oldest first → level
@pytest.mark.parametrize(
    ("statuses", "found"),
    [
        ([429], 3),
        ([503], 2),
        ([429, 429], 6),
        ([503, 503, 503], 6),
        ([429, 503], 5),
        ([429, 429, 429], 8),  # no higher
        ([500] * 4, 0),
        ([500] * 5, 1),
        ([500] * 9, 1),
        ([500] * 10, 2),
        ([500, 502, 504, 500, 599], 1),  # other 5xx, whichever
        ([500] * 4 + [200, 500], 0),  # in a row
        ([500] * 4 + [404, 500], 0),
        ([500] * 4 + [NO_ANSWER, 500], 0),  # the breaker counts both, this does not
        ([500] * 4 + [503, 500], 2),
        ([503] + [500] * 5, 3),
        ([NO_ANSWER] * 20, 0),
        ([400, 401, 403, 404, 410, 418, 451] * 5, 0),
        ([301, 302, 307, 308] * 5, 0),
        ([200, 304] * 10, 0),
    ],
)
def test_ours_levels_of_a_host_that_was_at_ease(statuses: list[int], found: int) -> None:
    assert level(*statuses) == found


# window, 500s in a row → level: as far as the window reaches
@pytest.mark.parametrize(
    ("window", "many", "found"),
    [(20, 19, 3), (20, 20, 4), (20, 21, 4), (20, 60, 4), (4, 60, 0), (5, 60, 1), (9, 60, 1)],
)
def test_ours_each_five_server_errors_raise_it_once(window: int, many: int, found: int) -> None:
    assert level(*[500] * many, rules=replace(RULES, window=window)) == found


# what a host at level 4 answers → its level then
@pytest.mark.parametrize(
    ("statuses", "found"),
    [
        ([200], 3),
        ([204], 3),
        ([304], 3),
        ([200] * 3, 1),
        ([200] * 9, 0),  # no lower
        ([404, 410], 4),  # not there, and not wrong
        ([404, 410, 200], 3),
        ([301, 200], 3),
        ([403], 4),
        ([401, 403, 451], 4),
        ([403, 200], 4),  # one error in two answers is not healthy
        ([403] + [200] * 9, 4),  # 10 % is not under 10 %
        ([403] + [200] * 10, 3),
        ([NO_ANSWER] + [200] * 9, 4),
        ([NO_ANSWER] + [200] * 10, 3),
        ([500] + [200] * 10, 3),
        ([403] * 2 + [200] * 18, 4),
        ([403] * 2 + [200] * 19, 3),  # the oldest has left the window of 20
        ([429] + [200] * 10, 6),
        ([429] + [200] * 19, 0),
    ],
)
def test_ours_good_answers_lower_it_while_the_host_is_healthy(statuses: list[int], found: int) -> None:
    assert level(*statuses, start=4) == found


@pytest.mark.parametrize(
    ("status", "error"),
    [
        *((status, False) for status in (200, 204, 301, 304, 399, 404, 410)),
        *((status, True) for status in (NO_ANSWER, 400, 401, 403, 418, 429, 451, 500, 503, 599, 999)),
    ],
)
def test_ours_errors(status: int, error: bool) -> None:
    assert is_error(status) is error


def test_ours_a_soft_block_counts_as_a_429() -> None:
    assert soft_blocked(History(level=1), RULES).level == 4
    assert soft_blocked(History(level=7), RULES).level == 8
    assert soft_blocked(History(level=1), replace(RULES, rate_limited=0)).level == 1


# --- slow answers -----------------------------------------------------------------------------------------------


# milliseconds of good answers, oldest first, of a host at level 2 → level
@pytest.mark.parametrize(
    ("latencies", "found"),
    [
        ([SLOW] * 19, 2),  # neither healthy, nor a full window
        ([SLOW] * 20, 3),
        ([SLOW] * 39, 3),  # judged anew when as many have come again
        ([SLOW] * 40, 4),
        ([2_000] * 20, 2),  # 2 s is not over 2 s, nor under it
        ([1_999] * 2, 0),
        ([40_100] + [0] * 19, 3),  # the mean, not the median
        ([SLOW] * 20 + [QUICK], 2),  # the slow ones are dealt with
        ([SLOW] * 20 + [SLOW, QUICK], 2),  # 1 s on average since
    ],
)
def test_ours_a_slow_mean_raises_it_by_one(latencies: list[int], found: int) -> None:
    assert lived(*((200, ms) for ms in latencies), start=History(level=2))[-1].level == found


def test_ours_a_slow_mean_comes_on_top_of_what_the_answer_says() -> None:
    assert lived(*[(200, SLOW)] * 19, (429, SLOW))[-1].level == 4


def test_ours_what_never_answered_says_nothing_about_latency() -> None:
    assert lived(*[(NO_ANSWER, None)] * 20, (200, SLOW))[-1].latency_s == pytest.approx(2.001)
    assert lived(*[(200, SLOW)] * 19, (NO_ANSWER, None))[-1].level == 0, "19 answers are no full window"


def test_ours_the_average_of_the_latency_moves_by_its_weight() -> None:
    found = [round(history.latency_s or 0, 3) for history in lived((200, 1_000), (200, 2_000), (404, 0), (0, None))]
    assert found == [1.0, 1.2, 0.96, 0.96]


# --- always -----------------------------------------------------------------------------------------------------

STATUS = st.sampled_from([NO_ANSWER, 200, 304, 301, 403, 404, 410, 429, 500, 502, 503]) | st.integers(100, 999)
RESULTS = st.lists(st.tuples(STATUS, st.none() | st.integers(0, 100_000)), min_size=1, max_size=60)
SECONDS = st.floats(0, 10 * DAY)


@given(RESULTS, st.integers(0, 8), st.integers(1, 30), st.integers(0, 8))
def test_ours_the_level_stays_in_its_range_and_the_window_in_its_length(
    results: Answers, start: int, window: int, level_max: int
) -> None:
    rules = replace(RULES, window=window, level_max=level_max)
    for history in lived(*results, start=History(level=min(start, level_max)), rules=rules):
        assert 0 <= history.level <= level_max
        assert len(history.statuses) == len(history.ms) <= window


@given(RESULTS)
def test_ours_no_answer_changes_the_level_by_more_than_it_should(results: Answers) -> None:
    before = 4
    for (status, _), history in zip(results, lived(*results, start=History(level=before)), strict=True):
        most = {429: 3, 503: 2}.get(status, 1 if status >= 500 else 0) + 1  # and one for slowness
        assert before - 1 <= history.level <= before + most
        assert history.level >= before or 200 <= status < 300 or status == 304
        before = history.level


@given(SECONDS, st.integers(0, 8), st.none() | st.floats(0, DAY), st.none() | SECONDS, st.floats(0, DAY))
def test_ours_the_delay_is_never_below_base_floor_or_the_level_before(
    base_s: float, level: int, latency_s: float | None, floor_s: float | None, most_s: float
) -> None:
    delays = [
        delay_in_force_s(base_s, History(level=each, latency_s=latency_s), RULES, floor_s=floor_s, most_s=most_s)
        for each in range(level + 1)
    ]
    assert delays == sorted(delays)
    assert delays[0] >= max(base_s, floor_s or 0.0)
    assert delays[-1] <= max(base_s, most_s, floor_s or 0.0)


@given(SECONDS, st.floats(0, 1), st.integers())
def test_ours_jitter_only_adds_and_no_more_than_its_share(delay_s: float, jitter: float, seed: int) -> None:
    found = with_jitter_s(delay_s, jitter, Random(seed))
    assert delay_s <= found <= delay_s * (1 + jitter) * (1 + 1e-12)


def test_ours_jitter_is_spread_over_its_range() -> None:
    rng = Random(1)
    found = [with_jitter_s(10.0, 0.1, rng) for _ in range(1_000)]
    assert 10.0 <= min(found) < 10.05
    assert 10.95 < max(found) <= 11.0
