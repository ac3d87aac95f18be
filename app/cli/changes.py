"""`tiptoe changes`: pages of a crawl that are new, changed, gone, withdrawn or returned.

`tiptoe webhook`: subscribers that get a crawl's changes by POST, signed.
"""

import sys
from collections import Counter, deque
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.database import open_database, ordered
from app.cli.options import gather
from app.cli.out import AsJson, answer, as_json_text, differing, done, heading, rows_table, say, show_json, shown, table
from app.words import counted

if TYPE_CHECKING:
    from app.admin.changes import Changes, ChangesWish, PageChange, WrittenChanges


Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="Of this kind: new, changed, gone, withdrawn or returned (may be repeated).",
        show_default="all",
    ),
]
Pattern = Annotated[
    str | None, typer.Option("--url", metavar="PATTERN", help="Of URLs that contain this, or match it with *.")
]
app = typer.Typer(no_args_is_help=True, help="Subscribers that get a crawl's changes by POST, signed.")

Id = Annotated[int, typer.Argument(metavar="ID", help="Of the webhook: tiptoe webhook list shows it.", min=1)]
Begin = Annotated[
    str | None, typer.Option("--from", metavar="start|CURSOR", help="Send what came after this cursor; start: all.")
]


def wished(
    since: Annotated[
        str | None,
        typer.Option(
            metavar="MOMENT|CURSOR",
            help="Since then: 2026-11-01, 2026-11-01T12:30, or 12h, 7d, 2w (ago); or after a cursor.",
            show_default="7d",
        ),
    ] = None,
    begin: Annotated[
        str | None, typer.Option("--from", metavar="start", help="start: from the first change that is kept.")
    ] = None,
    kinds: Kinds = None,
    pattern: Pattern = None,
    words: Annotated[
        str | None, typer.Option("--words", help="Of pages that have all these words, in title or text.")
    ] = None,
    passages: Annotated[
        bool, typer.Option("--passages", help="Of changed pages, what their text lost and gained, from the archive.")
    ] = False,
) -> "ChangesWish":
    """The changes that are asked for. Raises InputError."""
    from app.admin import changes as admin
    from app.errors import InputError

    if begin is not None and (begin != admin.START or since is not None):
        why = "stands beside --since; give one of the two" if begin == admin.START else "is not known; write start"
        raise InputError(f"--from {begin}", why)
    return admin.ChangesWish(
        since=None if begin else since or admin.USUAL,
        kinds=kinds or (),
        pattern=pattern,
        words=words,
        passages=passages,
    )


@gather(wish=wished)
def changes(
    crawl: Annotated[str, typer.Argument(metavar="CRAWL", help="Name of the crawl.")],
    wish: "ChangesWish",
    follow: Annotated[bool, typer.Option("--follow", help="Wait for further changes, until Ctrl-C.")] = False,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|FOLDER",
            help="Write them, with texts, into a .jsonl, .csv or .parquet; a folder gets what came since the last run.",
        ),
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="jsonl|csv|parquet", help="Of the files in a folder.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help='One JSON object a line, for scripts; the last is {"cursor": …}.')
    ] = False,
) -> None:
    """List the pages of a crawl that are new, changed, gone, withdrawn or returned. No request is sent."""
    from app.admin import changes as admin
    from app.admin.changes import write
    from app.errors import InputError

    if to is not None and (follow or wish.passages):
        raise InputError("--to", "writes what there is, without passages; leave out --follow and --passages")
    with open_database() as (settings, engine):
        if to is not None:
            _save(write(engine, settings, crawl, wish, to=to, form=form), as_json=as_json)
            return
        found = admin.changes(engine, settings, crawl, wish)
        if as_json:
            _write(found, passages=wish.passages, follow=follow)
        elif follow:
            _follow(found)
        else:
            _show(found)


def _save(written: "WrittenChanges", *, as_json: bool) -> None:
    into = "nothing new" if written.file is None else f"{counted(written.rows, 'change')} in {written.file}"
    done(f"{into}, {written.place}", as_json=as_json, **written._asdict())
    if not as_json:
        say(f"go on from here with --since {written.cursor}")


def _write(found: "Changes", *, passages: bool, follow: bool) -> None:
    """Print an object for each change, and the cursor: after Ctrl-C too."""
    try:
        for each in found.followed() if follow else found.found:
            answer(as_json_text(_document(found, each, passages)))
            if follow:
                sys.stdout.flush()
    finally:
        answer(as_json_text({"cursor": found.cursor}))


def _follow(found: "Changes") -> None:
    for each in found.followed():
        answer(f"{shown(each.at)}  {each.change:9}  {each.url}")
        _show_passages(each)
        sys.stdout.flush()


