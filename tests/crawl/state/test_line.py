"""Standing in line for starts on a shared budget: who draws, how far apart the starts are, and what a late one
costs."""

import itertools
import threading
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.clock import monotonic
from app.crawl.state.line import FEW, LATE_MOST_S, MOST, SENT_WITHIN_S, SLOWEST, Line, Lines, Start, StartLot
from app.model import Rest, RestReason
from app.store.budgets import BudgetAnswer

GAP_S = 0.02
FAR_S = 60.0
HOUR_S = 3_600.0
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = BudgetAnswer(
    granted=False,
    is_near=False,
    wait_s=5.0,
    why=Rest(RestReason.ADDRESS_BUDGET),
    failures=0,
    blocked=False,
    shared=True,
    held=False,
    now=NOW,
    took_s=0.0,
)


class Clock:
    """Monotonic seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def lot_after(self, seconds: float) -> "StartLot":
        self.now += seconds
        return lot(self.now)


def lot(begins: float, lasts_s: float = FAR_S, *, size: int = 1_000) -> StartLot:
    return StartLot(size=size, left=size, begins=begins, ends=begins + lasts_s)


class Drawing:
    """What a budget answers, in order; the last one again and again. Notes how many stood in line."""

    def __init__(self, *answers: Callable[[], StartLot | BudgetAnswer]) -> None:
        self._answers = list(answers)
        self.standing: list[int] = []
        self.left_s: list[float] = []
        self.lost: list[int] = []

    def __call__(self, standing: int, left_s: float, lost: int) -> StartLot | BudgetAnswer:
        self.standing.append(standing)
        self.lost.append(lost)
        self.left_s.append(left_s)
        return (self._answers.pop(0) if len(self._answers) > 1 else self._answers[0])()


def go(line: Line, draw: Drawing, clock: Clock) -> Start | BudgetAnswer | None:
    """Stand in line, and send at once."""
    found = line.wait(draw, clock.now + 2)
    line.sent(clock.now)
    return found


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def line(clock: Clock) -> Line:
    return Line(GAP_S, clock)


def test_the_first_in_line_draws_and_starts_at_once(line: Line, clock: Clock) -> None:
    draw = Drawing(lambda: lot(clock.now))
    assert isinstance(go(line, draw, clock), Start)
    assert (draw.standing, draw.left_s, len(line)) == ([1], [2.0], 0)


def test_a_lot_serves_several_starts_and_no_two_closer_than_the_gap(line: Line, clock: Clock) -> None:
    draw = Drawing(lambda: lot(clock.now))
    go(line, draw, clock)
    clock.now += GAP_S
    go(line, draw, clock)
    assert draw.standing == [1], "the second start is of the same lot"


def test_what_is_left_of_a_lot_that_has_passed_is_never_used(line: Line, clock: Clock) -> None:
    draw = Drawing(lambda: lot(clock.now, lasts_s=1.0))
    go(line, draw, clock)
    clock.now += 1.1
    found = line.wait(draw, clock.now + 2)
    assert isinstance(found, Start)
    assert (len(draw.standing), found.lot.begins) == (2, clock.now)


def test_a_start_that_passed_before_it_could_be_used_is_drawn_again(line: Line, clock: Clock) -> None:
    draw = Drawing(lambda: lot(clock.now - 2, lasts_s=1.0), lambda: lot(clock.now))
    assert isinstance(go(line, draw, clock), Start)
    assert draw.lost == [0, 1], "and the budget is told of the one that was lost"


def test_the_gap_counts_from_when_the_request_went_out(line: Line, clock: Clock) -> None:
    draw = Drawing(lambda: lot(clock.now, lasts_s=0.5), lambda: clock.lot_after(1.0))
    go(line, draw, clock)
    line.sent(clock.now + 0.495)
    clock.now += 0.49
    go(line, draw, clock)
    assert len(draw.standing) == 2, "a gap after the request was sent the lot is over"


def test_a_database_whose_clock_was_set_is_believed(line: Line, clock: Clock) -> None:
    draw = Drawing(lambda: lot(clock.now, lasts_s=0.0))
    go(line, draw, clock)
    line.sent(clock.now + LATE_MOST_S + GAP_S)
    clock.now += 0.002
    assert isinstance(go(line, draw, clock), Start)


def test_an_address_that_is_probed_gets_one_start_a_lot(line: Line, clock: Clock) -> None:
    draw = Drawing(lambda: lot(clock.now, size=1))
    for _ in range(2):
        go(line, draw, clock)
        clock.now += GAP_S
    assert len(draw.standing) == 2


def test_a_budget_that_has_none_so_soon_answers_the_one_who_asked(line: Line, clock: Clock) -> None:
    draw = Drawing(lambda: LATER, lambda: lot(clock.now))
    assert line.wait(draw, clock.now + 2) is LATER
    assert isinstance(go(line, draw, clock), Start)


def test_a_start_that_is_near_is_asked_for_again(line: Line, clock: Clock) -> None:
    draw = Drawing(lambda: replace(LATER, is_near=True, wait_s=0.1), lambda: lot(clock.now))
    assert isinstance(go(line, draw, clock), Start)
    assert draw.lost == [0, 0]


def test_the_next_start_waits_until_the_request_before_it_is_sent() -> None:
    """Its thread may be held up between its start and sending."""
    line = Line(GAP_S, monotonic)
    draw = Drawing(lambda: lot(monotonic()))
    line.wait(draw, monotonic() + FAR_S)
    sent: list[float] = []

    def held_up() -> None:
        while not len(line):
            threading.Event().wait(0.001)
        threading.Event().wait(GAP_S)
        sent.append(monotonic())
        line.sent(sent[0])

    with ThreadPoolExecutor(1) as pool:
        pool.submit(held_up)
        line.wait(draw, monotonic() + FAR_S)
        assert monotonic() >= sent[0] + GAP_S


@pytest.mark.parametrize(("lasts_s", "held_up_s"), [(FAR_S, SENT_WITHIN_S), (0.0, GAP_S)])
def test_a_start_is_late_when_the_next_may_have_been_made_or_its_lot_is_over(
    line: Line, clock: Clock, lasts_s: float, held_up_s: float
) -> None:
    """A thread that was held up between its start and sending sends nothing: the next one has passed it by then."""
    start = line.wait(Drawing(lambda: lot(clock.now, lasts_s)), clock.now + 2)
    assert isinstance(start, Start)
    assert not start.is_late(clock.now + held_up_s - 0.001, slack_s=GAP_S)
    clock.now += held_up_s + 0.001
    assert start.is_late(clock.now, slack_s=GAP_S)


def test_nobody_waits_beyond_its_time(line: Line, clock: Clock) -> None:
    assert line.wait(Drawing(lambda: lot(clock.now)), clock.now - 0.001) is None
    assert len(line) == 0


def test_a_draw_that_fails_fails_one_alone(line: Line, clock: Clock) -> None:
    def fails(standing: int, left_s: float, lost: int) -> StartLot:
        raise ConnectionError("Postgres is away")

    with pytest.raises(ConnectionError):
        line.wait(fails, clock.now + 2)
    assert isinstance(line.wait(Drawing(lambda: lot(clock.now)), clock.now + 2), Start)


def test_all_who_stand_in_line_are_drawn_for_at_once_and_start_a_gap_apart() -> None:
    line = Line(GAP_S, monotonic)
    everybody = threading.Barrier(8)
    drawn: list[int] = []
    starts: list[float] = []

    def draw(standing: int, left_s: float, lost: int) -> StartLot:
        if not drawn:
            everybody.wait()  # the seven others come while the first one draws
            while len(line) < 8:
                threading.Event().wait(0.001)
        drawn.append(len(line))
        return lot(monotonic())

    def visit(number: int) -> None:
        if number:
            while not len(line):
                threading.Event().wait(0.001)
            everybody.wait()
        assert isinstance(line.wait(draw, monotonic() + FAR_S), Start)
        at = monotonic()
        starts.append(at)
        line.sent(at)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(visit, range(8)))
    assert drawn == [8]
    assert min(later - earlier for earlier, later in itertools.pairwise(starts)) >= GAP_S


@pytest.mark.parametrize(
    ("every_s", "step_s"),
    # starts that this process made so far apart; those who find the line too long are told to come as far apart
    [(GAP_S, GAP_S), (3 * GAP_S, 3 * GAP_S), (HOUR_S, SLOWEST * GAP_S)],
)
def test_those_who_find_the_line_too_long_come_as_fast_as_starts_are_made(
    line: Line, clock: Clock, every_s: float, step_s: float
) -> None:
    for _ in range(9):
        go(line, Drawing(lambda: lot(clock.now)), clock)
        clock.now += every_s
    waits = [line.room_in_s() for _ in range(3)]
    assert [later - earlier for earlier, later in itertools.pairwise(waits)] == pytest.approx([step_s] * 2)


@pytest.mark.parametrize(
    ("every_s", "standing", "is_full"),
    [
        (GAP_S, MOST - 1, False),
        (GAP_S, MOST, True),
        (4 * GAP_S, FEW, False),
        (4 * GAP_S, 20, True),
        (HOUR_S, FEW - 1, False),
    ],
)
def test_a_line_is_full_when_it_is_long_or_its_starts_are_slow(
    line: Line, clock: Clock, every_s: float, standing: int, is_full: bool
) -> None:
    for _ in range(FEW):
        go(line, Drawing(lambda: lot(clock.now, 0.0)), clock)
        clock.now += every_s
    release = threading.Event()

    def draw(standing: int, left_s: float, lost: int) -> BudgetAnswer:
        release.wait()
        return LATER

    with ThreadPoolExecutor(standing) as pool:
        for _ in range(standing):
            pool.submit(line.wait, draw, clock.now + FAR_S)
        while len(line) < standing:
            threading.Event().wait(0.001)
        found = line.is_full
        clock.now += 2 * FAR_S
        release.set()
    assert found == is_full


def test_hosts_with_the_same_budgets_stand_in_the_same_line() -> None:
    lines = Lines(monotonic)
    first = lines.of(("a", 0.5), 0.5)
    assert lines.of(("a", 0.5), 0.5) is first
    assert lines.of(("b", 0.5), 0.5) is not first


def test_lines_of_a_broad_crawl_take_little_memory() -> None:
    """Ten thousand addresses, each asked for once or a few times."""
    lines = Lines(monotonic)
    tracemalloc.start()
    for n in range(10_000):
        lines.of(n, GAP_S)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 6_000_000
    assert lines.has(9_000)
