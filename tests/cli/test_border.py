"""The border to the terminal: every text of a command goes through `app.cli.out`, and nothing that steers it comes
out."""

import ast
import csv
import io
import json
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from app.cli import out
from tests.cli.conftest import Terminal, Tiptoe, run
from tests.crawl.web import Site
from tests.steering import steering
from tests.store.rows import clean, sql

APP = Path(__file__).parents[2] / "app"
WRITERS = {"print", "typer.echo", "typer.secho", "click.echo", "sys.stdout.write", "sys.stderr.write", "Console"}
EVIL = "a\x1b]0;owned\x07\x9b2J\u202e\rb"


def calls(path: Path) -> set[str]:
    """What a module calls, as it is written there."""
    tree = ast.parse(path.read_text())
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


@pytest.mark.parametrize("path", sorted((APP / "cli").glob("*.py")), ids=lambda path: path.stem)
def test_commands_print_by_the_border_alone(path: Path) -> None:
    assert path.stem == "out" or not calls(path) & WRITERS


def test_the_test_above_sees_who_prints() -> None:
    assert calls(APP / "cli" / "out.py") >= {"print", "typer.secho", "Console"}


@pytest.mark.parametrize("speak", [out.answer, out.say, out.heading, lambda text: out.facts([(text, text)])])
@pytest.mark.parametrize("where", [Terminal, io.StringIO])
def test_nothing_that_steers_passes_it(
    speak: object, where: type[io.StringIO], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    with redirect_stdout(where()) as answers:
        speak(EVIL)  # type: ignore[operator]
    said = (answers.getvalue() + capsys.readouterr().err).replace("\x1b[1m", "").replace("\x1b[0m", "")  # our own bold
    assert said.strip()
    assert steering(said) == []


def test_a_line_to_standard_error_stays_one(capsys: pytest.CaptureFixture[str]) -> None:
    out.say("Location: /\ntiptoe: all is well\u2028really")
    assert capsys.readouterr().err == "Location: / tiptoe: all is well really\n"


QUERY = "SELECT CAST(E'a\\x1b[31m\\u009b\\u202e' AS text) AS evil, 'x' AS other"


@pytest.mark.parametrize("form", [["--json"], ["--csv"], []])
def test_sql_in_every_form(tiptoe: Tiptoe, form: list[str]) -> None:
    said = tiptoe("sql", QUERY, *form).out
    assert "a" in said
    assert steering(said) == []
    if form == ["--json"]:
        assert json.loads(said) == [{"evil": "a\x1b[31m\x9b\u202e", "other": "x"}]


def test_what_a_site_wrote_into_its_title(tiptoe: Tiptoe, site: Site) -> None:
    for args in (["url", "why", site.url("/a")], ["url", "why", site.url("/a"), "--json"]):
        said = tiptoe(*args).out
        assert "[31mA" in said
        assert steering(said) == []
    assert tiptoe("url", "why", site.url("/a"), "--json").json["crawls"][0]["page"]["title"] == "Page \x1b[31mA"


CELLS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "＝1", "plain", "a=b"]


def test_cells_that_a_spreadsheet_would_run(tiptoe: Tiptoe, database_url: str) -> None:
    with clean(database_url) as engine:
        sql(engine, "CREATE TABLE IF NOT EXISTS cells (id integer GENERATED ALWAYS AS IDENTITY, cell text)")
        sql(
            engine,
            "INSERT INTO cells (cell) SELECT * FROM json_array_elements_text(CAST(:c AS json))",
            c=json.dumps(CELLS),
        )
        asked = ("sql", "SELECT cell, -1 AS number FROM cells ORDER BY id", "--csv")
        told = [row["cell"] for row in csv.DictReader(io.StringIO(tiptoe(*asked).out))]
        defused = list(csv.DictReader(io.StringIO(tiptoe(*asked, "--spreadsheet").out)))
        sql(engine, "DROP TABLE cells")
    assert told == CELLS
    assert [row["cell"] for row in defused] == [f"'{cell}" for cell in CELLS[:7]] + CELLS[7:]
    assert {row["number"] for row in defused} == {"-1"}


