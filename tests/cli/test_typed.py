"""A command that is printed to be typed next begins so that it asks the same database."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import make_app
from app.cli.options import gather, settings_with, typed
from app.config import Settings
from app.errors import InputError

ROOT = Path(__file__).parents[2]
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


# command → the remedy that its error names
@pytest.mark.parametrize(
    ("args", "remedy"),
    [
        (["fails"], "tiptoe crawl start a; tiptoe --version says which"),
        (["--home", THERE, "fails"], f"tiptoe --home '{THERE}' crawl start a; tiptoe --version says which"),
        (["fails", "--home", THERE], f"tiptoe --home '{THERE}' crawl start a; tiptoe --version says which"),
        (["fails", "--home", HERE], "tiptoe crawl start a; tiptoe --version says which"),
    ],
)
def test_the_remedy_of_an_error_is_for_the_same_data(args: list[str], remedy: str) -> None:
    for again in (args, ["fails"]):
        app = make_app()

        @app.command()
        @gather(settings=settings_with)
        def fails(settings: Settings) -> None:
            """Fail."""
            raise InputError("crawl a", "is finished; tiptoe crawl start a; tiptoe --version says which")

        said = remedy if again is args else "tiptoe crawl start a; tiptoe --version says which"
        assert CliRunner().invoke(app, again).stderr == f"tiptoe: crawl a: is finished; {said}\n"


def test_a_program_that_no_path_leads_to_is_named_by_its_path(folder: Path) -> None:
    """As after `make crawl`: its environment is not activated. Each command is renamed once."""
    script = folder / ".venv/bin/tiptoe"
    script.parent.mkdir(parents=True)
    script.write_text(
        f"#!{sys.executable}\nfrom app.cli.options import retyped, typed\n"
        "print(retyped(f'{typed()} web; tiptoe page list'))\n"
    )
    script.chmod(0o755)
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([".venv/bin/tiptoe"], cwd=folder, env=env, capture_output=True, text=True, check=True)
    assert ran.stdout == ".venv/bin/tiptoe web; .venv/bin/tiptoe page list\n"
    env["PATH"] = f"{script.parent}:{env['PATH']}"
    ran = subprocess.run(["tiptoe"], cwd=folder, env=env, capture_output=True, text=True, check=True)
    assert ran.stdout == "tiptoe web; tiptoe page list\n"
