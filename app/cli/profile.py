"""`tiptoe profile`: the profiles that come with the program, and what URLs would get under one."""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.out import AsJson, answer, facts, heading, rows_table, show_json, shown

if TYPE_CHECKING:
    from app.admin.profiles import TriedUrl

app = typer.Typer(no_args_is_help=True, help="What a crawl values: paths, lanes, topics and limits.")

Chosen = Annotated[
    str, typer.Option("--profile", metavar="NAME|FILE", help="A shipped profile, or the path of a TOML file.")
]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the shipped profiles."""
    from app.policy.focus.shipped import NAMES, profile_of, text_of

    rows = [
        {
            "name": name,
            "about": text_of(name).partition("\n")[0].removeprefix("# "),
            "paths": len(profile_of(name).words) + len(profile_of(name).patterns),
        }
        for name in NAMES
    ]
    show_json(rows) if as_json else rows_table(("name", "paths", "about"), rows)


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A shipped profile.")] = "general",
    as_json: AsJson = False,
) -> None:
    """Print a shipped profile: a file to start your own from."""
    from app.errors import InputError
    from app.policy.focus.shipped import NAMES, text_of

    if name not in NAMES:
        raise InputError(f"profile {name}", f"use one of: {', '.join(NAMES)}")
    text = text_of(name)
    show_json({"name": name, "toml": text}) if as_json else answer(text.rstrip())


@app.command("try")
def try_(
    urls: Annotated[list[str], typer.Argument(metavar="URL…", help="URLs in full; quote them for the shell.")],
    profile: Chosen = "general",
    anchor: Annotated[str, typer.Option(metavar="TEXT", help="The text of a link to these URLs.")] = "",
    as_json: AsJson = False,
) -> None:
    """Show the lane, score and recrawl interval of URLs under a profile, and why. No site is contacted."""
    from datetime import UTC, datetime

    from app.admin import profiles
    from app.config import load

    found = profiles.try_urls(load(), profiles.named(profile), urls, now=datetime.now(UTC), anchor=anchor)
    if as_json:
        show_json([_document(each) for each in found])
    else:
        for each in found:
            _show(each)


def show_parts(parts: "tuple[float, ...]") -> str:
    """The components of a score as a sum; those that are 0 are left out, so that it fits a line."""
    base, anchor, fresh, duplicate, trap, page = parts
    named = (
        ("+ anchor", anchor),
        ("+ page", page),
        ("+ fresh", fresh),
        ("- duplicate", duplicate),
        ("- trap", trap),
    )
    return " ".join([f"base {base:.2f}", *(f"{name} {part:.2f}" for name, part in named if part > 0)])


def _document(tried: "TriedUrl") -> dict[str, object]:
    fields = {name: getattr(tried, name) for name in tried.__slots__}
    return {**fields, "parts": tried.parts._asdict()}


def _show(tried: "TriedUrl") -> None:
    heading(shown(tried.url))
    facts(
        [
            ("refused", tried.refused and f"as a trap: {tried.refused}"),
            ("lane and score", f"p{tried.lane}, {tried.score:.2f}"),
            ("score", show_parts(tried.parts)),
            ("by", tried.branch),
            ("pattern", tried.shape),
            ("first recrawl", f"after {tried.first_s / 86_400:.3g} d"),
            ("importance", None if tried.importance == 1 else f"{tried.importance:g}"),
        ]
    )
