"""Coverage is summed by room, and a room that was not measured is not covered."""

import pytest

from tests.covered import BARS, Covered, by_room, most_missed

FILES = {
    "app/policy/a.py": Covered(10, 10),
    "app/policy/b.py": Covered(30, 20),
    "app/parse/html/c.py": Covered(4, 4),
    "app/crawler.py": Covered(100, 0),  # no file of app/crawl
}


# room → all, ran
@pytest.mark.parametrize(("room", "covered"), [("app/policy", (40, 30)), ("app/parse", (4, 4)), ("app/crawl", (1, 0))])
def test_a_room_is_the_sum_of_its_files(room: str, covered: tuple[int, int]) -> None:
    assert by_room(FILES)[room] == covered


def test_every_room_with_a_bar_is_reported() -> None:
    assert by_room({}) == dict.fromkeys(BARS, Covered(1, 0))


def test_percent_counts_lines_and_branches_alike() -> None:
    assert [Covered(40, 30).percent, Covered().percent] == [75.0, 100.0]


def test_what_is_missed_most_is_named_first_and_nothing_that_is_whole() -> None:
    assert most_missed(FILES) == ["app/crawler.py", "app/policy/b.py"]
