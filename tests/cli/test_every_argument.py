"""Every command, wrong in each of its arguments and options: never a traceback, and one line where it is refused."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from app.admin import seeds
from app.admin.crawls import create
from app.model import CrawlSpec
from tests.cli.conftest import Tiptoe
from tests.cli.test_commands import commands
from tests.crawl.loop import make_settings
from tests.store.rows import clean

WRONG = ["", "-1", "\udcff", "x" * 300]  # nothing, no amount, octets that are no UTF-8, longer than a file's name
# What stands in the arguments that are not tried. Nothing is contacted, and nothing new begins.
RIGHT = {"crawl": "docs", "name": "docs", "url": "http://h.test/", "urls": "http://h.test/", "query": "SELECT 1"}
RIGHT |= {"host": "h.test", "seeds": "ftp://h.test/", "file": "nowhere.txt"}
RUNS = {"tiptoe up", "tiptoe demo", "tiptoe web"}  # until they are ended: their values are settings or ports
TAKES_MORE_LINES = {"tiptoe seed import", "tiptoe seed add", "tiptoe identity page"}  # a line each for what is amiss


@pytest.fixture(autouse=True)
def docs(database_url: str) -> Iterator[None]:
    with clean(database_url) as engine:
        settings = make_settings(database_url)
        assert seeds.add(engine, settings, create(engine, "docs", CrawlSpec()), ["http://h.test/"]).added == 1
        yield


def trials(words: str, command: Any) -> Iterator[list[str]]:
    """Arguments with one that is wrong."""
    arguments = [each for each in command.params if each.param_type_name == "argument"]

    def line(wrong: Any = None, value: str = "") -> list[str]:
        return [
            value if each is wrong else RIGHT.get(each.name, "1")
            for each in arguments
            if each is wrong or each.required
        ]

    for each in command.params:
        for value in WRONG:
            if each in arguments:
                yield line(each, value)
            elif not each.is_flag and (words not in ALIKE or each.opts[0] not in OF_A_CRAWL):
                yield [*line(), each.opts[0], value]


# The options of a crawl are declared once, and what makes one takes them by one function: they are tried with one of
# these commands, and with that which edits a crawl.
ALIKE = {"tiptoe crawl run", "tiptoe seed import"}
OF_A_CRAWL = {each.opts[0] for words, command in commands() if words == "tiptoe seed add" for each in command.params}
COMMANDS = [(words, command) for words, command in commands() if words not in RUNS]


@pytest.mark.parametrize(("words", "command"), COMMANDS, ids=[words for words, _ in COMMANDS])
def test_it_ends_in_one_line(tiptoe: Tiptoe, words: str, command: Any) -> None:
    for typed in trials(words, command):
        ran = tiptoe(*words.split()[1:], *typed, stdin="")
        assert ran.code in (0, 1, 2), (typed, ran)
        if ran.code and words not in TAKES_MORE_LINES:
            assert ran.err.count("\n") == 1 or (ran.code == 1 and ran.out), (typed, ran)
            assert not ran.err or re.match("tiptoe: |warning: ", ran.err), (typed, ran)


def test_all_but_a_prompt_for_a_person_answer_as_json() -> None:
    for words, command in commands():
        is_prompt = words == "tiptoe shell"
        assert any("--json" in each.opts for each in command.params) is not is_prompt, words
