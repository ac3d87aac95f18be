"""Help in a terminal of 80 columns: what has to be typed is whole, and so are the sentences."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from app.cli.options import COMMANDS as ROOT
from tests.cli.conftest import command_tree, run

COLUMNS = 80
ENVIRONMENT = re.compile(r"TIPTOE_[A-Z_]+")
TYPED = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def everything(group: Any = None, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(words, command) of the groups and of all that can be run."""
    command = group or command_tree()
    yield words, command
    for name, each in getattr(command, "commands", {}).items():
        yield from everything(each, (*words, name))


EVERYTHING = dict(everything())


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("TERMINAL_WIDTH", str(COLUMNS))  # typer's, for rich


def to_be_typed(command: Any) -> set[str]:
    """Names of options, their values, and environment variables, in what its help says."""
    found = set(ENVIRONMENT.findall(command.help or ""))
    for each in command.params:
        said = f"{each.help or ''} {each.show_default if isinstance(getattr(each, 'show_default', None), str) else ''}"
        found |= {*ENVIRONMENT.findall(said), *TYPED.findall(said), *each.secondary_opts}
        if each.param_type_name == "option":
            found |= {*each.opts, *filter(None, [each.metavar])}
    return found


def test_every_command_of_the_root_has_its_place() -> None:
    """By these names commands are found in what a person reads, too (`app.cli.options.retyped`)."""
    assert sorted(ROOT) == sorted(EVERYTHING[()].commands)


@pytest.mark.parametrize("words", EVERYTHING, ids=" ".join)
def test_nothing_that_has_to_be_typed_is_cut_and_nothing_is_of_python(words: tuple[str, ...]) -> None:
    """No types as Python writes them, no doubled signs; of a group, each command's first paragraph in full."""
    shown = run(*words, "--help").out
    cut = [
        name
        for name in to_be_typed(EVERYTHING[words])
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w…-])", shown)
    ]
    assert cut == []
    assert [line for line in shown.splitlines() if len(line) > COLUMNS] == []
    flat = " ".join(shown.split())
    found = re.search(r"<(?!\w+>|=)|list\[|default: \([^)]*\)\]|…\}?\.\.\.", flat)
    assert found is None, found
    for name, each in getattr(EVERYTHING[words], "commands", {}).items():
        assert f"{name} {' '.join(each.help.partition(chr(10) * 2)[0].split())}" in flat
