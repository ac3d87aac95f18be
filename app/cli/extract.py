"""`tiptoe extract`: handlers, from the first one to items of a million pages.

`tiptoe shell`: a Python prompt over one page, in which a handler is tried out.

The first handler of a user: it works as it stands, on any site, and shows where to go on.
"""

import code
import sys
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.database import open_database, ordered
from app.cli.options import typed
from app.cli.out import AsJson, answer, done, facts, heading, say, show_json, shown, table
from app.errors import InputError
from app.model.handler import HANDLER_NAME
from app.words import counted, rounded

if TYPE_CHECKING:
    from app.admin.extract import ExtractProgress, FailureCause, HandlerStatus

app = typer.Typer(no_args_is_help=True, help="Handlers: extract items from archived pages, again and again.")

OneCrawl = Annotated[str | None, typer.Option("--crawl", help="Of this crawl only.", show_default="all")]
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


@app.callback()
def _group() -> None:
    """Extract items from archived pages."""


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of the handler; the file is NAME.py in this folder.")],
    as_json: AsJson = False,
) -> None:
    """Write a first handler that works."""

    path = write(name, Path())
    if as_json:
        show_json({"file": str(path), "handler": name})
        return
    answer(f"{path} is written. Try it on a page, then run it over a crawl:")
    answer(f"  tiptoe extract try https://example.org/ --handler {path}")
    answer(f"  tiptoe extract run {path} --crawl NAME")


