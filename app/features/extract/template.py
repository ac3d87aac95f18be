"""The first handler of a user: it works as it stands, on any site, and shows where to go on."""

from keyword import iskeyword
from pathlib import Path

from app.errors import InputError
from app.model.handler import HANDLER_NAME

_TEXT = '''"""A handler for Tiptoe. Try it on one page, then run it over a crawl:

    tiptoe extract try https://example.org/ --handler {file}
    tiptoe extract run {file} --crawl NAME

To run it while a crawl goes on: TIPTOE_HANDLERS={file}
"""

from dataclasses import dataclass

import tiptoe


@dataclass
class {model}:
    """What is extracted from a page. Each field is a column of the view items_{name}."""

    title: str | None
    headings: list[str]
    links: int


@tiptoe.handler(match=r"", version=1, items={model})  # match: a regular expression, such as r"/books/"
def {name}(page: tiptoe.Page):
    """Raise the version when you change it; then run it again: no page is fetched for that."""
    yield {model}(
        title=page.title,
        headings=page.css("h1::text, h2::text").getall(),
        links=len(page.links),
    )
    # for href in page.css("a.next::attr(href)").getall():
    #     yield tiptoe.follow(href)
'''


def write(name: str, folder: Path) -> Path:
    """Write NAME.py with a first handler. Raises InputError for a name that is none, and where the file exists."""
    if not HANDLER_NAME.fullmatch(name) or not name.isidentifier():
        raise InputError(f"handler {name!r}", "use 1 to 40 of a-z, 0-9 and _, beginning with a letter, such as books")
    if iskeyword(name) or name == "tiptoe":
        raise InputError(f"handler {name!r}", "means something else in Python; choose another name, such as books")
    path = folder / f"{name}.py"
    model = "".join(part.capitalize() for part in name.split("_") if part) + "Item"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(_TEXT.format(name=name, file=path.name, model=model))
    except FileExistsError:
        raise InputError(str(path), "already exists; choose another name, or edit it") from None
    except OSError as error:
        raise InputError(str(path), f"cannot be written ({error.strerror}); choose another folder") from None
    return path
