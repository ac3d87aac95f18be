"""Options that are declared once: a command's help has them in place of the value that they make, and a run gets that
value."""

from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from app.cli import make_app
from app.cli.options import gather
from app.model import CrawlSpec


def _pair(left: Annotated[int, typer.Option()] = 1, right: Annotated[list[str] | None, typer.Option()] = None) -> str:
    return f"{left} {right}"


def _app(seen: list[tuple[str, str, bool]]) -> typer.Typer:
    app = typer.Typer()

    @app.command()
    @gather(pair=_pair)
    def command(word: Annotated[str, typer.Argument()], pair: "NoSuchName", last: bool = False) -> None:  # type: ignore[name-defined]  # noqa: F821  # as under TYPE_CHECKING
        """Its own words."""
        seen.append((word, pair, last))

    return app


@pytest.mark.parametrize(
    ("args", "got"),
    [
        (["w"], ("w", "1 None", False)),
        (["w", "--left", "2", "--right", "a", "--right", "b", "--last"], ("w", "2 ['a', 'b']", True)),
    ],
)
def test_a_command_gets_the_value(args: list[str], got: tuple[str, str, bool]) -> None:
    seen: list[tuple[str, str, bool]] = []
    assert CliRunner().invoke(_app(seen), args).exit_code == 0
    assert seen == [got]


def test_a_part_of_a_value_is_gathered_too() -> None:
    @gather(pair=_pair)
    def whole(mark: Annotated[str, typer.Option()] = "!", *, pair: str) -> str:
        return pair + mark

    app, seen = typer.Typer(), list[str]()

    @app.command()
    @gather(value=whole)
    def command(value: str) -> None:
        seen.append(value)

    assert CliRunner().invoke(app, ["--left", "2", "--mark", "?"]).exit_code == 0
    assert seen == ["2 None?"]


def test_help_has_the_options_and_not_the_value() -> None:
    shown = CliRunner().invoke(_app([]), ["--help"], env={"COLUMNS": "200"}).output
    assert [word in shown for word in ("--left", "--right", "--last", "Its own words.", "pair")] == [True] * 4 + [False]


@pytest.mark.parametrize("command", [["crawl", "run"], ["seed", "add"], ["seed", "import"], ["crawl", "edit"]])
def test_every_wish_is_an_option_of_each_command_that_takes_wishes(command: list[str]) -> None:
    shown = CliRunner().invoke(make_app(), [*command, "--help"], env={"COLUMNS": "200"}).output
    columns = CrawlSpec().columns()
    options = {
        name: f"--{name.removesuffix('_s').removesuffix('s').replace('_', '-')}" for name in columns
    }  # --handler is repeated
    assert [name for name, option in options.items() if option not in shown] == []