@app.command()
def run(
    handler: Annotated[str, typer.Argument(help="One of TIPTOE_HANDLERS by name, or a file, such as books.py.")],
    crawl: Annotated[str, typer.Option("--crawl", help="The crawl whose archived pages it gets.")],
    follow: Annotated[
        bool, typer.Option("--follow", help="Admit the links that it yields; otherwise they are only recorded.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Include pages that this version has handled already.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a handler over a crawl's archive, without a request. Pages that its version has handled are left out."""
    from app.admin import crawls, extract
    from app.admin.captures import no_archive

    with open_database() as (settings, engine):
        wanted = extract.named(settings, handler)
        found = crawls.find(engine, crawl)
        ended = extract.run(
            engine,
            settings,
            wanted,
            found,
            follow=follow,
            again=again,
            told=_Teller().tell,
        )
        counts = {each.handler: each for each in extract.status(engine, crawl) if each.items or each.done}
    if as_json:
        show_json({"crawl": crawl, "handlers": ended})
    else:
        for each in ended:
            _tell_end(each, counts.get(each.handler), crawl)
        hint = no_archive(found)
        if hint is not None and not any(each.done or each.failed for each in ended):
            say(hint)
    if any(each.failed or (each.failed_before and not each.done) for each in ended):
        raise typer.Exit(1)


@app.command("try")
def try_(
    url: Annotated[str, typer.Argument(metavar="URL", help="The page, from the archive, or fetched politely.")],
    handler: Annotated[str, typer.Option("--handler", help="One of TIPTOE_HANDLERS by name, or a file.")],
    crawl: OneCrawl = None,
    as_json: AsJson = False,
) -> None:
    """Run a handler on one page and print what it yields; nothing is kept. Use it while you write a handler."""
    from app.admin import extract, extract_try

    with open_database() as (settings, engine):
        wanted = extract.named(settings, handler)
        found = extract_try.run(engine, settings, wanted, url, crawl)
    if as_json:
        show_json(found)
    else:
        say(f"{found.url}: {found.source}")
        for tried in found.handlers:
            _show_tried(tried)
    if any(tried.failed for tried in found.handlers):
        raise typer.Exit(1)


@app.command()
def status(
    handler: Annotated[
        str | None, typer.Argument(help="Show why this handler, or those of a file, failed, and on which pages.")
    ] = None,
    crawl: OneCrawl = None,
    as_json: AsJson = False,
) -> None:
    """Show how far handlers are: pages done, waiting and failed, items, and their rate."""
    from app.admin import extract

    with open_database() as (settings, engine):
        names = None if handler is None else extract.names_of(engine, settings, handler)
        found = [each for each in extract.status(engine, crawl) if names is None or each.handler in names]
        causes = [cause for name in names or () for cause in extract.causes(engine, name, crawl)]
    if as_json:
        show_json({"handlers": found, "causes": causes})
        return
    if not found:
        whom, where = (handler, "it") if handler else ("no handler", "one")
        no = "has had no page yet" if handler else "has had a page yet"
        answer(f"{whom} {no}; `tiptoe extract run {handler or 'HANDLER'} --crawl {crawl or 'NAME'}` runs {where}")
        return
    _show_status(found)
    for cause in causes:
        _show_cause(cause)


@app.command()
def retry(
    handler: Annotated[
        str | None, typer.Argument(help="Of this handler, or those of a file, only.", show_default="all")
    ] = None,
    crawl: OneCrawl = None,
    as_json: AsJson = False,
) -> None:
    """Retry pages that a handler failed on, by workers or by the next `tiptoe extract run`."""
    from app.admin import extract

    detail = f"handler={handler}" if handler else None
    with open_database() as (settings, engine), ordered(engine, "extract.retry", crawl or "", detail) as order:
        names = (None,) if handler is None else extract.names_of(engine, settings, handler)
        n = sum(extract.retry(engine, name, crawl) for name in names)
        order.outcome = f"{counted(n, 'page')} due again"
    done(order.outcome, as_json=as_json, due=n)


class _Teller:
    """Says how far a run is, every two seconds."""

    def __init__(self) -> None:
        self._said_at = 0.0

    def tell(self, progress: "ExtractProgress") -> None:
        if progress.seconds - self._said_at < 2.0:
            self._said_at = min(self._said_at, progress.seconds)  # the next handler begins anew
            return
        self._said_at = progress.seconds
        left = "" if progress.left_s is None else f", {_span(progress.left_s)} left"
        rate = f"{rounded(progress.pages_per_s)} pages/s"
        say(f"{progress.handler}: {counted(progress.done, 'page')}, {progress.left:,} to go, {rate}{left}")


def _tell_end(ended: "ExtractProgress", now: "HandlerStatus | None", crawl: str) -> None:
    pages = ended.done + ended.failed
    took = f" in {ended.seconds:.1f} s ({rounded(ended.pages_per_s)} pages/s)" if pages else ""
    answer(f"{ended.handler}: {counted(pages, 'page')}{took}, {ended.failed:,} failed")
    if now is not None:
        answer(f'  {counted(now.items, "item")} of version {now.version}: {typed()} sql "TABLE items_{ended.handler}"')
        if now.would_follow:
            answer(f"  would follow {counted(now.would_follow, 'link')}; --again --follow admits them")
    if ended.failed or ended.failed_before:
        answer(f"  why: {typed()} extract status {ended.handler}")
    if ended.failed_before:
        failed = f"{counted(ended.failed_before, 'page')} failed before with this version, and were left alone"
        answer(f"  {failed}; to try them again, and then this command:")
        answer(f"    {typed()} extract retry {ended.handler} --crawl {crawl}")
    if ended.elsewhere:
        answer(f"  {counted(ended.elsewhere, 'page is', 'pages are')} on another machine's disk; run it there")


def _show_status(found: "list[HandlerStatus]") -> None:
    names = ("handler", "version", "done", "waiting", "failed", "items", "stale", "pages/s", "left")
    rows = [
        (
            each.handler,
            each.version,
            each.done,
            each.waiting,
            each.failed,
            each.items,
            each.stale,
            each.per_s,
            "" if each.left_s is None else _span(each.left_s),
        )
        for each in found
    ]
    table(names, rows)
    for each in found:
        if each.elsewhere:
            answer(f"{each.handler}: {counted(each.elsewhere, 'page waits', 'pages wait')} for another machine's disk")
        if each.would_follow:
            answer(f"{each.handler}: would follow {counted(each.would_follow, 'link')}")


def _show_cause(cause: "FailureCause") -> None:
    heading(f"{counted(cause.count, 'page')}: {cause.cause}")
    facts([("got", ", ".join(cause.values)), *(("page", url) for url in cause.urls)])
    for line in (cause.traceback or "").splitlines():
        answer(f"    {shown(line)}" if not line.startswith(" ") else f"    {line}")


def _show_tried(tried: "object") -> None:
    from app.admin.extract_try import Tried
    from app.cli.out import as_json_text

    assert isinstance(tried, Tried)
    if tried.failed:
        say(f"{tried.handler}: {tried.failed}")
        for line in (tried.traceback or "").splitlines():
            say(line)
        return
    for item in tried.items:
        answer(as_json_text(item, indent=2))
    for link in tried.follows:
        answer(f"follow {link}")
    say(f"{tried.handler}: {counted(len(tried.items), 'item')} in {tried.ms:.0f} ms")


def _span(seconds: float) -> str:
    """A duration for a person: 8 s, 3 min, 2.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3600:.1f} h"


def shell(
    url: Annotated[str, typer.Argument(metavar="URL", help="The page, from the archive, or fetched politely.")],
    crawl: Annotated[str | None, typer.Option("--crawl", help="Of this crawl only.", show_default="all")] = None,
) -> None:
    """Open a Python prompt over a page: page, css, xpath, and items("books.py") for what a handler yields."""
    from app.admin import extract_try

    with open_database() as (settings, engine):
        names, source = extract_try.names_for_prompt(engine, settings, url, crawl)
    say(source)
    say('page, css("…"), xpath("…"), items("books.py") or items(function); Ctrl-D ends it')
    if sys.stdin.isatty():
        import readline  # noqa: F401  # lines can be edited, and found again
    code.interact(banner="", local=names, exitmsg="")


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