def test_a_query_from_standard_input_or_a_file(tiptoe: Tiptoe, tmp_path: Path) -> None:
    file = tmp_path / "query.sql"
    file.write_text("-- a comment\nSELECT 1 AS one;\n")
    assert tiptoe("sql", "-", "--json", stdin=file.read_text()).json == [{"one": 1}]
    assert tiptoe("sql", "-f", str(file), "--json").json == [{"one": 1}]


# arguments → what is wrong, and what would do
@pytest.mark.parametrize(
    ("args", "err"),
    [
        ([], 'tiptoe sql: write one query: "SELECT …", - for standard input, or -f FILE'),
        (["SELECT 1", "-f", "x.sql"], 'tiptoe sql: write one query: "SELECT …", - for standard input, or -f FILE'),
        (["-f", "nix.sql"], "query file 'nix.sql': cannot be read (No such file or directory); name a text file"),
        (["-f", "."], "query file '.': cannot be read (Is a directory); name a text file"),
        (["SELECT 1", "--spreadsheet"], "--spreadsheet: works with --csv only; add it"),
        (["SELECT 1", "--csv", "--json"], "--json and --csv: exclude each other; choose one"),
        (["SELECT '\udcff'"], "tiptoe sql: the query cannot be read (not in UTF-8); write it in UTF-8"),
        (["SELECT 1", "more"], "Got unexpected extra argument(s) (more); see tiptoe"),
        (["SELECT 1", "--file"], "Option '--file' requires an argument; see tiptoe"),
    ],
)
def test_bad_input_of_sql(tiptoe: Tiptoe, args: list[str], err: str) -> None:
    ran = tiptoe("sql", *args)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(f"tiptoe: {err}")


def test_usage_errors_are_one_line() -> None:
    assert run("crawl", "pause").err == "tiptoe: Missing argument 'NAME'; see tiptoe crawl pause --help\n"
    assert (
        run("host", "slow", "a.test").err == "tiptoe: Missing argument 'SECONDS|default'; see tiptoe host slow --help\n"
    )


def test_ctrl_c_while_the_commands_are_imported_is_no_traceback() -> None:
    interrupted = (
        "import signal, app.cli; app.cli.make_app = lambda: signal.raise_signal(signal.SIGINT); app.cli.main()"
    )
    ended = subprocess.run([sys.executable, "-c", interrupted], cwd=APP.parent, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


TIPTOE = f"exec {sys.executable} -c 'from app.cli import main; main()'"
STREAMS = [
    ("--version", ">&-", 0),
    ("--version", "<&- >&- 2>&-", 0),
    ("--version", ">/dev/full", 2),
    ("--version", ">/dev/full 2>/dev/full", 2),
    ("--version", "1</dev/null", 2),
    ("--help", ">&-", 0),
    ("nonsense", "2>&-", 2),
    ("nonsense", "2>/dev/full", 2),
    ("nonsense", ">&- 2>&-", 2),
    ("profile show", ">&-", 0),
    ("extract run x --crawl y", "<&-", 2),
]


@pytest.mark.parametrize(("command", "streams", "code"), STREAMS)
def test_streams_that_are_closed_or_full_end_no_command(command: str, streams: str, code: int, tmp_path: Path) -> None:
    """A service of cron's, say. The exit code says what it would say to a person."""
    line = f"{TIPTOE} {command} {streams}"
    ended = subprocess.run(["sh", "-c", line], cwd=APP.parent, capture_output=True, text=True, timeout=60)
    assert ended.returncode == code, ended
    assert "Traceback" not in ended.stderr
    assert ended.stderr.count("\n") <= 1


def test_what_a_command_opens_takes_no_closed_streams_place() -> None:
    """Its lines would go to a database's socket, say."""
    code = (
        "import os, sys; from app.words import ready_streams; ready_streams(); print('x'); sys.stdout.flush();"
        "is_null = os.path.samestat(os.fstat(1), os.stat(os.devnull));"
        "sys.exit(os.open('/dev/zero', os.O_RDONLY) if is_null else 0)"
    )
    ended = subprocess.run(["sh", "-c", f'exec {sys.executable} -c "{code}" <&- >&- 2>&-'], cwd=APP.parent)
    assert ended.returncode >= 3
