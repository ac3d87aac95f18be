"""`tiptoe changes`: pages of a crawl that are new, changed or gone."""

from collections import Counter, deque
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.database import open_database
from app.cli.out import answer, as_json_text, differing, heading, say, shown, table
from app.words import counted

if TYPE_CHECKING:
    from app.admin.changes import Changes, PageChange

SHOWN = 100  # of each kind


def changes(
    crawl: Annotated[str, typer.Argument(metavar="CRAWL", help="Name of the crawl.")],
    since: Annotated[
        str,
        typer.Option(metavar="MOMENT", help="Since then: 2026-11-01, 2026-11-01T12:30, or 12h, 7d, 2w (ago)."),
    ] = "7d",
    passages: Annotated[
        bool, typer.Option("--passages", help="Of changed pages, what their text lost and gained, from the archive.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, for scripts.")] = False,
) -> None:
    """List the pages of a crawl that are new, changed or gone. No request is sent."""
    from app.admin import changes as admin

    with open_database() as (settings, engine):
        found = admin.changes(engine, settings, crawl, since=since, passages=passages)
        if as_json:
            for each in found.found:
                answer(as_json_text(_document(found, each, passages)))
        else:
            _show(found)


def _document(found: "Changes", each: "PageChange", passages: bool) -> dict[str, object]:
    document = {
        "change": each.change,
        "at": each.at,
        "crawl": found.crawl,
        "url": each.url,
        "host": each.host,
        "title": each.title,
    }
    if passages and each.passages is None:
        document |= {"passages": None, "why_not": each.why_not}
    elif each.passages is not None:
        document["passages"] = [{"kind": one.kind, "text": one.text, "marked": one.marked} for one in each.passages]
    return document


def _show(found: "Changes") -> None:
    """Print the latest changes of each kind, and how many there are."""
    from app.admin.changes import PageChangeKind

    counts = Counter[str]()
    pages: dict[PageChangeKind, deque[PageChange]] = {kind: deque(maxlen=SHOWN) for kind in PageChangeKind}
    for each in found.found:
        counts[each.change] += 1
        pages[each.change].append(each)
    for kind, listed in pages.items():
        if not listed:
            continue
        heading(f"{kind}, {counted(counts[kind], 'page')}")
        table(("at", "url", "title"), [[each.at, each.url, each.title] for each in listed])
        if counts[kind] > len(listed):
            say(f"… the last {len(listed)} in the order of their hosts; --json has all")
        for each in listed:
            _show_passages(each)
    answer("")
    numbers = ", ".join(f"{counts[kind]:,} {kind}" for kind in PageChangeKind)
    answer(f"{numbers} in {shown(found.crawl)} since {shown(found.since)}")


def _show_passages(each: "PageChange") -> None:
    if each.passages is None and each.why_not is None:
        return
    heading(each.url)
    if each.why_not is not None:
        answer(f"no passages: {shown(each.why_not)}")
    for change in each.passages or ():
        text = counted(int(change.text), "passage") + " as before" if change.kind == "…" else change.text
        differing(change.kind, text, change.marked)
