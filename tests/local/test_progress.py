"""The live view: at most a screen of 80 columns, no control character of anyone's, plain lines where no terminal is."""

import io
import re
from typing import Any

import pytest
from rich.console import Console, ConsoleDimensions

from app.admin.board.pulse import MOST_QUEUED, Look
from app.local import progress
from app.local.progress import LiveView
from app.store.board import CrawlLine
from app.store.live import HostRow
from tests.steering import steering

EVIL = "a\x1b[2J\x9b\u202e.test"


def host(
    name: str = "a.test", waits_for: str | None = None, next_s: float | None = 0.5, because: str | None = None
) -> HostRow:
    return HostRow(host=name, waits_for=waits_for, delay_s=1.0, next_s=next_s, because=because or waits_for or "delay")


def look(*hosts: HostRow, failures: tuple[tuple[str, int], ...] = (), **values: Any) -> Look:
    """values: of the crawl's row or of the look."""
    crawl = {
        "name": "docs",
        "state": "active",
        "max_pages": None,
        "max_bytes": None,
        "max_seconds": None,
        "active_s": 61.0,
    }
    others: dict[str, Any] = dict.fromkeys(CrawlLine._fields)
    seen = {"pages": 1_234, "failed": 12, "bytes": 5_600_000, "queued": MOST_QUEUED}
    row = CrawlLine(**others | {name: values.pop(name, default) for name, default in crawl.items()})
    return Look(crawl=row, failures=failures, hosts=hosts, **{**seen, **values})


def drawn(look: Look, *, rate: float = 2.0, width: int = 80, height: int = 24) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    with console.capture() as captured:
        console.print(progress.screen(look, rate, console))
    return [line.rstrip() for line in re.sub("\x1b\\[[0-9;]*m", "", captured.get()).splitlines()]


def test_what_is_on_the_screen() -> None:
    shown = drawn(
        look(host(), host("b.test", "being visited", None), failures=(("timeout", 3), ("HTTP 500", 1)), max_pages=2_000)
    )
    assert shown == [
        "docs  active  0:01:01",
        "pages   1,234 of 2,000, 2.0/s, end in 0:06:23 (max_pages)",
        "done    ###################-----------  62%",
        "so far  5.6 MB, over 1,000 queued",
        "failed  12; in the last minute: timeout 3, HTTP 500 1",
        "host    waits for             next",
        "a.test  its delay of 1 s  in 0.5 s",
        "b.test  being visited",
    ]


def test_what_a_wait_is_about_is_on_the_screen_and_not_on_the_line() -> None:
    """There hosts are counted by their reason."""
    away = host(waits_for="its wait: robots.txt out of reach", because="resting: robots.txt out of reach")
    away = away._replace(detail="HTTP 500")
    assert drawn(look(away), width=120)[-1].startswith("a.test  its wait: robots.txt out of reach: HTTP 500")
    assert progress.line(look(away), 1.0).endswith("; hosts: 1 waits (robots.txt out of reach)")


def test_a_stopped_archive_is_said_first_of_all() -> None:
    stopped = look(host(), stopped="archive at /a: its disk is full; free some")
    assert "stopped  archive at /a: its disk is full; free some" in drawn(stopped)
    assert "; stopped: archive at /a: its disk is full; free some; hosts:" in progress.line(stopped, 1.0)


@pytest.mark.parametrize("height", [8, 10, 24])
@pytest.mark.parametrize("width", [40, 80])
def test_it_is_never_more_than_a_screen(width: int, height: int) -> None:
    many = [host(f"{'long-' * 30}{n}.example.org", "its rest: " + "words " * 30, 3_600.0) for n in range(200)]
    classes = tuple((f"class-{'x' * 40}-{n}", n) for n in range(9))
    shown = drawn(look(*many, failures=classes, max_pages=10**9, name="n" * 100), width=width, height=height)
    assert len(shown) < height
    assert max(map(len, shown)) <= width
    assert "… and others" in shown[-1]


