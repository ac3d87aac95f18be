"""The documents of --json have the keys that docs/commands.md lists: scripts rely on them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from app.model.crawl import OPTIONS
from tests.cli.conftest import Tiptoe
from tests.crawl.web import Site

PAGE = Path(__file__).parents[2] / "docs/commands.md"
ROWS = re.findall(r"^\| of `(.+) --json` \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
BY_ITSELF = "crawl URL…"  # tests/acceptance/test_one_machine.py


def test_the_table_is_found() -> None:
    assert len(ROWS) >= 10
    assert BY_ITSELF in dict(ROWS)


@pytest.mark.parametrize(("command", "cell"), [row for row in ROWS if row[0] != BY_ITSELF], ids=lambda cell: cell[:20])
def test_a_document_has_the_keys_that_are_documented(tiptoe: Tiptoe, site: Site, command: str, cell: str) -> None:
    words = command.replace("NAME", "docs").replace("URL", site.url("/a")).split()
    ran = tiptoe(*words, "--json")
    assert ran.out, ran.err
    found: Any = json.loads(ran.out.splitlines()[0] if "an object a line" in cell else ran.out)
    assert isinstance(found, list) is cell.startswith("a list of: ")
    keys = {key for each in (found if isinstance(found, list) else [found]) for key in each}
    assert keys == set(re.findall(r"`(\w+)`", cell)) | (set(OPTIONS) if "#options" in cell else set())


def test_a_list_of_crawls_says_what_each_is_asked_to_be(tiptoe: Tiptoe, site: Site) -> None:
    (crawl,) = tiptoe("crawl", "list", "--json").json
    assert (crawl["name"], crawl["scope"], crawl["max_pages"], crawl["render"]) == ("docs", "host", None, "auto")
    assert crawl["pages"] == 2, site.host
