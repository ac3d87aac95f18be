"""The whole of the command line: every command has help and is documented, errors are one line, starting is quick."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.pages import PAGES, ROOT
from tests.cli.conftest import Tiptoe, command_tree, run

DOCS = Path(__file__).parents[2] / "docs" / "commands.md"
HEAVY = "alembic celery kombu psycopg pydantic requests rich sqlalchemy structlog".split()  # noqa: SIM905  # a list literal takes a line per word


def commands(group: Any = None, path: str = "tiptoe") -> Iterator[tuple[str, Any]]:
    """(words, command) of all that can be run."""
    group = group or command_tree()
    for name, command in group.commands.items():
        words = f"{path} {name}"
        if hasattr(command, "commands"):
            yield from commands(command, words)
        else:
            yield words, command


def test_every_command_and_option_says_what_it_is_for() -> None:
    assert len(list(commands())) > 50
    for words, command in commands():
        assert command.help, words
        assert command.help.endswith((".", "?")), words
        assert [each.name for each in command.params if not each.help] == [], words


def test_every_command_is_documented_with_an_example() -> None:
    lines = DOCS.read_text().splitlines()
    for words, _ in commands():
        row = next((line for line in lines if line.startswith(f"| `{words}` |")), "")
        example = row.rpartition("| `")[2]
        assert words.removesuffix(" run") in example, words


def test_the_docs_name_no_command_that_is_not_there() -> None:
    named = {line.split("`")[1] for line in DOCS.read_text().splitlines() if line.startswith("| `tiptoe ")}
    assert named == {words for words, _ in commands()}


def test_commands_in_the_sentences_of_the_docs_are_there() -> None:
    known = {words.removeprefix("tiptoe ") for words, _ in commands()}
    groups = {words.rpartition(" ")[0] for words in known}
    for page in PAGES:
        for named in re.findall(r"`tiptoe ((?:[a-z][a-z-]*(?: |(?=`)))+)", (ROOT / page).read_text()):
            words = named.split()
            assert named.strip() in groups or any(" ".join(words[:n]) in known for n in (1, 2)), f"{page}: {named}"


def test_help_of_crawl_shows_the_options_and_the_verbs() -> None:
    shown = run("crawl", "--help").out
    assert "--max-pages" in shown
    assert "resume" in shown


# first argument → which command it is, by the usage that its mistake shows
@pytest.mark.parametrize(
    ("args", "usage"),
    [
        (["https://example.org/", "--nonsense"], "tiptoe crawl run"),
        (["--nonsense", "https://example.org/"], "tiptoe crawl run"),
        (["run", "--nonsense"], "tiptoe crawl run"),
        (["pause", "--nonsense"], "tiptoe crawl pause"),
        (["pause"], "tiptoe crawl pause"),
    ],
)
def test_crawl_is_its_verb_or_run(args: list[str], usage: str) -> None:
    ran = run("crawl", *args)
    assert ran.code == 2
    assert usage in ran.err


def test_version() -> None:
    assert run("--version").out.startswith("tiptoe ")


@pytest.mark.parametrize(
    "args", [["nonsense"], ["seed", "nonsense"], ["host", "slow", "a.test"], ["sql", "SELECT 1", "--nonsense"]]
)
def test_usage_errors_exit_2(args: list[str]) -> None:
    assert run(*args).code == 2


def test_starting_imports_nothing_heavy() -> None:
    code = f"import sys; from app.cli import make_app; make_app(); print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("module", ["edit", "hosts", "report", "run", "seeds"])
def test_a_question_or_an_order_loads_nothing_that_only_a_visit_needs(module: str) -> None:
    """Else `tiptoe status` takes twice as long to begin."""
    unneeded = ("app.crawl.frontier", "app.crawl.visit", "app.parse", "app.sandbox", "lxml", "requests")
    code = f"import sys, app.admin.{module}; print([m for m in sys.modules if m.startswith({unneeded})])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# environment, arguments → exit code and what the one line names
@pytest.mark.parametrize(
    ("environment", "args", "code", "names"),
    [
        ({"TIPTOE_DATABASE_URL": "mysql://a/b"}, ["status"], 2, "TIPTOE_DATABASE_URL=mysql://a/b"),
        ({"TIPTOE_DATABASE_URL": "nonsense"}, ["status"], 2, "TIPTOE_DATABASE_URL"),
        (
            {"TIPTOE_DATABASE_URL": "postgresql://u:secret@127.0.0.1:1/x"},
            ["status"],
            1,
            "Postgres at postgresql://u@127.0.0.1:1/x",
        ),
        ({"TIPTOE_QUEUES": "0"}, ["status"], 2, "TIPTOE_QUEUES='0'"),
        ({"TIPTOE_HOME": "/proc/nowhere"}, ["status"], 2, "TIPTOE_HOME='/proc/nowhere'"),
        ({}, ["host", "slow", "a.test", "soon"], 2, "delay 'soon'"),
        ({}, ["seed", "import", "c", "/nowhere.txt"], 2, "'/nowhere.txt'"),
    ],
)
def test_errors_are_one_line_that_names_the_thing(
    environment: dict[str, str], args: list[str], code: int, names: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    ran = run(*args)
    assert ran.code == code
    assert ran.out == ""
    (line,) = ran.err.splitlines()
    assert line.startswith("tiptoe: ")
    assert names in line
    assert "secret" not in line


def test_ctrl_c_exits_130_without_a_traceback(database_url: str, tmp_path: Path) -> None:
    """Interrupted while it waits for more seeds."""
    tiptoe = [sys.executable, "-c", "from app.cli import main; main()", "seed", "import", "interrupted", "-"]
    environment = {**os.environ, "TIPTOE_DATABASE_URL": database_url, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        tiptoe,
        env=environment,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        process.stdin.write("nonsense\n" * 100_000)  # more than a pipe holds: written through means it is reading
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_schema_newer_than_ours_is_refused(
    tiptoe: Tiptoe, make_database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    url = make_database()
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    monkeypatch.setenv("TIPTOE_DATABASE_URL", url)
    ran = tiptoe("status")
    assert ran.code == 1
    assert "9999 is newer than this Tiptoe" in ran.err
    assert ("schema", "fail") in [(check["name"], check["grade"]) for check in tiptoe("doctor", "--json").json]


def test_a_command_that_may_create_a_crawl_creates_the_schema(
    tiptoe: Tiptoe, services: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from urllib.parse import urlsplit, urlunsplit

    import psycopg

    with psycopg.connect(services.database_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE cli_empty")
    url = urlunsplit(urlsplit(services.database_url)._replace(path="/cli_empty"))
    monkeypatch.setenv("TIPTOE_DATABASE_URL", url)
    assert [check["grade"] for check in tiptoe("doctor", "--json").json if check["name"] == "schema"] == ["fail"]
    ran = tiptoe("crawl", "list")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "it has no schema yet, and this Tiptoe wants" in ran.err
    ran = tiptoe("seed", "add", "docs", "http://127.0.0.1/")
    assert ran.code == 0
    assert "database schema: none →" in ran.err
    assert tiptoe("db", "upgrade").out.endswith("already\n")


def test_db_upgrade_migrates_an_empty_database(tiptoe: Tiptoe, services: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from urllib.parse import urlsplit, urlunsplit

    import psycopg

    with psycopg.connect(services.database_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE cli_upgrade")
    monkeypatch.setenv("TIPTOE_DATABASE_URL", urlunsplit(urlsplit(services.database_url)._replace(path="/cli_upgrade")))
    assert "none → " in tiptoe("db", "upgrade").out


def test_the_newest_migration_is_alembics_head() -> None:
    """`revisions` goes by file names, to spare commands Alembic's import."""
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    from app.store import migrate

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parents[2] / "migrations"))
    assert ScriptDirectory.from_config(config).get_current_head() == migrate.revisions()[-1]
