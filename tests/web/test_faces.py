"""A newcomer's walk: `--help`, the forms, the docs and Python say the same of an order and of a crawl's option."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from parsel import Selector
from sqlalchemy import Engine

from app.admin.act import Act
from app.admin.orders import CATALOGUE
from app.model.crawl import OPTIONS, CrawlOptions, Option
from tests import catalogue_tables
from tests.cli.conftest import command_tree
from tests.crawl.web import Web, html
from tests.store.rows import clean, sql
from tests.web.served import Browser, served, settings_of

PAGE = catalogue_tables.PAGE.read_text()
ROOT: Any = command_tree()
OF_OPTIONS = [("crawl", "run"), ("crawl", "edit"), ("seed", "add"), ("seed", "import")]


@pytest.fixture(scope="module")
def browser(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browser, Engine]]:
    """A dashboard with one crawl, c, of one host."""
    settings = settings_of(database_url, home=tmp_path_factory.mktemp("home"))
    with clean(database_url) as engine, served(engine, settings) as found, Web() as web:
        site = web.site()
        site.pages["/"] = html()
        made = found.post("/act/crawl.make", subject="c", seeds=site.url("/"), scope="host", archive="on")
        assert made.status_code == 303, made.text
        yield found, engine


def form_of(browser: tuple[Browser, Engine], key: str, leads: str) -> tuple[str, str]:
    """(the subject, what its form says, in one line)"""
    found, engine = browser
    query = {"crawl": "SELECT name AS it FROM crawls", "host": "SELECT name AS it FROM hosts"}
    subject = str(sql(engine, query.get(leads, "SELECT url AS it FROM urls"))[0]["it"])
    answer = found.get(f"/act/{key}?subject={subject}")
    assert answer.status_code == 200
    return subject, " ".join(" ".join(Selector(answer.text).css("main ::text").getall()).split())


@pytest.mark.parametrize("act", CATALOGUE, ids=lambda act: act.key)
def test_an_order_is_said_in_the_same_words(browser: tuple[Browser, Engine], act: Act) -> None:
    command = ROOT.commands[act.leads].commands[act.verb]
    assert command.help == act.sentence()
    subject, form = form_of(browser, act.key, act.leads)
    assert act.sentence(subject) in form
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `tiptoe {act.leads} {act.verb}` |")]
    assert act.sentence() in row
    helps = {each.name: each.help for each in command.params}
    for ask in act.asks:
        assert helps[ask.name].startswith(ask.label)
        assert ask.label in form
        assert ask.label[1:] in row


@pytest.mark.parametrize("option", OPTIONS.values(), ids=lambda option: option.column)
def test_an_option_is_said_in_the_same_words(browser: tuple[Browser, Engine], option: Option) -> None:
    for group, verb in OF_OPTIONS:
        (found,) = [each for each in ROOT.commands[group].commands[verb].params if f"--{option.flag}" in each.opts]
        assert found.help.startswith(option.sentence), (group, verb)
    for key in ("crawl.make", "crawl.edit"):
        _, form = form_of(browser, key, "crawl")
        assert option.help in form, key
        assert [means for means in option.choices.values() if means not in form] == []
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `--{option.flag}") and option.column in line]
    assert option.sentence in row
    assert option.name in CrawlOptions.__annotations__


def test_a_report_names_an_option_by_its_name(browser: tuple[Browser, Engine]) -> None:
    found, _ = browser
    page = found.get("/crawl?name=c").text
    usual = {
        option.title for option in OPTIONS.values() if option.default not in (None, "", (), 0.0) or option.usual == "no"
    }
    assert [title for title in usual if f"{title.capitalize()}<" not in page] == []


@pytest.mark.parametrize("word", ["default", ""])
def test_default_is_an_empty_field(browser: tuple[Browser, Engine], word: str, tmp_path: Path) -> None:
    found, engine = browser
    name = sql(engine, "SELECT name FROM hosts")[0]["name"]
    for act, field in (("slow", "delay"), ("quiet", "hours"), ("pin", "queue")):
        assert found.post(f"/act/host.{act}", subject=name, **{field: word}).status_code == 303
    noted = sql(engine, "SELECT detail, outcome FROM operator_log ORDER BY id DESC LIMIT 3")
    assert [str(each["detail"]).partition(";")[0] for each in noted] == [
        "queue=default",
        "hours=default",
        "delay=default",
    ]
    assert noted[1]["outcome"] == f"{name}: no quiet hours of its own"
