"""How commands speak: plain and JSON forms of what the database holds, and nothing that could steer a terminal."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from ipaddress import IPv4Address
from pathlib import Path
from uuid import UUID

import pytest

from app.admin.check import Check, Grade
from app.cli import out
from tests.cli.conftest import Terminal, run

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


# value → as JSON, as a cell
@pytest.mark.parametrize(
    ("value", "plain", "shown"),
    [
        (None, None, ""),
        (True, True, "true"),
        (7, 7, "7"),
        (0.1, 0.1, "0.1"),
        (float("nan"), None, "nan"),
        (Decimal("2"), 2, "2"),
        (Decimal("2.5"), 2.5, "2.5"),
        ("text", "text", "text"),
        (NOON, "2026-01-31T12:00:00+00:00", "2026-01-31 12:00:00+00:00"),
        (timedelta(minutes=1), 60.0, "60.0"),
        (b"\x00\xff", "00ff", "00ff"),
        (memoryview(b"\x01"), "01", "01"),
        (IPv4Address("192.0.2.1"), "192.0.2.1", "192.0.2.1"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000001"),
        (["a", 1], ["a", 1], '["a", 1]'),
        (("ä",), ["ä"], '["ä"]'),
        ({"at": NOON}, {"at": "2026-01-31T12:00:00+00:00"}, '{"at": "2026-01-31T12:00:00+00:00"}'),
        ("a\x1b[31mred\nb\x9b", "a\x1b[31mred\nb\x9b", "a\N{REPLACEMENT CHARACTER}[31mred b\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_values(value: object, plain: object, shown: str) -> None:
    assert out.plain(value) == plain
    assert out.shown(value) == shown


def test_dataclasses_are_objects() -> None:
    check = Check(name="a", grade=Grade.OK, finding="b")
    assert out.plain([check]) == [{"name": "a", "grade": "ok", "finding": "b", "remedy": ""}]


def test_a_table_is_aligned_and_cut(capsys: pytest.CaptureFixture[str]) -> None:
    out.table(("name", "n"), [("a", 1), ("x" * 100, 22)], cut=5)
    assert capsys.readouterr().out == "name   n\na      1\nxxxx…  22\n"


def test_a_table_without_rows_is_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    out.table(("name", "n"), [])
    assert capsys.readouterr().out == "name  n\n"


def test_facts_leave_out_what_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    out.facts([("a", 0), ("long", "x"), ("none", None), ("empty", [])])
    assert capsys.readouterr().out == "  a     0\n  long  x\n"


def test_a_terminal_gets_a_table_of_its_width_and_indented_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    with redirect_stdout(Terminal()) as terminal:
        out.table(("name",), [("[bold]" + "y" * 40,)])
    assert max(len(re.sub("\x1b.*?m", "", line)) for line in terminal.getvalue().splitlines()) <= 30
    assert "[bold]" in terminal.getvalue()
    document: Mapping[str, int] = {"a": 1}
    with redirect_stdout(terminal):
        out.show_json(document)
    assert terminal.getvalue().endswith(json.dumps(document, indent=2) + "\n")


def test_a_table_wider_than_the_terminal_becomes_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with redirect_stdout(Terminal()) as terminal:
        out.table(
            ("url", "state", "cause"), [("http://a.test/" + "x" * 55, "gone", ""), ("b", "queued", "words " * 20)]
        )
    lines = [re.sub("\x1b.*?m", "", line).rstrip() for line in terminal.getvalue().splitlines()]
    assert max(map(len, lines)) <= 80
    assert lines[1:4] == ["url    http://a.test/" + "x" * 55, "state  gone", ""]
    assert lines[4:6] == ["url    b", "state  queued"]
    assert [line.split()[0] for line in lines[6:]] == ["cause", "words"]


def test_a_table_without_rows_that_is_wider_than_the_terminal_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with redirect_stdout(Terminal()) as terminal:
        out.table(("x" * 50, "y" * 50), [])
    assert terminal.getvalue() == "no rows\n"


def test_long_facts_go_on_under_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    with redirect_stdout(Terminal()) as terminal:
        out.facts([("waits for", "its delay of 1 s, and then a worker that takes it up")])
    lines = [re.sub("\x1b.*?m", "", line).rstrip() for line in terminal.getvalue().splitlines()]
    assert lines == ["  waits for  its delay of 1 s, and then", "             a worker that takes it up"]


@pytest.mark.parametrize("words", [["crawl", "--help"], ["crawl", "edit", "--help"], ["url", "retry", "--help"]])
def test_help_shows_defaults(words: list[str]) -> None:
    said = " ".join(run(*words).out.replace("│", " ").split())
    assert re.search(r"\[default: \w", said)
    assert "[default: ]" not in said


def test_no_help_has_a_default_as_markup() -> None:
    """Square brackets are markup to rich, and eaten; show_default is not."""
    for path in (Path(out.__file__).parent).glob("*.py"):
        assert not re.search(r"(?<!\\)\[default:", path.read_text()), path


ROOT = Path(__file__).parents[2]
TITLE = "Щука – 魚 – ü"


def typed_in(encoding: str, *args: str, url: str, terminal: bool = False) -> tuple[int, bytes, bytes]:
    """A command in a process whose output is in this encoding: exit code, and what it wrote."""
    env = {**os.environ, "PYTHONIOENCODING": encoding, "TIPTOE_DATABASE_URL": url, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-P", "-m", "tiptoe", *args]
    if not terminal:
        ran = subprocess.run(argv, env=env, capture_output=True, timeout=60, check=False)
        return ran.returncode, ran.stdout, ran.stderr
    ours, theirs = pty.openpty()
    with subprocess.Popen(argv, env=env, stdout=theirs, stderr=subprocess.PIPE) as process:
        _, said = process.communicate(timeout=60)
        os.close(theirs)
        with open(ours, "rb", buffering=0) as read:
            return process.returncode, read.read(1 << 16) or b"", said


# encoding → the title as it is written there
LACKING = [
    ("koi8-r", "Щука ? ? ? ?"),
    ("ascii", "???? ? ? ? ?"),
    ("utf-8", TITLE),
]


@pytest.mark.parametrize(("encoding", "shown"), LACKING)
def test_characters_that_a_terminal_lacks_are_replaced(database_url: str, encoding: str, shown: str) -> None:
    terminal = encoding in {"ascii", "utf-8"}
    code, wrote, said = typed_in(encoding, "sql", f"SELECT '{TITLE}' AS title", url=database_url, terminal=terminal)
    assert (code, b"Traceback" in said) == (0, False), said
    assert shown in wrote.decode(encoding), wrote


def test_errors_and_json_there(database_url: str) -> None:
    """An error quotes its input; a document stays whole, as escapes."""
    encoding = "iso8859-1"
    code, _, said = typed_in(encoding, "url", "why", f"http://{TITLE}", url=database_url)
    assert (code, said.count(b"\n"), b"Traceback" in said) == (2, 1, False)
    _, wrote, _ = typed_in(encoding, "sql", f"SELECT '{TITLE}' AS title", "--json", url=database_url)
    assert json.loads(wrote.decode("ascii")) == [{"title": TITLE}]
