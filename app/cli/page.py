"""`tiptoe page`: pages as the archive has them: listed, shown, compared, read again. Only `get` sends a request.

`tiptoe search CRAWL WORDS…`: the pages of a crawl that say these words, the best first.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from app.cli import screenshot
from app.cli.database import May, answered_within, open_database, ordered
from app.cli.options import Content, PageContent, gather
from app.cli.out import (
    AsJson,
    answer,
    differing,
    done,
    facts,
    heading,
    passage,
    say,
    show_json,
    shown,
    table,
    write_file,
)
from app.words import counted

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.admin.captures import CaptureDiff, CapturePage
    from app.beat.reread_pages import Reread
    from app.config import Settings
    from app.features.search.find import SearchResult
    from app.model import Capture

app = typer.Typer(no_args_is_help=True, help="Pages in the archive: list, show and compare them; get one page now.")
_SHOWN = 20  # captures

Url = Annotated[
    str, typer.Argument(metavar="URL", help="In full, e.g. https://example.org/page; quote it for the shell.")
]
OneCrawl = Annotated[
    str | None,
    typer.Option(
        "--crawl", metavar="NAME", help="The crawl whose archive is read.", show_default="the one that fetched it last"
    ),
]
_MOMENT = "the number of a capture, or a moment: 2026-11-01, 7d (days ago)"


Plain = Annotated[bool, typer.Option("--plain", help="The site's answer, even where a browser made a document of it.")]


class ShownPart(StrEnum):
    """A part of a capture that `page show` prints by itself."""

    HEADERS = "headers"
    HTML = "html"
    TEXT = "text"
    TEXT_BEST = "text-best"
    MARKDOWN = "markdown"
    WARC = "warc"


def chosen_part(
    headers: Annotated[bool, typer.Option("--headers", help="The status and headers alone.")] = False,
    html: Annotated[bool, typer.Option("--html", help="The body, as text.")] = False,
    text: Annotated[bool, typer.Option("--text", help="The main text.")] = False,
    text_best: Annotated[
        bool,
        typer.Option("--text-best", help="The main text as trafilatura finds it, which takes longer."),
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="The content as Markdown.")] = False,
    warc: Annotated[bool, typer.Option("--warc", help="Its WARC record.")] = False,
) -> ShownPart | None:
    """The part that is asked for; None: an overview. Raises InputError for several."""
    from app.errors import InputError

    asked = {
        ShownPart.HEADERS: headers,
        ShownPart.HTML: html,
        ShownPart.TEXT: text,
        ShownPart.TEXT_BEST: text_best,
        ShownPart.MARKDOWN: markdown,
        ShownPart.WARC: warc,
    }
    named = [part for part, is_asked in asked.items() if is_asked]
    if len(named) > 1:
        raise InputError(" and ".join(f"--{part}" for part in named), "exclude each other; choose one")
    return named[0] if named else None


@app.command("list")
def list_(
    crawl: Annotated[str, typer.Option("--crawl", metavar="NAME", help="Pages of this crawl.")],
    url: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="Pages with this in their URL; * stands for any characters."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="MOMENT", help="Fetched since then: 2026-11-01, 2026-11-01T12:30, or 12h, 7d, 2w (ago)."),
    ] = None,
    after: Annotated[
        str | None, typer.Option(metavar="URL", help="Continue after this page, the last one of the previous list.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="At most this many.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List pages of a crawl that are in the archive, by host: when they were captured last, and how often."""
    from app.admin import captures

    with open_database() as (settings, engine):
        found = captures.listed(engine, settings, crawl, pattern=url, since=since, after=after, limit=limit)
    if as_json:
        show_json([page._asdict() for page in found])
        return
    columns = ("url", "status", "fetched_at", "changed_at", "captures", "title")
    table(columns, [[getattr(page, name) for name in columns] for page in found])
    if len(found) == limit:
        say(f"… the first {counted(limit, 'page')}; continue with --after {shown(found[-1].url)}")


class Which(NamedTuple):
    """The capture that is asked for.

    at       its number, or a moment
    plain    the answer, not what a browser made of it
    content  how much of its text
    """

    at: str | None = None
    plain: bool = False
    content: PageContent = PageContent.MAIN


def chosen_capture(
    at: Annotated[
        str | None, typer.Option(metavar="WHICH", help=f"Which capture: {_MOMENT}.", show_default="latest")
    ] = None,
    plain: Plain = False,
    content: Content = PageContent.MAIN,
) -> Which:
    """The capture that is asked for."""
    return Which(at, plain, content)