# budgets, rate → what is said of the end
@pytest.mark.parametrize(
    ("values", "rate", "end"),
    [
        ({}, 2.0, None),
        ({"max_pages": 1_434}, 2.0, "end in 0:01:40 (max_pages)"),
        ({"max_pages": 1_434}, 0.0, None),
        ({"max_seconds": 71.0}, 0.0, "end in 0:00:10 (max_seconds)"),
        ({"max_pages": 1_434, "max_seconds": 71.0}, 2.0, "end in 0:00:10 (max_seconds)"),
        ({"max_bytes": 5_600_000 * 2, "pages": 100}, 10.0, "end in 0:00:10 (max_bytes)"),
        ({"max_bytes": 10**9, "pages": 0, "bytes": 0}, 1.0, None),
        ({"max_pages": 1_000}, 2.0, "end in 0:00:00 (max_pages)"),
        ({"max_pages": 1_434, "state": "finished"}, 2.0, None),
    ],
)
def test_the_end_by_the_budget_that_is_reached_first(values: dict[str, Any], rate: float, end: str | None) -> None:
    assert progress.until_budget(look(**values), rate) == end


@pytest.mark.parametrize(
    ("values", "share"),
    [
        ({"max_pages": 2_468}, 0.5),
        ({"max_pages": 100}, 1.0),  # pages that were on their way when the budget was reached
        ({"queued": 1_234 - 1_000, "pages": 1_000 - 1_234 + 468}, 0.5),
        ({}, None),  # more is queued than is counted
        ({"pages": 0, "queued": 0}, None),
    ],
)
def test_the_share_that_is_done(values: dict[str, Any], share: float | None) -> None:
    assert progress.share_done(look(**values)) == share


def test_the_newest_request_is_shown_and_cut_at_the_edge() -> None:
    url = "http://a.test/" + "x" * 200
    (row,) = [row for row in drawn(look(newest=url)) if row.startswith("latest")]
    assert row.startswith("latest  http://a.test/xxx")
    assert (len(row) <= 80, row[-1]) == (True, "…")
    assert "; latest: http://a.test/b" in progress.line(look(newest="http://a.test/b"), 1.0)


@pytest.mark.parametrize(
    ("gap_s", "says"),
    [(0.5, "its delay of 1 s"), (1.0, "its delay of 1 s"), (1.5, "its address's gap of 1.5 s (TIPTOE_ADDRESS_GAP_S)")],
)
def test_the_rule_that_holds_a_host_back_is_named(gap_s: float, says: str) -> None:
    console = Console(file=io.StringIO(), width=120, height=24, color_system=None)
    with console.capture() as captured:
        console.print(progress.screen(look(host()), 1.0, console, gap_s))
    assert captured.get().splitlines()[-1].startswith(f"a.test  {says}  ")


def test_the_rate_is_that_of_the_last_ten_seconds() -> None:
    now, stream = 0.0, Stream(is_terminal=False)
    with LiveView(stream=stream, monotonic=lambda: now) as shown:
        for pages in (0, 0, 0, 50, 100):  # the workers start for twenty seconds
            shown.show(look(pages=pages))
            now += progress.PLAIN_EVERY_S
        now += 1.0
        shown.show(look(pages=111))
    said = [line.partition(", over")[0] for line in stream.getvalue().splitlines()]
    assert said == [f"docs: {it}" for it in ("0 pages (0.0/s)",) * 3] + [
        "docs: 50 pages (5.0/s)",
        "docs: 100 pages (5.0/s)",
        "docs: 111 pages (1.0/s)",
    ]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_quiet_view_shows_nothing_and_wants_no_look(is_terminal: bool) -> None:
    stream = Stream(is_terminal=is_terminal)
    with LiveView(stream=stream, is_quiet=True) as shown:
        assert not shown.is_due()
        shown.show(look(host()))
    assert stream.getvalue() == ""


