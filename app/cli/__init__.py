"""The command line: `tiptoe`. Commands are shells over `app.admin`; what is heavy is imported within them."""

from typing import Annotated

import typer

from app.cli import options


def main() -> None:
    """Run a command and exit: 0 success, 1 a service or a finding, 2 bad input, 130 after Ctrl-C."""
    make_app()(prog_name="tiptoe")


def make_app() -> typer.Typer:
    """Make the app with all commands."""
    from app.cli import (
        archive,
        botauth,
        crawl_command,
        demo,
        doctor,
        export,
        extract,
        identity,
        page,
        profile,
        robots,
        search,
        seed,
        sql,
        status,
        url,
        web,
    )
    from app.cli.groups import Root

    app = typer.Typer(
        cls=Root,
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback()(_root)
    app.add_typer(_crawl_app(), name="crawl")
    for command in (crawl_command.up, demo.demo, web.web):
        app.command()(command)
    app.add_typer(seed.app, name="seed")
    for command in (status.status, search.search):
        app.command()(command)
    app.add_typer(url.app, name="url")
    app.add_typer(page.app, name="page")
    app.add_typer(archive.app, name="archive")
    app.add_typer(extract.app, name="extract")
    app.add_typer(_host_app(), name="host")
    app.add_typer(robots.app, name="robots")
    app.add_typer(profile.app, name="profile")
    app.add_typer(identity.app, name="identity")
    app.add_typer(botauth.app, name="botauth")
    for command in (status.audit, sql.sql, export.export, doctor.doctor):
        app.command()(command)
    app.add_typer(sql.db_app, name="db")
    return app


def _host_app() -> typer.Typer:
    from app.cli import parameters

    return parameters.app


def _crawl_app() -> typer.Typer:
    """`tiptoe crawl URL…`, and the verbs for crawls that exist."""
    from app.cli import crawl_command, crawls, worth
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
    group.command("pause")(crawls.pause)
    group.command("resume")(crawls.resume)
    group.command("finish")(crawls.finish)
    group.command("start")(crawls.start)
    group.command("edit")(crawls.edit)
    group.command("retry-failed")(crawls.retry_failed)
    group.command("delete")(crawls.delete)
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
