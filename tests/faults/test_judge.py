"""The judge sees what it is there for: each invariant broken on purpose, in a log of two or three lines."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.log_judge import Fault, Seen, see, short_pairs
from tests.faults.record import BEGIN, END, Row, table, write
from tests.faults.web import FORBIDDEN, Line

HOST, OTHER = "127.0.0.1", "127.0.0.2"
DELAY_S = 0.3
ROBOTS = Line(id=1, start=0.0, wall=0.0, host=HOST, path="/robots.txt", connection=1, worker="w1", end=0.01, status=200)
FIRST = replace(ROBOTS, id=2, path="/", start=0.4, end=0.41)
SECOND = replace(ROBOTS, id=3, path="/a", start=0.8, end=0.81)
FAULT = Fault(name="kill", begin=0.5, end=0.5, waiting=frozenset({HOST}))


def seen(*lines: Line, faults: tuple[Fault, ...] = (), exempt: frozenset[int] = frozenset()) -> Seen:
    return see(lines, truth={(HOST, "/"), (HOST, "/a")}, delay_s=DELAY_S, faults=faults, exempt=exempt)


def test_a_log_without_fault() -> None:
    found = seen(SECOND, ROBOTS, FIRST)
    assert found.gap_min_s == pytest.approx(0.39)
    assert replace(found, gap_min_s=0.39) == Seen(
        requests=3,
        missed=0,
        repeats=0,
        most_lines=1,
        gap_min_s=0.39,
        gaps_short=0,
        concurrent=1,
        disallowed=0,
        before_robots=0,
        robots_most=1,
        recovered_s=0.0,
        resumed_s=0.0,
    )


# the log, the figure, its value
BROKEN = [
    ((ROBOTS, FIRST), "missed", 1),
    ((ROBOTS, FIRST, replace(SECOND, gone=True, status=None)), "missed", 1),
    ((ROBOTS, FIRST, replace(SECOND, status=503)), "missed", 1),
    ((ROBOTS, FIRST, SECOND, replace(SECOND, id=4, start=1.2, end=1.21)), "repeats", 1),
    ((ROBOTS, FIRST, SECOND, replace(SECOND, id=4, start=1.2, end=1.21)), "most_lines", 2),
    ((ROBOTS, FIRST, replace(SECOND, start=0.7)), "gaps_short", 1),
    ((ROBOTS, replace(FIRST, end=0.9), SECOND), "gaps_short", 1),
    ((ROBOTS, replace(FIRST, end=0.9), SECOND), "concurrent", 2),
    ((ROBOTS, replace(FIRST, end=None), SECOND), "concurrent", 2),
    (
        (ROBOTS, replace(FIRST, end=5.0), replace(SECOND, start=1, end=2), replace(SECOND, id=4, start=3, end=4)),
        "gaps_short",
        2,
    ),
    ((ROBOTS, FIRST, SECOND, replace(SECOND, id=4, path=FORBIDDEN, start=1.2, end=1.21)), "disallowed", 1),
    ((FIRST, SECOND), "before_robots", 2),
    ((replace(ROBOTS, gone=True), FIRST, SECOND), "before_robots", 2),
    ((ROBOTS, replace(ROBOTS, id=4, start=1.2, end=1.3), FIRST, SECOND), "robots_most", 2),
]


@pytest.mark.parametrize(("lines", "figure", "value"), BROKEN)
def test_what_is_wrong_is_seen(lines: tuple[Line, ...], figure: str, value: int) -> None:
    assert getattr(seen(*lines), figure) == value


def test_gaps_are_of_one_host() -> None:
    assert seen(ROBOTS, FIRST, replace(SECOND, host=OTHER, start=0.4, end=0.5)).gaps_short == 0


def test_what_was_in_flight_at_the_signal_is_exempt_and_nothing_else() -> None:
    held = replace(FIRST, end=9.0)
    after = replace(SECOND, id=4, path="/b", start=0.9, end=0.95)
    assert seen(ROBOTS, held, SECOND, exempt=frozenset({2})).gaps_short == 0
    assert seen(ROBOTS, held, SECOND, exempt=frozenset({2})).concurrent == 1
    assert seen(ROBOTS, held, SECOND, after, exempt=frozenset({2})).gaps_short == 1
    assert len(short_pairs([ROBOTS, held, SECOND, after], DELAY_S, frozenset({2}))) == 1


# the faults, seconds until waiting hosts were asked again, seconds until the crawl went on
RECOVERIES = [
    ((FAULT,), 0.3, 0.0),
    ((replace(FAULT, is_total=True),), 0.3, 0.3),
    ((replace(FAULT, end=0.7),), 0.1, 0.0),
    ((replace(FAULT, waiting=frozenset({OTHER})),), 0.0, 0.0),
    ((FAULT, replace(FAULT, begin=0.6, end=0.6)), 0.2, 0.0),
    ((replace(FAULT, begin=0.9, end=0.9),), 0.0, 0.0),
]


@pytest.mark.parametrize(("faults", "recovered_s", "resumed_s"), RECOVERIES)
def test_recovery_counts_from_the_end_of_the_last_fault(
    faults: tuple[Fault, ...], recovered_s: float, resumed_s: float
) -> None:
    found = seen(ROBOTS, FIRST, SECOND, faults=faults)
    assert (found.recovered_s, found.resumed_s) == (pytest.approx(recovered_s), pytest.approx(resumed_s))


FIGURES = {"requests": 9, "missed": 0, "repeats": 1, "repeats_allowed": 4, "gap_min_s": 0.3, "recovered_s": 7.1}
CALM = "| 9 | 0 | 1 of 4 | 0.3 s | 7.1 s | passed |"


def row(name: str, **figures: object) -> Row:
    return Row(name=name, fault="kill -9", form="quick", seed=1, figures={**FIGURES, **figures}, verdict="passed")


def test_the_table_leaves_out_what_is_as_it_has_to_be() -> None:
    last = table([row("FT1", kills=8, fenced=0, unleased=1)]).splitlines()[-1]
    assert last == f"| FT1 | quick | kill -9 {CALM} kills 8; unleased 1 |"


def test_writing_replaces_the_rows_of_tests_that_ran(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\n| test |\n| --- |\n| FT10 | as it was |\n| FT2 | as it was |\n{END}\nafter\n")
    write(page, [row("FT2")])
    lines = page.read_text().splitlines()
    assert lines[0] == "before"
    assert lines[4:] == [f"| FT2 | quick | kill -9 {CALM}  |", "| FT10 | as it was |", END, "after"]
