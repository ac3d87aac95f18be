"""The pictures of the docs can be taken: `make screens`, with a shorter delay and on any port."""

import sys
from pathlib import Path

import pytest

from tests.screens import dashboard
from tests.screens.__main__ import COMMANDS, bare_env, take
from tests.screens.terminal import COLUMNS, drawing, screens
from tests.web.chromium import needs_chromium

LIVE = """
from rich.console import Console
from rich.live import Live
with Live(console=Console(), auto_refresh=False) as live:
    for name in ("first", "second", "third"):
        live.update(f"[red]{name}[/]\\n{'=' * Console().width}", refresh=True)
print("and its end")
"""


def test_each_screen_of_a_live_view() -> None:
    shown = list(screens([sys.executable, "-c", LIVE], {}))
    assert [each for each in shown if "second" in each] == [f"\x1b[31msecond\x1b[0m\n{'=' * COLUMNS}"]
    assert shown[-1].endswith("=\nand its end\n")


def test_a_drawing_keeps_its_colours_and_blanks() -> None:
    drawn = drawing("tiptoe", "\x1b[31mred\x1b[0m\n  two")
    assert ">red</text>" in drawn
    assert 'x="24.4" y="68.8" textLength="36.6"' in drawn
    with pytest.raises(ValueError, match="is longer than 80 columns"):
        drawing("tiptoe", "x" * (COLUMNS + 1))


@pytest.mark.acceptance
@pytest.mark.faults
def test_all_are_taken(tmp_path: Path) -> None:
    take(tmp_path, 0, is_enough=lambda shown: "pages" in shown, TIPTOE_DEFAULT_DELAY_S="0.05", TIPTOE_PROCESSES="1")
    assert {path.stem for path in tmp_path.iterdir()} == {"live", *COMMANDS}
    assert "no&#160;violation" in (tmp_path / "audit.svg").read_text()


@needs_chromium
@pytest.mark.acceptance
@pytest.mark.faults
def test_the_dashboard_is_taken(tmp_path: Path) -> None:
    picture = tmp_path / "dashboard.png"
    dashboard.take(picture, bare_env(), pages=1)
    head = picture.read_bytes()[:24]
    assert [int.from_bytes(head[at : at + 4]) for at in (16, 20)] == [1200, 780]
