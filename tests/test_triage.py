"""What the pages for trouble tell a person to type is there: commands, and SQL that runs."""

import re
from pathlib import Path

import pytest

from app.store import db
from tests.cli.conftest import command_tree

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("alerts.md", "triage.md", "errors.md")
TYPED = [
    (page, " ".join(typed.split()))
    for page in PAGES
    for typed in re.findall(r"`(tiptoe .+?)`", (DOCS / page).read_text(), re.DOTALL)
    if typed != "tiptoe crawl …"  # the beginning of an error
]
SQL = [typed[len("tiptoe sql ") + 1 : -1] for _, typed in TYPED if typed.startswith("tiptoe sql ")]


def test_commands_are_there() -> None:
    assert len(TYPED) > 50
    for page, typed in TYPED:
        words = typed.split()[1:]
        node = command_tree()
        while words and hasattr(node, "commands"):
            name = words.pop(0)
            assert name in node.commands, f"{page}: {typed}"
            node = node.commands[name]
        options = {option for parameter in node.params for option in [*parameter.opts, *parameter.secondary_opts]}
        assert {word for word in words if word.startswith("--")} <= options, f"{page}: {typed}"


def test_there_is_sql_to_run() -> None:
    assert len(SQL) >= 4


@pytest.mark.parametrize("query", SQL)
def test_sql_runs(database_url: str, query: str) -> None:
    engine = db.connect(database_url)
    with engine.begin() as tx:
        assert tx.exec_driver_sql(query).returns_rows
    engine.dispose()