def _document(found: "Changes", each: "PageChange", passages: bool) -> dict[str, object]:
    document = {
        "change": each.change,
        "at": each.at,
        "crawl": found.crawl,
        "url": each.url,
        "host": each.host,
        "title": each.title,
        "cursor": each.cursor,
    }
    if each.why is not None:
        document["why"] = each.why
    if passages and each.passages is None and each.change == "changed":
        document |= {"passages": None, "why_not": each.why_not}
    elif each.passages is not None:
        document["passages"] = [{"kind": one.kind, "text": one.text, "marked": one.marked} for one in each.passages]
    return document


def _show(found: "Changes") -> None:
    """Print the latest changes of each kind, and how many there are."""
    from app.admin.changes import PageChangeKind

    counts = Counter[str]()
    # The latest are shown, 100 of each kind.
    pages: dict[PageChangeKind, deque[PageChange]] = {kind: deque(maxlen=100) for kind in PageChangeKind}
    for each in found.found:
        counts[each.change] += 1
        pages[each.change].append(each)
    for kind, listed in pages.items():
        if not listed:
            continue
        heading(f"{kind}, {counted(counts[kind], 'page')}")
        table(("at", "url", "title"), [[each.at, each.url, each.title] for each in listed])
        if counts[kind] > len(listed):
            say(f"… the last {len(listed)}; --json has all")
        for each in listed:
            _show_passages(each)
    answer("")
    always = {PageChangeKind.NEW, PageChangeKind.CHANGED, PageChangeKind.GONE}
    numbers = ", ".join(f"{counts[kind]:,} {kind}" for kind in PageChangeKind if counts[kind] or kind in always)
    since = "" if found.since is None else f" since {shown(found.since)}"
    answer(f"{numbers} in {shown(found.crawl)}{since}")
    say(f"go on from here with --since {found.cursor}")


def _show_passages(each: "PageChange") -> None:
    if each.passages is None and each.why_not is None:
        return
    heading(each.url)
    if each.why_not is not None:
        answer(f"no passages: {shown(each.why_not)}")
    for change in each.passages or ():
        text = counted(int(change.text), "passage") + " as before" if change.kind == "…" else change.text
        differing(change.kind, text, change.marked)


@app.command()
def add(
    crawl: Annotated[str, typer.Argument(metavar="CRAWL", help="Name of the crawl.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="Where messages are sent to.")],
    kinds: Kinds = None,
    pattern: Pattern = None,
    begin: Begin = None,
    as_json: AsJson = False,
) -> None:
    """Add a subscriber, and print the secret that its messages are signed with: it is shown once."""
    from app.admin import webhooks

    with open_database() as (settings, engine), ordered(engine, "webhook.add", crawl) as note:
        made = webhooks.add(engine, settings, crawl, url, kinds=kinds or (), pattern=pattern, begin=begin)
        note.outcome = f"webhook {made.id}, to {webhooks.shown_url(made.url)}"
    if as_json:
        show_json(made)
        return
    answer(f"webhook {made.id} of {shown(made.crawl)}: {shown(made.url)}")
    answer(f"secret {made.secret}")
    say("keep the secret: it is not shown again")


@app.command("list")
def list_(
    crawl: Annotated[str | None, typer.Argument(metavar="CRAWL", help="Of this crawl.", show_default="all")] = None,
    as_json: AsJson = False,
) -> None:
    """List subscribers: what they took, and why one fails."""
    from app.admin import webhooks

    with open_database() as (_, engine):
        found = webhooks.listed(engine, crawl)
    rows = [
        {
            "id": each.id,
            "crawl": each.crawl,
            "url": each.url,
            "kinds": each.kinds,
            "pattern": each.pattern,
            "sent": each.sent,
            "state": "failing" if each.failures else "behind" if each.is_behind else "up to date",
            "failures": each.failures,
            "failing_since": each.failing_since,
            "next_try_at": each.next_try_at if each.failures else None,
            "why": each.why,
            "cursor": each.cursor,
        }
        for each in found
    ]
    if as_json:
        show_json(rows)
    else:
        rows_table(("id", "crawl", "url", "sent", "state", "failures", "next_try_at", "why"), rows)


@app.command()
def remove(webhook: Id, as_json: AsJson = False) -> None:
    """Remove a subscriber: nothing more is sent to it."""
    from app.admin import webhooks

    with open_database() as (_, engine), ordered(engine, "webhook.remove", str(webhook)):
        url = webhooks.remove(engine, webhook)
    done(f"webhook {webhook} is removed: {url}", as_json=as_json, webhook=webhook, url=url)


@app.command()
def replay(webhook: Id, begin: Begin = "start", as_json: AsJson = False) -> None:
    """Send a subscriber again what came after a cursor, or all changes that are kept; it is tried at once."""
    from app.admin import webhooks

    with open_database() as (_, engine), ordered(engine, "webhook.replay", str(webhook)):
        url = webhooks.replay(engine, webhook, begin or "start")
    done(f"webhook {webhook} goes on from {begin}: {url}", as_json=as_json, webhook=webhook, url=url)