def test_what_sites_wrote_steers_nothing() -> None:
    evil = look(host(EVIL, EVIL), failures=((EVIL, 1),), name=EVIL, newest=EVIL)
    for said in (progress.line(evil, 1.0), "\n".join(drawn(evil))):
        assert "a\N{REPLACEMENT CHARACTER}[2J" in said
        assert steering(said) == []


class Stream(io.StringIO):
    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self.isatty = lambda: is_terminal  # type: ignore[method-assign]


def test_plain_lines_without_a_terminal() -> None:
    stream = Stream(is_terminal=False)
    with LiveView(stream=stream) as shown:
        for _ in range(5):
            shown.show(look(host(), host("b.test"), host("c.test", "being visited", None), max_seconds=100.0))
    assert stream.getvalue() == (
        "docs: 1,234 pages (0.0/s), over 1,000 queued, 12 failed, 5.6 MB; end in 0:00:39 (max_seconds); "
        "hosts: 2 wait (its delay), 1 being visited\n"
    )


def test_a_look_in_full_is_due_once_in_ten_seconds_off_a_terminal() -> None:
    now = 100.0
    stream = Stream(is_terminal=False)
    with LiveView(stream=stream, monotonic=lambda: now) as shown:
        assert shown.is_due()
        shown.show(look(is_full=False))
        assert shown.is_due(), "what was not read in full is no line"
        shown.show(look(host()))
        assert not shown.is_due()
        now += progress.PLAIN_EVERY_S
        assert shown.is_due()
        shown.show(look(host(), pages=1_244))
    assert [line.partition(", over")[0] for line in stream.getvalue().splitlines()] == [
        "docs: 1,234 pages (0.0/s)",
        "docs: 1,244 pages (1.0/s)",
    ]


def test_on_a_terminal_each_look_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with LiveView(stream=Stream(is_terminal=True)) as shown:
        shown.show(look(host()))
        assert shown.is_due()


def test_a_terminal_gets_one_screen_that_is_left_standing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Stream(is_terminal=True)
    with LiveView(stream=stream) as shown:
        shown.show(look(host()))
        shown.show(look(host(), pages=1_235))
    assert stream.getvalue().count("1,234") == 1
    assert stream.getvalue().rstrip().endswith("\x1b[?25h")  # the cursor is back


def test_a_terminal_that_was_resized_is_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Stream(is_terminal=True)
    with LiveView(stream=stream) as shown:
        shown.show(look(host()))
        shown.show(look(host()))
        assert "\x1b[2J" not in stream.getvalue()
        assert shown._live is not None  # noqa: SLF001  # a StringIO has no size to change
        for columns in (50, 50, 90):
            shown._live.console.size = ConsoleDimensions(columns, 24)  # noqa: SLF001  # the same
            shown.show(look(host()))
    assert stream.getvalue().count("\x1b[2J") == 2


@pytest.mark.parametrize(("next_s", "words"), [(None, ""), (-3.0, "now"), (0.24, "in 0.2 s"), (61.0, "in 0:01:01")])
def test_when_a_host_is_next(next_s: float | None, words: str) -> None:
    assert drawn(look(host(next_s=next_s)))[-1].split("1 s")[-1].strip() == words


def test_numbers_that_are_not_whole_are_said_to_be_too_low() -> None:
    part = look(is_exact=False, queued=7)
    assert progress.line(part, 0.0).startswith("docs: 1,234 pages (0.0/s), 7 queued, about 12 failed")
    assert "failed  about 12" in drawn(part)


def test_a_long_wait_leaves_the_host_and_the_time_readable() -> None:
    away = host("a-name.example.org", "its wait: robots.txt out of reach", next_s=80.0)._replace(detail="x" * 200)
    *_, row = drawn(look(away, host()))[:-1]
    assert row.startswith("a-name.example.org  its wait: robots.txt out of reach: xxx")
    assert row.endswith("…  in 0:01:20")
    assert len(row) == 80
