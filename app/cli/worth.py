"""`tiptoe crawl top`, `freshness` and `duplicates`: what a crawl fetches next and why, how fresh its pages are, and
which repeat another.

`tiptoe profile`: the profiles that come with the program, and what URLs would get under one.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.crawls import Name
from app.cli.database import open_database
from app.cli.out import AsJson, answer, facts, heading, rows_table, show_json, shown

if TYPE_CHECKING:
    from app.admin.options import TriedUrl


app = typer.Typer(no_args_is_help=True, help="What a crawl values: paths, lanes, topics and limits.")

Chosen = Annotated[
    str, typer.Option("--profile", metavar="NAME|FILE", help="A shipped profile, or the path of a TOML file.")
]


def top(
    name: Name,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=10_000, help="At most this many URLs.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the URLs that come first, by lane and score, and the components of each score."""
    from app.admin import focus

    with open_database() as (_, engine):
        found = focus.top(engine, name, limit)
    if as_json:
        show_json(found)
    elif not found:
        answer(f"{name}: nothing is queued")
    else:
        rows = [
            {
                **row,
                "lane": f"p{row['lane']}",
                "score": f"{row['score']:.2f}",
                "why": row["parts"] and show_parts(row["parts"]),
            }
            for row in found
        ]
        rows_table(("lane", "score", "url", "why"), rows)


def freshness(name: Name, as_json: AsJson = False) -> None:
    """Show how often pages are believed to change, how fresh they are, and what recrawls brought. Reads every row."""
    from app.admin import focus

    with open_database() as (_, engine):
        found = focus.freshness(engine, name)
    if as_json:
        show_json(found)
        return
    facts(
        [
            ("pages", found.pages),
            ("believed fresh", found.fresh is not None and f"{found.fresh:.0%}"),
            ("price of a recrawl", found.price_s and f"{found.price_s / 3600:.3g} page-hours of freshness"),
            ("requests a day, asked for", f"{found.asked_per_day:,.0f}"),
            ("requests a day, budget", found.budget_per_day and f"{found.budget_per_day:,.0f}"),
            (f"recrawls in {found.days} days", found.recrawls),
            ("of these unchanged (304)", found.not_modified),
        ]
    )
    heading("pages by how often they change")
    rows_table(
        ("changes", "pages", "every", "late", "fresh"),
        [
            {
                **row,
                "every": row["interval_s"] and f"{row['interval_s'] / 86400:.3g} d",
                "fresh": row["fresh"] is not None and f"{row['fresh']:.0%}",
            }
            for row in found.rows
        ],
    )


def duplicates(
    name: Name,
    kind: Annotated[
        str | None,
        typer.Option(metavar="body|text|near|review", help="Only this kind.", show_default="all"),
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=10_000, help="At most this many, the latest first.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """List pages that repeat another: the same bytes or text, nearly the same, or similar (for review)."""
    from app.admin import report as admin
    from app.words import counted

    with open_database() as (_, engine):
        found = admin.duplicates(engine, name, kind=kind, n=limit)
    if as_json:
        show_json(found)
        return
    if not found.rows:
        answer(f"{name}: {f'no duplicate of kind {kind}' if kind else 'no duplicate'}")
    else:
        rows_table(("kind", "bits", "url", "of_url"), found.rows)
    if found.waiting:
        answer(f"{counted(found.waiting, 'page')} still to be compared")


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the shipped profiles."""
    from app.policy.focus.profile_text import NAMES, profile_of, text_of

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
    from app.policy.focus.profile_text import NAMES, text_of

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

    from app.admin import options
    from app.config import load

    found = options.try_urls(load(), options.named(profile), urls, now=datetime.now(UTC), anchor=anchor)
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
