"""`tiptoe crawl top`, `freshness` and `duplicates`: what a crawl fetches next and why, how fresh its pages are, and
which repeat another.
"""

from typing import Annotated

import typer

from app.cli.crawls import Name
from app.cli.database import open_database
from app.cli.out import AsJson, answer, facts, heading, rows_table, show_json
from app.cli.profile import show_parts


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
    from app.admin import duplicates as admin
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
