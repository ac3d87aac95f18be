"""`tiptoe rights`: what an owner states about the uses of a URL or a host's pages, and the verdict for each purpose."""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.database import open_database
from app.cli.out import AsJson, answer, facts, heading, show_json
from app.words import counted

if TYPE_CHECKING:
    from app.admin.rights import RightsReport, RightsStated

Asked = Annotated[
    str, typer.Argument(metavar="URL|HOST", help="A URL in full, or the name of a host; quote a URL for the shell.")
]


def rights(asked: Asked, as_json: AsJson = False) -> None:
    """Show what the owner of a URL or host allows: the verdict for each purpose, and the words that decided."""
    from app.admin import rights as report

    with open_database() as (settings, engine):
        found = report.of(engine, settings, asked)
    show_json(found) if as_json else _show(found)


def _show(found: "RightsReport") -> None:
    answer(found.url or found.host)
    if not found.stated and not found.silent:
        answer("  nothing is stated: every purpose is unknown")
    for crawl in found.silent:
        answer(f"  in crawl {crawl} its owner never stated anything: every purpose is unknown")
    for each in found.withdrawn:
        answer(f"  withdrawn by its owner in crawl {each.crawl}: {each.words}, {each.withdrawn_at:%Y-%m-%d %H:%M} UTC")
    for stated in found.stated:
        heading(_title(stated))
        facts(
            [
                (each.purpose.value, f"{each.answer}, by {each.by}" if each.by else each.answer.value)
                for each in stated.verdicts
            ]
        )
        facts([("states", each) for each in stated.statements] or [("states", "nothing any more")])


def _title(stated: "RightsStated") -> str:
    if stated.crawl is None:
        return "by the files of the site, as they are known now"
    if stated.pages is not None:
        return f"in crawl {stated.crawl}, {counted(stated.pages, 'page')} such as {stated.example}"
    since = f", since {stated.since:%Y-%m-%d %H:%M:%S} UTC" if stated.since else ""
    return f"in crawl {stated.crawl}{since}"
