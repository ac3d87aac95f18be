"""Tables of docs/commands.md that are made of the catalogues: `python -m tests.catalogue_tables` renews them."""

import re
from pathlib import Path

from app.model.crawl import OPTIONS, Option

PAGE = Path(__file__).parents[1] / "docs/commands.md"
OPTIONS_HEAD = "| option | column, keyword | of a new crawl | what it changes |"


def options() -> str:
    """Every option of a crawl."""
    return _table(OPTIONS_HEAD, [_option(each) for each in OPTIONS.values()])


def renewed(page: str) -> str:
    """The page with its tables as they are to be."""
    for head, table in ((OPTIONS_HEAD, options()),):
        page = re.sub(rf"^{re.escape(head)}\n(?:\|.*\n)*", lambda _, new=table: f"{new}\n", page, flags=re.MULTILINE)
    return page


def _option(option: Option) -> list[str]:
    flag, metavar = f"--{option.flag}", option.metavar.replace("|", "\\|")
    typed = f"`{flag}`, `--no-{option.flag}`" if option.kind == "flag" else f"`{flag} {metavar}`"
    keyword = "" if option.name == option.column else f"; `{option.name}`"
    sentence = option.sentence.replace("|", "\\|")
    return [typed, f"`{option.column}`{keyword}", option.usual or "none", f"{sentence}."]


def _table(head: str, rows: list[list[str]]) -> str:
    rule = re.sub(r" [^|]+ ", " --- ", head)
    return "\n".join([head, rule, *(f"| {' | '.join(row)} |" for row in rows)])


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text()))
