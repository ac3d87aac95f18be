"""Tables of docs/commands.md that are made of the catalogues: `python -m tests.catalogue_tables` renews them."""

import re
from collections.abc import Callable
from pathlib import Path

from app.admin.act import DEFAULT, Act, FormField
from app.admin.orders import CATALOGUE
from app.model.crawl import OPTIONS, Option

PAGE = Path(__file__).parents[1] / "docs/commands.md"
EXAMPLES = {"host": "example.org", "crawl": "docs", "url": "https://example.org/a"}
OPTIONS_HEAD = "| option | column, keyword | of a new crawl | what it changes |"


def options() -> str:
    """Every option of a crawl."""
    return _table(OPTIONS_HEAD, [_option(each) for each in OPTIONS.values()])


def renewed(page: str) -> str:
    """The page with its tables as they are to be."""
    for head, table in ((OPTIONS_HEAD, options()),):
        page = re.sub(rf"^{re.escape(head)}\n(?:\|.*\n)*", _as_it_is(table), page, flags=re.MULTILINE)
    for act in CATALOGUE:  # each where it stands; a new one after the one before it
        here = rf"^\| `{command(act)}` \|.*\n"
        place = here if re.search(here, page, re.MULTILINE) else f"(?<=^{re.escape(order(_before(act)))}\n)"
        page = re.sub(place, _as_it_is(order(act)), page, flags=re.MULTILINE)
    return page


def _as_it_is(text: str) -> Callable[[re.Match[str]], str]:
    """A replacement in which no backslash is read."""
    return lambda _: f"{text}\n"


def command(act: Act) -> str:
    """What is typed, without its subject: `tiptoe host slow`."""
    return f"tiptoe {act.leads} {act.verb}"


def order(act: Act) -> str:
    """The row of an order."""
    typed = f"{command(act)} {EXAMPLES[act.leads]}{act.example and f' {act.example}'}"
    return f"| `{command(act)}` | {' '.join([act.sentence(), '; '.join(map(_value, act.asks))]).strip()} | `{typed}` |"


def _value(ask: FormField) -> str:
    """An argument or option of an order."""
    typed = f"{ask.metavar}\\|{DEFAULT}" if ask.is_argument else f"--{ask.name}"
    none = f"; {DEFAULT}: {ask.none}" if ask.is_argument else ""
    return f"`{typed}`: {ask.label[:1].lower()}{ask.label[1:]}{none}"


def _before(act: Act) -> Act:
    return CATALOGUE[CATALOGUE.index(act) - 1]


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
