"""The command line: `tiptoe`. Commands are shells over `app.admin`; what is heavy is imported within them."""

import errno
import gc
import os
import sys
from typing import Annotated, TextIO

import typer

from app.cli import options
from app.words import ready_streams

_GARBAGE = 50_000  # objects before some is looked for: imports make many, and a look each 700 is a fifth of a start
_UNWRITTEN = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EPIPE, errno.EBADF})


def main() -> None:
    """Run a command and exit: 0 success, 1 a service or a finding, 2 bad input, 130 after Ctrl-C."""
    gc.set_threshold(_GARBAGE)
    ready_streams()
    try:
        try:
            make_app()(prog_name="tiptoe")
        finally:
            sys.stdout.flush()  # while a disk that is full can still be reported
    except KeyboardInterrupt:  # while it imports; a command's own is Typer's
        sys.exit(130)
    except OSError as error:
        if not _drop_unwritten(sys.stdout) and error.errno not in _UNWRITTEN:
            raise
        sys.exit(_unwritten(error))
    finally:
        _drop_unwritten(sys.stderr)
        gc.freeze()  # an exit looks all that is left over for garbage: a quarter of a short command's CPU time


def _unwritten(error: OSError) -> int:
    """Report an answer that cannot be written, in one line; a reader that went away needs none. Returns the exit
    code."""
    from app.cli.out import say

    if error.errno == errno.EPIPE:
        return 1
    what = error.filename or "the answer"
    say(f"tiptoe: {what}: cannot be written ({error.strerror}); free space, or write elsewhere")
    return 2


def _drop_unwritten(stream: TextIO) -> bool:
    """Drop what a stream holds and cannot write, if it does; else the interpreter would try again, and exit 120."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return True
    return False


def make_app() -> typer.Typer:
    """Make the app with all commands. Their order in the help is `groups.Root`'s."""
    from app.cli import changes, crawl_command, demo, doctor, export, extract, page, robots, sql, status, web
    from app.cli.groups import CommandGroup, Root

    app = typer.Typer(
        cls=Root,
        no_args_is_help=True,
        add_completion=True,
        rich_markup_mode=None,  # its columns cut names that have to be typed
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback()(_root)
    app.add_typer(_crawl_app(), name="crawl")
    for name, group in _groups().items():
        app.add_typer(group, name=name, cls=CommandGroup)
    for command in (
        *(crawl_command.up, demo.demo, web.web, status.status, page.search),
        *(
            status.audit,
            sql.sql,
            export.export,
            robots.rights,
            changes.changes,
            extract.shell,
            doctor.plugins,
            doctor.doctor,
        ),
    ):
        app.command()(command)
    return app


def _groups() -> dict[str, typer.Typer]:
    """The groups but `crawl`, by name."""
    from app.cli import archive, botauth, changes, extract, host, page, robots, seed, sql, url, worth

    return {
        "seed": seed.app,
        "url": url.app,
        "page": page.app,
        "archive": archive.app,
        "extract": extract.app,
        "host": host.app,
        "robots": robots.app,
        "profile": worth.app,
        "identity": botauth.identity,
        "botauth": botauth.app,
        "webhook": changes.app,
        "db": sql.db_app,
    }


def _crawl_app() -> typer.Typer:
    """`tiptoe crawl URL…`, and the verbs for crawls that exist."""
    from app.cli import crawl_command, crawls, orders, worth
    from app.cli.groups import RUN, CrawlGroup

    group = typer.Typer(
        cls=CrawlGroup,
        no_args_is_help=True,
        help="Crawl: `tiptoe crawl https://example.org/` (short for `tiptoe crawl run …`), and steer crawls by name.",
    )
    group.command(RUN)(crawl_command.crawl)
    group.command("list")(crawls.list_)
    group.command("report")(crawls.report)
    group.command("top")(worth.top)
    group.command("freshness")(worth.freshness)
    group.command("duplicates")(worth.duplicates)
    group.command("edit")(crawls.edit)
    orders.add_to(group, "crawl")
    return group


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        from app.cli.out import answer

        answer(f"tiptoe {version('tiptoe')}")
        raise typer.Exit


def _root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    home: options.Home = None,
) -> None:
    """Tiptoe, a polite web crawler.

    Start with `tiptoe crawl https://example.org/`; the other commands inspect and steer.
    """
    if home is not None:
        options.use_home(ctx, home)
