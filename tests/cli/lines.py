"""A line for each command that it takes as it is, about a crawl `docs` of http://h.test/; and what a command may do."""

import re
from typing import Any

# demo has a home of its own; the others ask no database.
ELSEWHERE = re.compile("tiptoe (demo|botauth|profile|plugins|identity (?!opt-outs)|extract (new|try)|page rendered-by)")
VALUES = {"crawl": "docs", "name": "docs", "url": "http://h.test/", "urls": "http://h.test/", "query": "SELECT 1"}
VALUES |= {"host": "h.test", "seeds": "http://h.test/", "file": "seeds.txt", "handler": "titles", "handlers": "titles"}
VALUES |= {"to": "pages.jsonl", "hours": "08:00-18:00"}
MORE = {"tiptoe sql": ["SELECT 1"], "tiptoe archive prune": ["--days", "1", "--yes"]}
UPGRADES = {"tiptoe crawl run", "tiptoe up", "tiptoe db upgrade"}
CREATES = {"tiptoe seed add", "tiptoe seed import", "tiptoe web", "tiptoe page get"}


def typed(words: str, command: Any) -> list[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument" and each.required]
    options = [each for each in command.params if each.param_type_name == "option" and each.required]
    return [
        *words.split()[1:],
        *(VALUES.get(each.name, "1") for each in arguments),
        *(part for each in options for part in (each.opts[0], VALUES.get(each.name, "1"))),
        *MORE.get(words, []),
    ]
