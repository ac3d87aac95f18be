"""`tiptoe search CRAWL WORDS…`: the pages of a crawl that say these words, the best first."""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.database import open_database
from app.cli.out import AsJson, answer, passage, say, show_json, shown
from app.words import counted

if TYPE_CHECKING:
    from app.features.search.find import SearchResult


def search(
    crawl: Annotated[str, typer.Argument(metavar="CRAWL", help="Name of a crawl that is indexed (--search).")],
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORDS…",
            help='Words that a page must have; "in quotes": side by side; or; -word: without it (not first).',
        ),
    ],
    limit: Annotated[int, typer.Option(metavar="N", help="At most this many pages.")] = 10,
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Pages of this host only.", show_default="all hosts")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="First index all pages that are not indexed yet.")] = False,
    as_json: AsJson = False,
) -> None:
    """Search the pages of a crawl by their words, each page's stemmed by its language.

    The newest matches are ranked.
    """
    from app.features.search import find as searches

    with open_database() as (settings, engine):
        if wait:
            searches.index_all(engine, settings, crawl, lambda pages: say(f"{counted(pages, 'page')} indexed …"))
        found = searches.search_pages(engine, settings, crawl, " ".join(words), limit=limit, host=host)
    show_json(found) if as_json else _show(found)


def _show(found: "SearchResult") -> None:
    for number, hit in enumerate(found.hits, 1):
        answer(f"{number:2} {shown(hit.title or hit.url)}")
        answer(f"   {shown(hit.url)}")
        if hit.passage:
            passage(hit.passage, hit.marked)
    if found.hits:
        answer("")
    answer(_summary(found))
    if found.waiting or not found.is_queued:
        say(f"{_waiting(found)} not indexed yet; beat does it in time, --wait at once")


def _summary(found: "SearchResult") -> str:
    from app.features.search.find import RANKED

    matches = f"{counted(found.matches, 'page matches', 'pages match')} in {shown(found.crawl)}"
    if found.is_all:
        return matches
    return f"{matches}, of the newest {RANKED:,} that have the words; older ones were not ranked"


def _waiting(found: "SearchResult") -> str:
    if not found.is_queued:
        return f"{counted(found.waiting, 'page')} or more are"
    return counted(found.waiting, "page is", "pages are")