@app.command()
@gather(which=chosen_capture, part=chosen_part, picture=screenshot.chosen_picture)
def show(
    url: Url,
    crawl: OneCrawl = None,
    which: Which = Which(),  # noqa: B008  # immutable
    part: ShownPart | None = None,
    picture: screenshot.Picture | None = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write that part to a file: the body and the WARC record byte for byte."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a page as the archive has it: its captures and headers, or one part of it."""
    from app.admin import captures
    from app.errors import InputError

    if picture is not None:
        if part is not None or out is not None:
            raise InputError("--screenshot", "is a picture, and no part of the answer; ask for either")
        with open_database() as (settings, engine):
            picture = replace(picture, plain=which.plain)
            screenshot.take(engine, settings, url, picture, crawl=crawl, at=which.at, as_json=as_json)
        return
    whole = which.content is PageContent.FULL
    if whole and part not in (ShownPart.TEXT, ShownPart.MARKDOWN):
        raise InputError("--content full", "is of a text; add --text or --markdown")
    with open_database() as (settings, engine):
        found = captures.show(engine, settings, url, crawl=crawl, at=which.at, plain=which.plain)
        _show_part(engine, settings, found, part, out, whole=whole, as_json=as_json)


def _show_part(
    engine: "Engine",
    settings: "Settings",
    found: "CapturePage",
    part: ShownPart | None,
    out: Path | None,
    *,
    whole: bool = False,
    as_json: bool,
) -> None:
    """Show a capture, or a part of it, or write the part to a file."""
    from app.admin import captures

    part = part or (None if out is None else ShownPart.HTML)
    text, octets = _content(engine, settings, found, part, whole=whole) if part else ("", b"")
    if out is not None:
        write_file(out, octets)
        done(f"{out}: {part} written", as_json=as_json, file=out, part=part)
    elif as_json:
        columns = dict(captures.columns(engine, settings, found))
        document = {"crawl": found.crawl, "capture": _row(found.capture), **_answer(found), "columns": columns}
        show_json(document | ({part.value: text} if part else {}))
    elif part is not None:
        answer(text)
    else:
        _show(found, captures.columns(engine, settings, found))


@app.command()
@gather(part=chosen_part)
def get(
    url: Url,
    part: ShownPart | None = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write that part to a file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch one page now, politely, keep it in the crawl `single-pages`, and show it or one part of it."""
    from app.admin import by_hand, captures

    with open_database(May.CREATE) as (settings, engine):
        with ordered(engine, "page.get", url) as order:
            fetched = by_hand.fetch(engine, settings, url)
            order.outcome = f"kept in {by_hand.CRAWL}"
        say(f"{fetched}: fetched now, and kept in the crawl {by_hand.CRAWL}")
        found = captures.show(engine, settings, fetched, crawl=by_hand.CRAWL)
        _show_part(engine, settings, found, part, out, as_json=as_json)


@app.command()
def diff(
    url: Url,
    crawl: OneCrawl = None,
    old: Annotated[
        str | None,
        typer.Option(
            "--old",
            metavar="WHICH",
            help=f"The older capture: {_MOMENT}.",
            show_default="the last one with another text",
        ),
    ] = None,
    new: Annotated[
        str | None,
        typer.Option("--new", metavar="WHICH", help="The newer capture, as --old.", show_default="the latest"),
    ] = None,
    plain: Plain = False,
    as_json: AsJson = False,
) -> None:
    """Show what changed in the main text of a page between two captures, passage by passage."""
    from app.admin import captures

    remedy = "name two captures with --old and --new, or try again when Postgres has less to do"
    # a site wrote both captures, so the time that their comparison takes is bounded
    with open_database() as (settings, engine), answered_within(60.0, "tiptoe page diff", remedy):
        found = captures.compare(engine, settings, url, crawl=crawl, old=old, new=new, plain=plain)
    if as_json:
        changes = [{"kind": each.kind, "text": each.text, "marked": each.marked} for each in found.changes]
        show_json(
            {"crawl": found.crawl, "url": found.url, "old": _row(found.old), "new": _row(found.new), "changes": changes}
        )
    else:
        _show_diff(found)


@app.command()
def reread(
    crawl: Annotated[str, typer.Argument(metavar="CRAWL", help="The crawl whose pages are read again.")],
    as_json: AsJson = False,
) -> None:
    """Read stored pages again from the archive, where an earlier release found their text. No request is sent.

    Title, text, language, dates and data are renewed, and what is made of them is due again; nothing counts as a
    change. A running fleet does it by itself, slowly.
    """
    from app.admin import archive as act

    with open_database() as (settings, engine):
        found = act.reread_crawl(engine, settings, crawl, tell=_tell_reread)
    read = found.found
    line = f"{crawl}: {counted(read.pages, 'page')} read again, {read.texts:,} with another text"
    reasons = (
        ("not in the archive, or on another machine", read.missing),
        ("withdrawn by their owners", read.withdrawn),
        ("not readable", read.unreadable),
        ("fetched meanwhile", read.overtaken),
    )
    kept = "".join(f"; {n:,} {why}" for why, n in reasons if n)
    done(line + kept, as_json=as_json, crawl=crawl, left=found.left, **asdict(read))


def _tell_reread(found: "Reread") -> None:
    if sys.stderr.isatty():
        say(f"{counted(found.pages, 'page')} read again")


def _content(
    engine: "Engine", settings: "Settings", found: "CapturePage", part: ShownPart, *, whole: bool
) -> tuple[str, bytes]:
    """A part of a capture: as text for a person, and as the bytes of a file."""
    from app.admin import captures

    match part:
        case ShownPart.HEADERS:
            fields = [f"{name}: {value}" for name, value in found.reply.headers]
            text = "\n".join([f"{found.reply.status} {found.reply.reason}", *fields])
        case ShownPart.HTML:
            return captures.html_of(found.capture, found.answer), found.answer.body
        case ShownPart.TEXT:
            text = captures.text_of(found.capture, found.answer, settings, whole=whole)
        case ShownPart.TEXT_BEST:
            text = captures.best_text_of(found.capture, found.answer)
        case ShownPart.MARKDOWN:
            text = captures.markdown_of(found.capture, found.answer, whole=whole)
        case ShownPart.WARC:
            record, member = captures.warc_of(engine, settings, found.capture)
            return record.decode("utf-8", "replace"), member
    return text, f"{text}\n".encode()


def _row(capture: "Capture") -> dict[str, object]:
    return capture._asdict()


def _answer(found: "CapturePage") -> dict[str, object]:
    answer, reply = found.answer, found.reply
    return {
        "status": reply.status,
        "reason": reply.reason,
        "headers": [list(field) for field in reply.headers],
        "body_bytes": len(answer.body),
        "truncated": answer.truncated,
        "captures": [_row(each) for each in found.captures],
    }


def _show(found: "CapturePage", columns: Sequence[tuple[str, object]]) -> None:
    capture, reply, document = found.capture, found.reply, found.answer
    answer(shown(capture.url))
    facts(
        [
            ("crawl", found.crawl),
            ("capture", f"{capture.id}, {shown(capture.fetched_at)}"),
            ("answer", f"{reply.status} {reply.reason}"),
            ("made by a browser", capture.rendered_from and f"of capture {capture.rendered_from}"),
            ("body", counted(len(document.body), "byte") + (", truncated" if document.truncated else "")),
            ("body SHA-256", capture.body_sha256),
            ("text SHA-256", capture.text_sha256),
            ("repeats", capture.refers_to and f"the body of capture {capture.refers_to}"),
        ]
    )
    if columns:
        heading("columns of plugins, as the page is now")
        facts(columns)
    heading("headers")
    facts(reply.headers)
    heading("captures")
    names = ("id", "fetched_at", "kind", "status", "body_bytes", "refers_to")
    table(names, [[getattr(each, name) for name in names] for each in found.captures[:_SHOWN]])
    if len(found.captures) > _SHOWN:
        answer(f"… and {len(found.captures) - _SHOWN} more; --json has all")


def _show_diff(found: "CaptureDiff") -> None:
    old, new = found.old, found.new
    answer(f"{shown(found.url)} in {shown(found.crawl)}")
    answer(f"capture {old.id} of {shown(old.fetched_at)} → {new.id} of {shown(new.fetched_at)}")
    if not found.changes:
        answer("the same text" if old.body_sha256 == new.body_sha256 else "the same text; the bodies differ")
        return
    answer("")
    for change in found.changes:
        text = counted(int(change.text), "passage") + " as before" if change.kind == "…" else change.text
        differing(change.kind, text, change.marked)


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
    show_json(found) if as_json else _show_found(found)


def _show_found(found: "SearchResult") -> None:
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
