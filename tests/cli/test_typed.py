"""A command that is printed to be typed next begins so that it asks the same database."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import make_app
from app.cli.options import typed

HERE, THERE = ".tiptoe", "other place"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("TIPTOE_HOME", "TIPTOE_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def within(*args: str) -> str:
    """The answer of `typed` says within `tiptoe ARGS… here`."""
    app, said = make_app(), []

    @app.command()
    def here(home: Path | None = None) -> None:
        """Ask."""
        said.append(typed(home))

    ran = CliRunner().invoke(app, args)
    assert ran.exit_code == 0, ran.output
    return said[0]


# command → the beginning of the next one
@pytest.mark.parametrize(
    ("args", "begins"),
    [
        (["here"], "tiptoe"),
        (["here", "--home", HERE], "tiptoe"),
        (["here", "--home", THERE], f"tiptoe --home '{THERE}'"),
        (["--home", THERE, "here"], f"tiptoe --home '{THERE}'"),
        (["--home", "a", "here", "--home", "b"], "tiptoe --home b"),
        (["here", "--home", "/elsewhere"], "tiptoe --home /elsewhere"),
    ],
)
def test_the_home_that_an_option_chose_is_named(args: list[str], begins: str) -> None:
    assert within(*args) == begins
    assert typed() == "tiptoe", "after the command"


def test_a_home_of_the_environment_needs_no_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIPTOE_HOME", THERE)
    assert within("here") == "tiptoe"


def test_a_database_that_is_configured_needs_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIPTOE_DATABASE_URL", "postgresql://127.0.0.1/x")
    assert within("--home", THERE, "here") == "tiptoe"
