"""A plugin of pytest, `-p tests.rooms`: a line for each room as its last test ends, and the slowest five.

A room is a folder of tests. Its seconds are those of its tests, whichever process ran them. Beside these lines stands
what pytest says of failures. With -v, or fewer -q, pytest's own lines stand instead of those of failures.
"""

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from heapq import nlargest

import pytest

SLOWEST = 5


class Rooms:
    """Counts the tests of each room. It runs in the process that reports, not in those of xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._is_quiet = config.get_verbosity() < 0
        self._tests: Counter[str] = Counter()
        self._done: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._seconds: Counter[str] = Counter()
        self._took: Counter[str] = Counter()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._expect(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: Sequence[str]) -> None:
        if not self._tests:  # each process of xdist collects the same
            self._expect(ids)

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self) -> Generator[None, tuple[str, str, object], tuple[str, str, object]]:
        """Leave out the letter of a test."""
        category, letter, word = yield
        return (category, "", word) if self._is_quiet else (category, letter, word)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        room = room_of(report.nodeid)
        self._took[report.nodeid] += report.duration  # type: ignore[assignment]  # seconds
        self._seconds[room] += report.duration  # type: ignore[assignment]
        if report.failed:
            self._failed[room] += 1
            if self._is_quiet:
                self._say(f"failed: {report.nodeid}")
        if report.when not in {"setup", "call"}:  # the last of a test, or that its process has died
            self._done[room] += 1
            if self._done[room] == self._tests[room]:
                self._say(self._line(room))

    def pytest_terminal_summary(self) -> None:
        for room in sorted(room for room in self._done if self._done[room] < self._tests[room]):
            self._say(f"{self._line(room)}  of {self._tests[room]:,}")
        slowest = nlargest(SLOWEST, self._took.items(), key=lambda pair: pair[1])
        if slowest:
            self._say("the slowest:")
        for name, seconds in slowest:
            self._say(f"{seconds:8.1f} s  {name}")

    def _expect(self, names: Iterable[str]) -> None:
        self._tests.update(map(room_of, names))

    def _line(self, room: str) -> str:
        failed = f"  {self._failed[room]:,} failed" if self._failed[room] else ""
        return f"{room:<24} {self._done[room]:>7,} tests {self._seconds[room]:>8.1f} s{failed}"

    def _say(self, line: str) -> None:
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        reporter.ensure_newline()
        reporter.write_line(line)


def room_of(name: str) -> str:
    """The folder of a test, two deep: `tests/crawl` of `tests/crawl/page/test_read.py::test_it`; a feature's, three."""
    folders = name.partition("::")[0].split("/")[:-1]
    return "/".join(folders[: 3 if folders[:2] == ["tests", "features"] else 2]) or "."


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Rooms(config), "rooms")
